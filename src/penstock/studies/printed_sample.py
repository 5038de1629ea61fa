"""The sampling algorithms as the paper prints them: memory is meant on average, and p is fixed.

Penstock's own hold no more rows than they may, whatever comes, and adapt the fraction to that.
These here are told the streams' frequencies and rates. Glossary: n results that a tuple gives on
average, N those after which UNIFORM discards it, p the sampling fraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.sampling_fraction import (
    cluster_chances,
    fraction_by_size,
    fraction_of_clusters,
    solve_fraction,
)
from penstock.statistics.sampling_memory import uniform_share, uniform_share_at_random
from penstock.strategies.uniform import Uniform
from penstock.studies.frequency_scenario import MATCHES
from penstock.studies.sampled_results import SampledResults

if TYPE_CHECKING:
    from penstock.studies.frequency_scenario import FrequencyStreams

__all__ = ["eq_cluster", "pps_cluster", "uniform"]

Floats = npt.NDArray[np.float64]


def eq_cluster(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator
) -> SampledResults:
    """Strategy 2: each tuple with the same chance, for life."""
    chance = fraction_of_clusters(rows, streams.scenario.full_rows)
    return _clusters(streams, np.full(streams.tables["s1"].num_rows, chance), generator)


def pps_cluster(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator
) -> SampledResults:
    """Strategy 3: each tuple with a chance in proportion to n, for life."""
    alive = streams.scenario.full_rows * streams.frequencies_1
    factor = fraction_by_size(rows, streams.expected, alive)
    chances = cluster_chances(factor, streams.expected)
    return _clusters(streams, chances[_keys(streams)], generator)


def uniform(
    streams: FrequencyStreams, rows: float, generator: np.random.Generator, rounding: str
) -> SampledResults:
    """Give the sample of Fig. 4: each of a tuple's first N results with the same chance.

    Parameters
    ----------
    rounding
        How N is made of n, as `penstock.Sample` has it; ``"true"`` if N is what comes. The
        fraction is what fits in memory; where n is rounded ``"down"``, as the paper's Theorem 4.2
        has it, which does not round.
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
        # As many draws as show what rounding at random comes to.
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
    chosen: npt.NDArray[np.int64],
    limits: Floats,
    fraction: float,
    generator: np.random.Generator,
) -> float:
    """Give the rows that are held on average: each tuple until the last chosen of its N results.

    If that is one of those that never come, until it expires.
    """
    came = streams.column("s1", "time")
    last = came.copy()
    pairs = streams.pairs
    np.maximum.at(last, pairs.first[chosen], pairs.times[chosen])
    missing = np.maximum(limits - streams.column("s1", MATCHES), 0.0)
    waits = generator.random(missing.size) < -np.expm1(missing * np.log1p(-min(fraction, 0.999999)))
    shares = np.where(waits, 1.0, (last - came) / streams.scenario.window)
    return streams.scenario.full_rows * float(shares.mean())


def _keys(streams: FrequencyStreams) -> npt.NDArray[np.int64]:
    return streams.column("s1", "key").astype(np.int64)
