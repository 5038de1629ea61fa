"""Figure 4 of Kulkarni and Ravishankar: results and fairness against the number of values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.studies.importance_figure import UNIFORM_KEYS, ImportanceFigure, Sweep
from penstock.studies.importance_points import ImportanceRow, means
from penstock.studies.importance_settings import COUNTED, PRINTED, SLOW, USERS, UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.studies.importance_settings import PapersScale

__all__ = ["STUDY"]

_DOMAINS = (10, 20)
_THOUSAND = 1_000


def _papers(own: PapersScale, domain: float) -> PapersScale:
    return replace(own, streams=replace(own.streams, domain=round(domain), importance="equal"))


def _users(own: UsersScale, domain: float) -> UsersScale:
    return replace(own, keys=own.keys * round(domain) // _DOMAINS[0], importance="equal")


def _notes(rows: Sequence[ImportanceRow]) -> Iterator[str]:
    found = means(rows, "results")
    yield f"At a user's scale there are {_THOUSAND:,} times as many values as the table says."
    for setting in dict.fromkeys(row.setting for row in rows):
        ijoin, fifo = found[setting, "ijoin"], found[setting, "fifo"]
        fewest, most = min(ijoin), max(ijoin)
        yield (
            f"{setting}: from {fewest:g} to {most:g} values the results of IJOIN fall by "
            f"{1 - ijoin[most].value / ijoin[fewest].value:.0%}, those of FIFO by "
            f"{1 - fifo[most].value / fifo[fewest].value:.0%}."
        )


STUDY = ImportanceFigure(
    id="kulkarni08-fig4",
    title="results and fairness against the number of values, all equally important",
    reference="Kulkarni and Ravishankar 2008, section 5.3, Figure 4",
    grid=(
        # With so few values, a part of the time gives enough results.
        Sweep(PRINTED, _DOMAINS, seeds=2, seconds=30),
        Sweep(COUNTED, _DOMAINS, seeds=2),
        Sweep(SLOW, _DOMAINS, seeds=2),
        Sweep(UsersScale(USERS), _DOMAINS),
    ),
    quick_grid=(
        Sweep(SLOW, _DOMAINS, seconds=300),
        Sweep(UsersScale(USERS, rows=100, window=150, keys=100), _DOMAINS),
    ),
    vary_papers=_papers,
    vary_users=_users,
    heading="values",
    notes=_notes,
    question="And if all rows are equally important?",
    subtitle="10 rows of memory, 10,000 at a user's scale, where there are "
    "1,000 times as many values",
    x_title="values of the join attribute",
    of="results",
    fairness=[UNIFORM_KEYS],
).study()
