"""Recall against memory: points, rows, tables and panels of its studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel
from penstock.report.tables import Table
from penstock.studies.contenders import CONTENDERS, OPTIMUM, THEORY, join_of
from penstock.studies.optimum import optimal_recall
from penstock.studies.workload import exact_times, result_times, workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.studies.workload import Scenario

__all__ = [
    "MemoryPoint",
    "MemoryRow",
    "distance_from_theory",
    "grid",
    "mean_recall",
    "measure",
    "panels",
    "tabulate",
]

# Rows that any join needs: one for each stream.
_FEWEST = 2


@dataclass(frozen=True)
class MemoryPoint:
    """One contender, with an amount of memory, on one workload.

    Attributes
    ----------
    scenario
        What is joined.
    contender
        A name of `CONTENDERS`.
    memory
        Rows allowed as a share of a full window's.
    """

    scenario: Scenario
    contender: str
    memory: float


@dataclass(frozen=True)
class MemoryRow:
    """What was found at a point.

    Attributes
    ----------
    scenario, contender, memory
        The point, the scenario by its name.
    rows
        Rows that were allowed.
    recall
        Results since the warm-up, as a fraction of the exact join's in the same time.
    """

    scenario: str
    contender: str
    memory: float
    rows: int
    recall: float


def grid(
    scenarios: Iterable[Scenario], contenders: Iterable[str], memories: Iterable[float]
) -> tuple[MemoryPoint, ...]:
    """Return a point for each combination; those of a scenario are together, as they share it."""
    contenders, memories = tuple(contenders), tuple(memories)
    return tuple(
        MemoryPoint(scenario, contender, memory)
        for scenario in scenarios
        for memory in memories
        for contender in contenders
    )


def measure(point: MemoryPoint) -> MemoryRow:
    """Measure the recall at a point."""
    made = workload(point.scenario)
    rows = max(_FEWEST, round(point.memory * made.full_rows))
    if point.contender == THEORY:
        recall = made.theory(rows)
    elif point.contender == OPTIMUM:
        recall = optimal_recall(point.scenario, rows)
    else:
        since = made.measured_from
        exact = np.count_nonzero(exact_times(point.scenario) >= since)
        times = result_times(made, join_of(point.contender, made, rows, seed=0))
        recall = np.count_nonzero(times >= since) / exact
    return MemoryRow(point.scenario.name, point.contender, point.memory, rows, float(recall))


def mean_recall(rows: Iterable[MemoryRow]) -> dict[tuple[str, str], dict[float, float]]:
    """Return the mean recall by memory, for each scenario and contender.

    Examples
    --------
    >>> rows = [MemoryRow("INC", "age", 0.1, 40, recall) for recall in (0.25, 0.75)]
    >>> mean_recall(rows)
    {('INC', 'age'): {0.1: 0.5}}
    """
    found: dict[tuple[str, str], dict[float, list[float]]] = {}
    for row in rows:
        by_memory = found.setdefault((row.scenario, row.contender), {})
        by_memory.setdefault(row.memory, []).append(row.recall)
    return {
        key: {memory: float(np.mean(each)) for memory, each in sorted(by_memory.items())}
        for key, by_memory in found.items()
    }


def tabulate(rows: Sequence[MemoryRow], notes: Sequence[str] = ()) -> Table:
    """Make a table of recall: a line for each scenario and memory, a column for each contender."""
    means = mean_recall(rows)
    scenarios = list(dict.fromkeys(row.scenario for row in rows))
    contenders = [name for name in CONTENDERS if any(row.contender == name for row in rows)]
    lines = []
    for scenario in scenarios:
        allowed = {row.memory: row.rows for row in rows if row.scenario == scenario}
        for memory, held in sorted(allowed.items()):
            recalls = [means.get((scenario, name), {}).get(memory) for name in contenders]
            cells = ["" if recall is None else f"{100 * recall:.1f}" for recall in recalls]
            lines.append((scenario, f"{100 * memory:g}", f"{held:,}", *cells))
    headings = ("streams", "memory\n%", "rows")
    return Table(
        (*headings, *(f"{CONTENDERS[name].heading}\nrecall %" for name in contenders)),
        lines,
        notes,
    )


def panels(rows: Sequence[MemoryRow]) -> list[Panel]:
    """Return a panel for each scenario, with a line for each contender."""
    means = mean_recall(rows)
    return [
        Panel(
            scenario,
            [
                _line(name, means[scenario, name])
                for name in CONTENDERS
                if (scenario, name) in means
            ],
        )
        for scenario in dict.fromkeys(row.scenario for row in rows)
    ]


def _line(contender: str, by_memory: dict[float, float]) -> Line:
    return Line(
        CONTENDERS[contender].pen,
        np.array(list(by_memory), np.float64),
        np.array(list(by_memory.values()), np.float64),
    )


def distance_from_theory(rows: Sequence[MemoryRow], one: str, low: float, high: float) -> float:
    """Return the greatest relative difference of a contender from eq. 3, in a range of memory."""
    means = mean_recall(rows)
    return max(
        (
            abs(recall / means[scenario, THEORY][memory] - 1)
            for (scenario, contender), by_memory in means.items()
            if contender == one and (scenario, THEORY) in means
            for memory, recall in by_memory.items()
            if low <= memory <= high
        ),
        default=float("nan"),
    )
