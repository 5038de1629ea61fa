"""Who samples in the studies: one table, so that each is called and drawn alike everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.budget import Budget
from penstock.goals import Sample
from penstock.join import Join
from penstock.report.plot_style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, Pen
from penstock.studies import printed_sample
from penstock.studies.frequency_scenario import MATCHES
from penstock.studies.sampled_results import SampledResults

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.studies.frequency_scenario import FrequencyStreams

__all__ = ["OURS", "PRINTED", "SAMPLERS", "Sampler", "sample"]

# UNIFORM's tuples have 34 bytes instead of 32, for the two fields that it needs.
_ROWS_OF_UNIFORM = 32 / 34

# Rows that any join needs: one for each stream.
_FEWEST = 2


@dataclass(frozen=True)
class Sampler:
    """One way to sample.

    Attributes
    ----------
    heading
        Its column in tables.
    pen
        Its line in pictures.
    strategy
        By the name that the join has for it.
    rounding
        Of UNIFORM as printed; None for Penstock's.
    learns
        Whether UNIFORM is not told how many results a tuple will give.
    """

    heading: str
    pen: Pen
    strategy: str
    rounding: str | None = None
    learns: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether its tuples are larger."""
        return self.strategy == "uniform"

    def rows(self, memory: float, full_rows: float) -> float:
        """Give the rows that it may hold, with a share of the memory of a full window."""
        return memory * full_rows * (_ROWS_OF_UNIFORM if self.is_uniform else 1.0)


# In the order in which they are drawn, one over the other.
PRINTED: Mapping[str, Sampler] = {
    "printed-down": Sampler(
        "uniform\ndown", Pen("UNIFORM, rounded down", VERMILION), "uniform", "down"
    ),
    "printed-random": Sampler(
        "uniform\nrandom",
        Pen("UNIFORM, by chance", ORANGE, (0, (1, 1.5))),
        "uniform",
        "random",
    ),
    "printed-up": Sampler(
        "uniform\nup", Pen("UNIFORM, rounded up", ORANGE, (0, (6, 2))), "uniform", "up"
    ),
    "printed-bound": Sampler(
        "uniform\nbound", Pen("UNIFORM, a bound of n", PURPLE, (0, (3, 2))), "uniform", "bound"
    ),
    "printed-true": Sampler("uniform\ntrue n", Pen("UNIFORM, n known", SKY), "uniform", "true"),
    "printed-eq": Sampler("eq", Pen("EQ-CLUSTER", BLUE), "eq-cluster"),
    "printed-pps": Sampler("pps", Pen("PPS-CLUSTER", GREEN), "pps-cluster"),
}
"""The paper's algorithms as printed, by `printed_sample`."""

OURS: Mapping[str, Sampler] = {
    "uniform": Sampler(
        "uniform\nlearnt", Pen("UNIFORM, n learnt", VERMILION, (0, (3, 2))), "uniform", learns=True
    ),
    "uniform-true": Sampler("uniform\ntrue n", Pen("UNIFORM, n known", SKY), "uniform"),
    "eq": Sampler("eq", Pen("EQ-CLUSTER", BLUE), "eq-cluster"),
    "pps": Sampler("pps", Pen("PPS-CLUSTER", GREEN), "pps-cluster"),
}
"""Penstock's, which never hold more rows than they may."""

SAMPLERS: Mapping[str, Sampler] = {**PRINTED, **OURS}


def sample(name: str, streams: FrequencyStreams, memory: float, seed: int) -> SampledResults:
    """Sample a join with so much memory, as a share of a full window's."""
    who = SAMPLERS[name]
    rows = who.rows(memory, streams.scenario.full_rows)
    if name in OURS:
        return _join(who, streams, max(_FEWEST, round(rows)), seed)
    # Not that of the streams, which have drawn from it.
    generator = np.random.default_rng([seed, 1])
    if who.rounding is not None:
        return printed_sample.uniform(streams, rows, generator, who.rounding)
    if who.strategy == "eq-cluster":
        return printed_sample.eq_cluster(streams, rows, generator)
    return printed_sample.pps_cluster(streams, rows, generator)


def _join(who: Sampler, streams: FrequencyStreams, rows: int, seed: int) -> SampledResults:
    if who.is_uniform and not who.learns:
        # Whole numbers already: none is to be rounded, and no memory to be kept for more.
        goal = Sample(strategy=who.strategy, matches={"s1": MATCHES}, rounding="down")
        budget = Budget(rows=rows, monitor=0)
    else:
        goal = Sample(strategy=who.strategy)
        budget = Budget(rows=rows)
    join = Join(streams=streams.streams, on=streams.predicate, goal=goal, budget=budget, seed=seed)
    result = join.replay(streams.tables).result
    order = np.argsort(result["time"].to_numpy(), kind="stable")
    return SampledResults(
        result["time"].to_numpy()[order],
        result["weight"].to_numpy()[order],
        result["cluster"].to_numpy()[order],
        {name: _values(result, name)[order] for name in ("s1", "s2")},
    )


def _values(result: pa.Table, stream: str) -> np.ndarray:
    return np.asarray(result[stream].combine_chunks().field("value").to_numpy())
