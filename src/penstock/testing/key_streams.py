"""Two streams with few, very unequal keys: steady, in bursts, or with one that dominates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import SpecificationError, must
from penstock.testing._arguments import check_count, check_one_of, check_positive
from penstock.testing.zipf import zipf_weights

__all__ = ["KeyPattern", "KeyStreams", "key_streams"]

Floats = npt.NDArray[np.float64]
KeyPattern = Literal["steady", "bursts", "dominant"]

# With "bursts" a key is busy in this share of the spells, and has so much of its rate in others.
_BUSY, _QUIET = 0.1, 0.02


@dataclass(frozen=True, slots=True, eq=False)
class KeyStreams:
    """Two streams made by `key_streams`.

    Attributes
    ----------
    s1, s2
        Columns ``key`` (int64), ``time`` and ``value`` (float64), in order of time.
    weights_1, weights_2
        The share of each key 0, 1, 2, ... in each stream, over a long time. Read-only.
    """

    s1: pa.Table
    s2: pa.Table
    weights_1: Floats
    weights_2: Floats


def key_streams(
    *,
    pattern: KeyPattern = "steady",
    keys: int = 51,
    top: float = 0.25,
    zipf: float = 1.0,
    mixed: float = 0.3,
    rates: tuple[float, float] = (2.0, 1.0),
    duration: float = 5_000.0,
    spell: float = 100.0,
    seed: int = 0,
) -> KeyStreams:
    """Generate two streams that share few, very unequal keys.

    Key 0 has the share `top` of both streams. The others follow Zipf's law, in an order that
    differs between the streams.

    Parameters
    ----------
    pattern
        What changes with time. ``"steady"``: nothing. ``"bursts"``: each key is busy in one
        spell of ten, in both streams, and hardly comes in the others. ``"dominant"``: in each
        spell another key has the share `top` of both streams.
    keys
        How many there are; at least 2.
    top
        Share of the most frequent key; above 0, below 1.
    zipf
        Skew of the other keys.
    mixed
        Share of the other keys whose ranks in the second stream are drawn again: 0 for the same
        order in both, 1 for no correlation.
    rates
        Rows of each stream per unit of time; positive. Arrivals are Poisson.
    duration
        Both streams run from 0 to this time; positive.
    spell
        Time for which weights stay as they are, with these two patterns; positive.
    seed
        The same seed and parameters give the same streams.

    Examples
    --------
    >>> streams = key_streams(duration=1_000.0, seed=1)
    >>> streams.s1.num_rows, streams.s2.num_rows
    (1963, 956)
    >>> streams.weights_1[:3].round(3).tolist()
    [0.25, 0.167, 0.083]
    """
    for name, number in (("duration", duration), ("spell", spell)):
        check_positive(name, number)
    for rate in rates:
        check_positive("rates", rate)
    check_one_of("pattern", pattern, ("steady", "bursts", "dominant"))
    check_count("keys", keys, 2)
    for name, number in (("top", top), ("mixed", mixed)):
        if not 0 <= number <= 1:
            raise SpecificationError(must(name, "from 0 to 1", number, "give a share"))
    shuffle, changes, *draws = np.random.default_rng(seed).spawn(4)
    weights_1 = np.concatenate([[top], (1.0 - top) * zipf_weights(keys - 1, zipf)])
    weights_2 = weights_1.copy()
    moved = 1 + np.flatnonzero(shuffle.random(keys - 1) < mixed)
    weights_2[moved] = weights_1[shuffle.permutation(moved)]
    factors = _factors(pattern, weights_1, int(duration / spell) + 1, top, changes)
    tables = []
    for rate, weights, generator in zip(rates, (weights_1, weights_2), draws, strict=True):
        weights.setflags(write=False)
        times = np.sort(generator.uniform(0.0, duration, generator.poisson(rate * duration)))
        shares = np.cumsum(weights * factors, axis=1)
        drawn = shares[(times / spell).astype(np.int64)]
        which = generator.random(times.size) * drawn[:, -1]
        found = np.sum(drawn <= which[:, None], axis=1)
        values = generator.lognormal(0.0, 1.0, times.size)
        tables.append(pa.table({"key": found, "time": times, "value": values}))
    return KeyStreams(tables[0], tables[1], weights_1, weights_2)


def _factors(
    pattern: KeyPattern, weights: Floats, spells: int, top: float, generator: np.random.Generator
) -> Floats:
    """Return by how much each key's weight is multiplied in each spell."""
    factors = np.ones((spells, weights.size))
    if pattern == "bursts":
        factors[:] = np.where(generator.random(factors.shape) < _BUSY, 1.0, _QUIET)
    if pattern == "dominant":
        # The key that dominates has the share `top` of the whole, key 0 what others have.
        factors[:, 0] = (1.0 - top) / top / (weights.size - 1)
        chosen = generator.integers(1, weights.size, spells)
        others = (weights * factors).sum(axis=1) - weights[chosen]
        factors[np.arange(spells), chosen] = top / (1.0 - top) * others / weights[chosen]
    return factors
