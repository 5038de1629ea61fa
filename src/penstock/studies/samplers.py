"""The samplers of the studies: the paper's algorithms as printed, and Penstock's own.

In the printed ones memory is meant on average, and the sampling fraction is fixed; they are given
the frequencies and rates of the streams. Penstock's never hold more rows than they may, and adapt
the fraction to that. Glossary: n results that a row gives on average, N those after which UNIFORM
discards it, p the sampling fraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.budget import Budget
from penstock.goals import Sample
from penstock.join import Join
from penstock.report.plot_style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, Pen
from penstock.statistics.sampling_fraction import (
    cluster_chances,
    fraction_by_size,
    fraction_of_clusters,
    solve_fraction,
)
from penstock.statistics.sampling_memory import uniform_share, uniform_share_at_random
from penstock.strategies.uniform import Uniform
from penstock.studies.contenders import Look
from penstock.studies.frequency_scenario import MATCHES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.studies.frequency_scenario import FrequencyStreams

__all__ = ["OURS", "PRINTED", "SAMPLERS", "SampledResults", "Sampler", "sample"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# UNIFORM's rows have 34 bytes instead of 32, for the two fields that it needs.
_ROWS_OF_UNIFORM = 32 / 34

# Rows that any join needs: one for each stream.
_FEWEST = 2


@dataclass(frozen=True, eq=False)
class SampledResults:
    """Sampled results, in order of time.

    Attributes
    ----------
    times
        Of the results.
    weights, clusters
        How many results each stands for, and with which others it was drawn.
    values
        Of the aggregated column, if it is one of the first stream and if it is one of the second.
    held
        Rows that were held on average; NaN if that was not measured.
    """

    times: Floats
    weights: Floats
    clusters: Integers
    values: Mapping[str, Floats]
    held: float = float("nan")

    @classmethod
    def of_pairs(
        cls,
        streams: FrequencyStreams,
        chosen: Integers,
        weights: Floats,
        clusters: Integers,
        held: float,
    ) -> SampledResults:
        """Return the chosen ones of the exact results, by number."""
        pairs = streams.pairs
        values = {
            "s1": streams.column("s1", "value")[pairs.first[chosen]],
            "s2": streams.column("s2", "value")[pairs.second[chosen]],
        }
        return cls(pairs.times[chosen], weights, clusters, values, held)

    @classmethod
    def exact(cls, streams: FrequencyStreams) -> SampledResults:
        """Return all of the exact results."""
        pairs = streams.pairs
        every_result = np.arange(pairs.times.size)
        return cls.of_pairs(
            streams, every_result, np.ones(every_result.size), every_result, float("nan")
        )

    def averages(self, of: str, ends: Floats, length: float) -> Floats:
        """Return the weighted averages over windows; NaN for an empty one.

        Parameters
        ----------
        of
            The stream whose column it is.
        ends
            Of the windows, the end included.
        length
            Of the windows.
        """
        begin, stop = (
            np.searchsorted(self.times, edges, side="right") for edges in (ends - length, ends)
        )
        sums = [
            np.concatenate([[0.0], np.cumsum(each)])
            for each in (self.weights * self.values[of], self.weights)
        ]
        total, size = (each[stop] - each[begin] for each in sums)
        averages: Floats = np.full(ends.size, np.nan)
        # A difference of two large sums is not exactly 0: the rows tell if a window is empty.
        np.divide(total, size, out=averages, where=stop > begin)
        return averages

    def count(self, since: float) -> float:
        """Return the estimated number of results from a time on."""
        return float(self.weights[self.times >= since].sum())


@dataclass(frozen=True)
class Sampler(Look):
    """One way to sample.

    Attributes
    ----------
    strategy
        By the name that the join has for it.
    rounding
        Of UNIFORM as printed; None for Penstock's.
    learns
        Whether UNIFORM has to learn how many results a row will give.
    """

    strategy: str
    rounding: str | None = None
    learns: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether its rows are larger."""
        return self.strategy == "uniform"

    def rows(self, memory: float, full_rows: float) -> float:
        """Return the rows that it may hold, with a share of the memory of a full window."""
        return memory * full_rows * (_ROWS_OF_UNIFORM if self.is_uniform else 1.0)


# In drawing order: the last lies on top.
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
"""The paper's algorithms as printed."""

OURS: Mapping[str, Sampler] = {
    "uniform": Sampler(
        "uniform\nlearned",
        Pen("UNIFORM, n learned", VERMILION, (0, (3, 2))),
        "uniform",
        learns=True,
    ),
    "uniform-true": Sampler("uniform\ntrue n", Pen("UNIFORM, n known", SKY), "uniform"),
    "eq": Sampler("eq", Pen("EQ-CLUSTER", BLUE), "eq-cluster"),
    "pps": Sampler("pps", Pen("PPS-CLUSTER", GREEN), "pps-cluster"),
}
"""Penstock's, which never hold more rows than they may."""

SAMPLERS: Mapping[str, Sampler] = {**PRINTED, **OURS}


