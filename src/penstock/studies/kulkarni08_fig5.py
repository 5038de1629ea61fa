"""Figure 5 of Kulkarni and Ravishankar: importance against the unproductivity threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.studies.importance_contenders import CONTENDERS
from penstock.studies.importance_figure import ImportanceFigure, Sweep
from penstock.studies.importance_points import ImportanceRow, means
from penstock.studies.importance_settings import COUNTED, PRINTED, SLOW, USERS, UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["STUDY"]

_HARSH = "ijoin-harsh"
_THRESHOLDS = (2.0, 3.0, 5.0)
_ENDS = _THRESHOLDS[::2]


def _notes(rows: Sequence[ImportanceRow]) -> Iterator[str]:
    found = means(rows, "importance")
    lowest, highest = (pick(row.x for row in rows) for pick in (min, max))
    for setting in dict.fromkeys(row.setting for row in rows):
        said = []
        for name in ("ijoin", _HARSH):
            own = found[setting, name]
            change = own[highest].value / own[lowest].value - 1
            said.append(f"{change:+.1%} for {CONTENDERS[name].words}")
        yield (
            f"{setting}: from a threshold of {lowest:g} s to one of {highest:g} s importance "
            f"changes by {' and by '.join(said)}."
        )


STUDY = ImportanceFigure(
    id="kulkarni08-fig5",
    title="importance against how long a row may go without a match",
    reference="Kulkarni and Ravishankar 2008, section 5.4, Figure 5",
    grid=(
        Sweep(PRINTED, _ENDS, seeds=2),
        Sweep(COUNTED, _THRESHOLDS, seeds=3),
        Sweep(SLOW, _THRESHOLDS, seeds=3),
        Sweep(UsersScale(USERS), _ENDS),
    ),
    quick_grid=(
        Sweep(SLOW, _ENDS, seconds=300),
        Sweep(UsersScale(USERS, rows=100, window=150, keys=100), _ENDS),
    ),
    vary_papers=lambda own, threshold: replace(own, unproductivity=threshold),
    vary_users=lambda own, threshold: replace(own, unproductivity=threshold),
    variant=_HARSH,
    heading="threshold, s",
    notes=_notes,
    question="Does it pay to evict unproductive rows early?",
    subtitle="10 rows of memory, 10,000 at a user's scale; penalties c = 1 and c = 100 a second",
    x_title="unproductivity threshold (s)",
).study()
