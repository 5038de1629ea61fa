"""Figure 4 of Kulkarni and Ravishankar: results and fairness against the number of values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.importance_contenders import EXACT, OPTIMUM, OURS
from penstock.studies.importance_contest import (
    COUNTED,
    PRINTED,
    SLOW,
    USERS,
    ContestRow,
    grid,
    means,
    measure,
    panel_row,
    papers,
    shortened,
    tabulate,
)
from penstock.studies.importance_scales import PapersScale, UsersScale
from penstock.studies.study import Study, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_CONTENDERS = (
    *(EXACT, OPTIMUM, "fifo", "rand", "size-shed", "size", "greedy-shed", "greedy"),
    *("ijoin-bare", "ijoin", OURS),
)
_DOMAINS = (10, 20)
_SPEEDS = (PRINTED, COUNTED, SLOW)
_ZIPFS = ("0", "0.5", "1")
_THOUSAND = 1_000
_SECONDS = {PRINTED: 30, COUNTED: 400, SLOW: 1_000}


def _papers(domains: Iterable[int], speed: str) -> dict[float, list[PapersScale]]:
    made: dict[float, list[PapersScale]] = {}
    for domain in domains:
        scales = [papers(speed, zipf) for zipf in (0.0, 1.0)]
        made[domain] = [
            # Of so few values there are results enough in a part of the time.
            replace(
                own,
                streams=replace(
                    own.streams,
                    domain=domain,
                    importance="equal",
                    duration=min(own.streams.duration, _SECONDS[speed]),
                ),
            )
            for own in scales
        ]
    return made


def _users(domains: Iterable[int], scale: UsersScale) -> dict[float, list[UsersScale]]:
    return {
        domain: [
            replace(
                scale,
                name=f"{USERS}, Zipf {zipf:g}",
                keys=scale.keys * domain // _DOMAINS[0],
                zipf=zipf,
                importance="equal",
            )
            for zipf in (0.0, 0.5, 1.0)
        ]
        for domain in domains
    }


def _table(rows: Sequence[ContestRow]) -> Table:
    found = means(rows, "results")
    notes = [f"At a user's scale there are {_THOUSAND:,} times as many values as the table says."]
    for setting in dict.fromkeys(row.setting for row in rows):
        own = found[setting, "ijoin"]
        fewest, most = min(own), max(own)
        notes.append(
            f"{setting}: from {fewest:g} to {most:g} values the results of IJOIN fall by "
            f"{1 - own[most].value / own[fewest].value:.0%}, those of FIFO by "
            f"{1 - found[setting, 'fifo'][most].value / found[setting, 'fifo'][fewest].value:.0%}."
        )
    return tabulate(rows, "values", notes)


def _draw(rows: Sequence[ContestRow], path: Path) -> None:
    even, skewed = ([f"{speed}, Zipf {zipf}" for speed in _SPEEDS] for zipf in (0, 1))
    panels = [
        *panel_row(rows, even, "results", y_title="results per tuple"),
        *panel_row(rows, skewed, "results", y_title="results per tuple"),
        *panel_row(rows, even, "fairness"),
    ]
    users = [f"{USERS}, Zipf {zipf}" for zipf in _ZIPFS]
    panels += panel_row(rows, users, "share", hidden=[EXACT], y_title="results, % of EXACT")
    save_panels_plot(
        path,
        panels=panels,
        title="And if all tuples are equally important?",
        subtitle="10 tuples of memory, 10,000 at a user's scale, where there are "
        "1,000 times as many values",
        x_title="values of the join attribute",
        y_title="",
        columns=3,
    )


STUDY = Study(
    id="kulkarni08-fig4",
    title="results and fairness against the number of values, all equally important",
    reference="Kulkarni and Ravishankar 2008, section 5.3, Figure 4",
    grid=(
        *grid(_papers(_DOMAINS, PRINTED), _CONTENDERS, seeds=2),
        *grid(_papers(_DOMAINS, COUNTED), _CONTENDERS, seeds=2),
        *grid(_papers(_DOMAINS, SLOW), _CONTENDERS, seeds=2),
        *grid(_users(_DOMAINS, UsersScale(USERS)), _CONTENDERS, seeds=1),
    ),
    quick_grid=(
        *grid(shortened(_papers((10, 20), SLOW), 300), _CONTENDERS, seeds=1),
        *grid(
            _users((10, 20), UsersScale(USERS, rows=100, window=150, keys=100)),
            _CONTENDERS,
            seeds=1,
        ),
    ),
    run=measure,
    table=_table,
    draw=_draw,
)