def sample(name: str, streams: FrequencyStreams, memory: float, seed: int) -> SampledResults:
    """Sample a join with an amount of memory, as a share of a full window's."""
    sampler = SAMPLERS[name]
    rows = sampler.rows(memory, streams.scenario.full_rows)
    if name in OURS:
        return _join(sampler, streams, max(_FEWEST, round(rows)), seed)
    # Another generator than that of the streams.
    generator = np.random.default_rng([seed, 1])
    if sampler.rounding is not None:
        return _printed_uniform(streams, rows, generator, sampler.rounding)
    if sampler.strategy == "eq-cluster":
        return _printed_eq_cluster(streams, rows, generator)
    return _printed_pps_cluster(streams, rows, generator)


def _goal(sampler: Sampler) -> Sample:
    """Return the goal of one of `OURS`: the only place that knows how it is written."""
    if sampler.is_uniform and not sampler.learns:
        # Whole numbers already: there is nothing to round.
        return Sample(strategy=Uniform(rounding="down"), matches={"s1": MATCHES})
    return Sample(strategy=sampler.strategy)


def _join(sampler: Sampler, streams: FrequencyStreams, rows: int, seed: int) -> SampledResults:
    # Where the number of matches is known, no memory is needed to learn it.
    monitor = 0 if sampler.is_uniform and not sampler.learns else None
    join = Join(
        streams=streams.streams,
        on=streams.predicate,
        goal=_goal(sampler),
        budget=Budget(rows=rows, monitor=monitor),
        seed=seed,
    )
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


def _printed_eq_cluster(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator
) -> SampledResults:
    """Sample by Strategy 2: each row with the same chance, for life."""
    chance = fraction_of_clusters(rows, streams.scenario.full_rows)
    return _clusters(streams, np.full(streams.tables["s1"].num_rows, chance), generator)


def _printed_pps_cluster(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator
) -> SampledResults:
    """Sample by Strategy 3: each row with a chance in proportion to n, for life."""
    alive = streams.scenario.full_rows * streams.frequencies_1
    factor = fraction_by_size(rows, streams.expected, alive)
    chances = cluster_chances(factor, streams.expected)
    return _clusters(streams, chances[_keys(streams)], generator)


def _printed_uniform(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator, rounding: str
) -> SampledResults:
    """Sample as in Fig. 4: each of a row's first N results with the same chance.

    Parameters
    ----------
    rounding
        How n is rounded to N, as in `penstock.Sample`; ``"true"`` if N is the true number. The
        fraction is what fits in memory; where n is rounded ``"down"``, it is that of the paper's
        Theorem 4.2, which does not round.
    """
    keys = _keys(streams)
    true = streams.column("s1", MATCHES)
    if rounding == "true":
        limits = true
        numbers, times = np.unique(true, return_counts=True)

        # Of n matches at random the i-th comes at i / (n + 1) of a life on average, not at i / n.
        def held(fraction: float) -> float:
            shares = uniform_share(fraction, numbers, numbers) * numbers / (numbers + 1)
            return float(np.average(shares, weights=times))
    elif rounding == "down":
        limits = np.floor(streams.expected)[keys]

        def held(fraction: float) -> float:
            shares = uniform_share(fraction, streams.expected)
            return float((streams.frequencies_1 * shares).sum())
    else:
        rule = Uniform(rounding=rounding)
        limits = rule.limits(streams.expected[keys], generator.random(keys.size))
        # Enough draws for the mean of rounding at random.
        draws = (np.arange(100) + 0.5)[:, np.newaxis] / 100
        possible = rule.limits(streams.expected, draws)

        def held(fraction: float) -> float:
            shares = uniform_share_at_random(fraction, streams.expected, possible)
            return float((streams.frequencies_1 * np.atleast_2d(shares).mean(axis=0)).sum())

    full = streams.scenario.full_rows
    fraction = solve_fraction(rows, lambda each: full * held(each))
    pairs = streams.pairs
    ranks = pairs.ranks()
    wanted = (ranks <= limits[pairs.first]) & (generator.random(ranks.size) < fraction)
    chosen = np.flatnonzero(wanted)
    return SampledResults.of_pairs(
        streams,
        chosen,
        np.full(chosen.size, 1 / fraction),
        chosen,
        _held_by_uniform(streams, chosen, limits, fraction, generator),
    )


def _clusters(
    streams: FrequencyStreams, chances: Floats, generator: np.random.Generator
) -> SampledResults:
    taken = generator.random(chances.size) < chances
    pairs = streams.pairs
    chosen = np.flatnonzero(taken[pairs.first])
    first = pairs.first[chosen]
    held = streams.scenario.full_rows * float(taken.mean())
    return SampledResults.of_pairs(streams, chosen, 1 / chances[first], first, held)


def _held_by_uniform(
    streams: FrequencyStreams,
    chosen: Integers,
    limits: Floats,
    fraction: float,
    generator: np.random.Generator,
) -> float:
    """Return the rows held on average: each row until the last chosen of its N results.

    If that result never comes, the row is held until it expires.
    """
    came = streams.column("s1", "time")
    last = came.copy()
    pairs = streams.pairs
    np.maximum.at(last, pairs.first[chosen], pairs.times[chosen])
    missing = np.maximum(limits - streams.column("s1", MATCHES), 0.0)
    waits = generator.random(missing.size) < -np.expm1(missing * np.log1p(-min(fraction, 0.999999)))
    shares = np.where(waits, 1.0, (last - came) / streams.scenario.window)
    return streams.scenario.full_rows * float(shares.mean())


def _keys(streams: FrequencyStreams) -> Integers:
    return streams.column("s1", "key").astype(np.int64)
