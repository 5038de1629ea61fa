"""Streams whose values move together, with a lag between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import SpecificationError, must
from penstock.testing._arguments import check_at_least, check_positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LaggedStreams", "lagged_streams"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LaggedStreams:
    """Streams made by `lagged_streams`.

    Attributes
    ----------
    tables
        By name, ``"s1"``, ``"s2"`` and so on: columns ``time`` and ``value`` (float64), in order
        of time.
    lags
        tau of each stream, in units of time.
    """

    tables: Mapping[str, pa.Table]
    lags: tuple[float, ...]

    def expected_lag(self, one: int, other: int) -> float:
        """Return by how much rows of a stream are later than rows of another with their value.

        Streams are numbered from 0. It holds at time 0 if lags drift.
        """
        return self.lags[other] - self.lags[one]


def lagged_streams(
    *,
    rate: float | Sequence[float] = 100.0,
    duration: float = 60.0,
    lags: Sequence[float] = (0.0, 5.0, 15.0),
    deviations: Sequence[float] = (2.0, 2.0, 50.0),
    drifts: Sequence[float] | None = None,
    changes: Sequence[tuple[float, float]] = (),
    domain: float = 1000.0,
    period: float = 50.0,
    seed: int = 0,
) -> LaggedStreams:
    """Make streams of values that rise steadily and begin again, with lags and noise.

    A row of stream i at time t has the value (D / eta) (t + tau_i) + kappa_i N(0, 1), all of it
    modulo D. So two streams without noise have equal values at times that are tau_j - tau_i apart.

    Parameters
    ----------
    rate
        Rows per unit of time, of each stream or of all; positive. Arrivals are Poisson.
    duration
        Streams run from 0 to this time; positive.
    lags
        tau of each stream; as many as there are streams, two or more.
    deviations
        kappa of each stream, from 0. The larger, the less does the time of a row say of its value:
        a deviation of D / eta is as a random lag with a deviation of one unit of time.
    drifts
        How much each lag grows in a unit of time; None for constant lags.
    changes
        Times, ascending, and the factor that rates have from then on, for streams in bursts.
    domain
        D; values are in [0, D). Positive.
    period
        eta, time after which values begin again; positive.
    seed
        The same seed and parameters give the same streams.

    Examples
    --------
    >>> streams = lagged_streams(rate=50.0, lags=(0.0, 5.0), deviations=(0.0, 0.0), seed=1)
    >>> {name: table.num_rows for name, table in streams.tables.items()}
    {'s1': 3032, 's2': 2996}
    >>> streams.expected_lag(0, 1)  # rows of s1 are 5 later than those of s2 with their value
    5.0
    >>> first = streams.tables["s2"].slice(0, 1).to_pylist()[0]
    >>> first["value"] == (first["time"] + 5.0) * 20.0 % 1000.0
    True

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 6.2: X_i, with D = 1000 and eta = 50. The paper
    does not say how rows arrive; its "mod D" is taken to apply to the whole value. Departs from it
    in `drifts` and `changes`.
    """
    for name, number in (("duration", duration), ("domain", domain), ("period", period)):
        check_positive(name, number)
    if len(lags) < 2:
        raise SpecificationError(
            must("lags", "those of two streams or more", list(lags), "give one for each stream")
        )
    rates = [float(rate)] * len(lags) if isinstance(rate, (int, float)) else list(rate)
    growths = [0.0] * len(lags) if drifts is None else list(drifts)
    for name, numbers in (("rate", rates), ("deviations", deviations), ("drifts", growths)):
        if len(numbers) != len(lags):
            requirement = f"one number for each of {len(lags)} streams"
            raise SpecificationError(must(name, requirement, list(numbers), "give as many as lags"))
    for each in rates:
        check_positive("rate", each)
    for each in deviations:
        check_at_least("deviations", each, 0)
    pieces = _pieces(changes, duration)
    tables = {}
    draws = np.random.default_rng(seed).spawn(len(lags))
    for number, generator in enumerate(draws):
        times = _poisson(rates[number], pieces, generator)
        moved = times + lags[number] + growths[number] * times
        noise = deviations[number] * generator.normal(size=times.size)
        values = (domain / period * moved + noise) % domain
        tables[f"s{number + 1}"] = pa.table({"time": times, "value": values})
    return LaggedStreams(tables, tuple(float(lag) for lag in lags))


def _pieces(
    changes: Sequence[tuple[float, float]], duration: float
) -> list[tuple[float, float, float]]:
    """Return from when to when rates have which factor."""
    starts = [0.0, *(time for time, _ in changes)]
    if any(later <= earlier for earlier, later in pairwise(starts)):
        raise SpecificationError(
            must("changes", "times above 0 in ascending order", list(changes), "sort them")
        )
    for _, factor in changes:
        check_at_least("changes", factor, 0)
    factors = [1.0, *(factor for _, factor in changes)]
    ends = [*starts[1:], duration]
    return [
        (start, min(end, duration), factor)
        for start, end, factor in zip(starts, ends, factors, strict=True)
        if start < duration
    ]


def _poisson(
    rate: float, pieces: Sequence[tuple[float, float, float]], generator: np.random.Generator
) -> Floats:
    times = [
        np.sort(generator.uniform(start, end, generator.poisson(rate * factor * (end - start))))
        for start, end, factor in pieces
    ]
    return np.concatenate(times)
