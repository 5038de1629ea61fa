"""Samples of a join under a limit of work, as the engine draws them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from penstock.goals import Sample
from penstock.report.plot_style import BLACK, BLUE, Pen
from penstock.studies.contenders import Look
from penstock.studies.work_scenario import streams_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.studies.work_samples import Results
    from penstock.studies.work_scenario import WorkScenario

__all__ = ["ENGINE", "EngineSample", "EngineSampler", "sample_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EngineSampler(Look):
    """`goal=Sample(...)` in a replay.

    Attributes
    ----------
    strategy
        Its strategy; None for Penstock's own choice.
    is_told
        Whether rows say how many matches they will have (`Sample(matches=...)`).
    """

    strategy: str | None
    is_told: bool


ENGINE: Mapping[str, EngineSampler] = {
    "engine-uniform": EngineSampler(
        "engine\nuniform\ntold",
        Pen("Penstock: uniform, told", BLACK, "none", dot="o"),
        strategy="uniform",
        is_told=True,
    ),
    "engine-cluster": EngineSampler(
        "engine\nclusters",
        Pen("Penstock: clusters", BLUE, "none", dot="s"),
        strategy=None,
        is_told=False,
    ),
}


@dataclass(frozen=True, eq=False)
class EngineSample:
    """Results that were found, by number, their weights, and the work that was done for them."""

    chosen: Integers
    weights: Floats
    work: float


def sample_of(
    sampler: EngineSampler, scenario: WorkScenario, results: Results, share: float
) -> EngineSample:
    """Replay a sample with a share of the exact join's work, and find its results among all."""
    streams = streams_of(scenario)
    tables = dict(streams.tables)
    matches = None
    if sampler.is_told:
        come = np.bincount(results.waiting, minlength=results.keys.size)
        parts = come[: results.left_rows], come[results.left_rows :]
        for name, own in zip(streams.tables, parts, strict=True):
            tables[name] = tables[name].append_column("n", [own])
        matches = dict.fromkeys(tables, "n")
    goal = Sample(strategy=sampler.strategy, matches=matches)
    replay = replace(streams.join(None, share, seed=scenario.seed), goal=goal).replay(tables)
    found = _pairs(replay.result, streams.tables)
    # Results by the numbers of their two rows: those of the left stream come first.
    pairs = np.minimum(results.waiting, results.probing) * results.keys.size
    pairs += np.maximum(results.waiting, results.probing)
    order = np.argsort(pairs)
    chosen = order[np.searchsorted(pairs[order], found)]
    return EngineSample(chosen, replay.result["weight"].to_numpy(), replay.metrics.work)


def _pairs(result: pa.Table, tables: Mapping[str, pa.Table]) -> Integers:
    """Return the numbers of the rows of each result, as one; rows are known by their times."""
    rows = sum(table.num_rows for table in tables.values())
    first = 0
    numbers = []
    for name, table in tables.items():
        times = pc.struct_field(result[name].combine_chunks(), "time").to_numpy()
        numbers.append(first + np.searchsorted(table["time"].to_numpy(), times))
        first += table.num_rows
    pairs: Integers = numbers[0] * rows + numbers[1]
    return pairs
