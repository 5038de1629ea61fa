"""Sections 3.1 and 3.2 of Ayad et al.: what can be found by knowing all rows, and what online.

All contenders have the same rows and the same work. Those online know the true frequencies, and
their results are means over all lots. With learned frequencies they are in `ayad05_semantic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.optimum import needs_scipy
from penstock.studies.study import Study
from penstock.studies.work_contenders import OFFLINE, ONLINE, WORK_CONTENDERS
from penstock.studies.work_scenario import CORRELATIONS, WorkScenario, panel_title, streams_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from penstock.statistics.work_output import Steps
    from penstock.studies.work_scenario import Correlation
    from penstock.yardsticks import Matches

__all__ = ["STUDY", "OfflinePoint", "OfflineRow"]

_SHARES = tuple(percent / 100 for percent in range(10, 101, 10))
_SEEDS = 3
# Halvings of the range in which the work of a contender online is sought.
_HALVINGS = 30
# An optimum can be proved for 300 to 800 results: the scale of the rates, and the duration. Where
# rows have many results in common it takes longest.
_SMALL: Mapping[Correlation, tuple[float, float]] = {
    "direct": (0.08, 40.0),
    "none": (0.4, 25.0),
    "inverse": (0.9, 15.0),
}
_LIMITED = ("exact", "induced")


@dataclass(frozen=True)
class OfflinePoint:
    """One contender, with an amount of work, on one pair of streams.

    Attributes
    ----------
    scenario
        What is joined.
    contender
        A name of `WORK_CONTENDERS`.
    share
        Work that is allowed, as a share of what the exact join of these rows costs.
    """

    scenario: WorkScenario
    contender: str
    share: float


@dataclass(frozen=True)
class OfflineRow:
    """What was found at a point.

    Attributes
    ----------
    streams, contender, share
        The point, the scenario by its name.
    recall
        Results, as a share of the exact join's.
    work
        Work that is done, as a share of what is allowed; online, on average over all lots.
    """

    streams: str
    contender: str
    share: float
    recall: float
    work: float


@lru_cache(maxsize=2)
def _matches(scenario: WorkScenario) -> Matches:
    with needs_scipy():
        from penstock.yardsticks import find_matches  # noqa: PLC0415 -- slow to load

    streams = streams_of(scenario)
    return find_matches(streams.join(), streams.tables)


def _run(point: OfflinePoint) -> OfflineRow:
    scenario, name = point.scenario, point.contender
    matches, costs = _matches(scenario), scenario.costs
    rows, results = matches.arrived.size, len(matches)
    limit = point.share * (rows * costs.insert + results * costs.result)
    if name in OFFLINE:
        from penstock.yardsticks import (  # noqa: PLC0415 -- slow to load
            best_insertions,
            best_subset,
            greedy_subset,
        )

        if name in _LIMITED:
            best = best_subset(
                matches, limit, insert=costs.insert, result=costs.result, induced=name == "induced"
            )
        else:
            solve = {"greedy": greedy_subset, "inserted-pay": best_insertions}[name]
            best = solve(matches, limit, insert=costs.insert, result=costs.result)
        recall, work = best.recall, best.work
    else:
        recall, work = _online(name, matches, scenario, limit)
    return OfflineRow(scenario.name, name, point.share, recall, work / limit)


def _online(
    name: str, matches: Matches, scenario: WorkScenario, limit: float
) -> tuple[float, float]:
    """Return the share of the results of a strategy, and its work, which is the limit on average.

    Formulas are for streams that never end. Windows of these rows begin empty, and chance decides
    how many there are, so the work that is shared out is one for which the limit is met.
    """
    model = scenario.model
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        steps = ONLINE[name].steps(model, middle * model.full_work)
        low, high = (middle, high) if _mean(matches, scenario, steps)[1] <= limit else (low, middle)
    found, work = _mean(matches, scenario, ONLINE[name].steps(model, high * model.full_work))
    return found / len(matches), work


def _mean(matches: Matches, scenario: WorkScenario, steps: Steps) -> tuple[float, float]:
    """Return how many results are found, and what work is done, on average over all lots."""
    keys = [table["key"].to_numpy() for table in streams_of(scenario).tables.values()]
    waits, probes = (
        np.concatenate([by_value[key] for by_value, key in zip(chances, keys, strict=True)])
        for chances in (steps.admit * steps.insert, steps.admit * steps.probe)
    )
    found = float((waits[matches.waiting] * probes[matches.probing]).sum())
    work = scenario.costs.of(arrivals=0, inserted=float(waits.sum()), compared=0, results=found)
    return found, work


def _grid(
    scenarios: Iterable[WorkScenario], contenders: Iterable[str], shares: Sequence[float]
) -> tuple[OfflinePoint, ...]:
    contenders = tuple(contenders)
    return tuple(
        OfflinePoint(scenario, name, share)
        for scenario in scenarios
        for share in shares
        for name in contenders
    )


def _small(seeds: int, length: float = 1.0) -> list[WorkScenario]:
    return [
        WorkScenario(correlation, scale=scale, duration=length * duration, seed=seed)
        for correlation, (scale, duration) in _SMALL.items()
        for seed in range(seeds)
    ]


def _at_the_papers_rates(seeds: int, duration: float) -> list[WorkScenario]:
    return [
        WorkScenario(correlation, duration=duration, seed=seed)
        for correlation in CORRELATIONS
        for seed in range(seeds)
    ]


def _means(rows: Iterable[OfflineRow]) -> dict[tuple[str, str], dict[float, tuple[float, float]]]:
    """Return the mean recall and work by share, for each pair of streams and contender."""
    found: dict[tuple[str, str], dict[float, list[tuple[float, float]]]] = {}
    for row in rows:
        by_share = found.setdefault((row.streams, row.contender), {})
        by_share.setdefault(row.share, []).append((row.recall, row.work))
    return {
        key: {
            share: (float(np.mean([r for r, _ in each])), float(np.mean([w for _, w in each])))
            for share, each in sorted(by_share.items())
        }
        for key, by_share in found.items()
    }


def _table(rows: Sequence[OfflineRow]) -> Table:
    found = _means(rows)
    names = [name for name in WORK_CONTENDERS if any(row.contender == name for row in rows)]
    lines = []
    for streams in dict.fromkeys(row.streams for row in rows):
        for share in sorted({row.share for row in rows if row.streams == streams}):
            recalls = [found.get((streams, name), {}).get(share) for name in names]
            cells = ["" if each is None else f"{100 * each[0]:.1f}" for each in recalls]
            lines.append((streams, f"{100 * share:g}", *cells))
    note = (
        "Results as a share of the exact join's. Those online do the same work on average over "
        "all lots."
    )
    headings = ("streams", "CPU\n%", *(WORK_CONTENDERS[name].heading for name in names))
    return Table(headings, lines, [note])


def _draw(rows: Sequence[OfflineRow], path: Path) -> None:
    found = _means(rows)
    panels = [
        Panel(
            panel_title(streams),
            [
                Line(
                    WORK_CONTENDERS[name].pen,
                    np.array(list(found[streams, name]), np.float64),
                    np.array([recall for recall, _ in found[streams, name].values()], np.float64),
                )
                for name in WORK_CONTENDERS
                if (streams, name) in found
            ],
        )
        for streams in dict.fromkeys(row.streams for row in rows)
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="How much could be found by knowing all rows in advance?",
        subtitle="Above: so few rows that the optimum can be proved; below: 40 and 60 a second",
        x_title="work allowed (%)",
        y_title="results (% of the exact join's)",
        x_percent=True,
    )


_EVERYWHERE = ("inserted-pay", "greedy", "probe-no-insert", "max-subset", "by-partner")
_ALL = (*_LIMITED, *_EVERYWHERE)

STUDY = Study(
    id="ayad05-offline",
    title="results against CPU of the offline optimum, of its heuristic, and online",
    reference="Ayad, Naughton, Wright and Srivastava 2005, sections 3.1 and 3.2",
    grid=(
        *_grid(_small(_SEEDS), _ALL, _SHARES),
        *_grid(_at_the_papers_rates(_SEEDS, 60.0), _EVERYWHERE, _SHARES),
    ),
    quick_grid=(
        *_grid(_small(1, length=0.5), _ALL, (0.4, 0.8)),
        *_grid(_at_the_papers_rates(1, 10.0), _EVERYWHERE, (0.4, 0.8)),
    ),
    run=_run,
    table=_table,
    draw=_draw,
)
