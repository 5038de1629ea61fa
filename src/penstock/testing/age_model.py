"""Streams of the age model: when a row matches depends on its age, not on its key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import SpecificationError, must
from penstock.testing._arguments import check_at_least, check_count, check_one_of, check_positive
from penstock.testing.age_curves import AGE_CURVES, AgeShape
from penstock.testing.arrivals import ARRIVAL_LAWS, ArrivalLaw, arrival_times

__all__ = ["AgeModel", "age_model"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AgeModel:
    """Two streams made by `age_model`, and their true age curve.

    Attributes
    ----------
    s1
        Columns ``id`` (int64, unique, 0, 1, 2, ... in order of arrival), ``time`` and ``value``
        (float64).
    s2
        The same columns; ``id`` is that of the row of `s1` it refers to, or negative (and
        unique) if it refers to none.
    curve
        p1: for each bucket of the window, the newest first, the number of results of a row of
        `s1` while it is in that bucket. Read-only. It holds for the rows of `s2` after the time
        `window`: before that the window is not full yet.
    window
        W1, the window of `s1`, in units of time.
    """

    s1: pa.Table
    s2: pa.Table
    curve: Floats
    window: float


def age_model(
    *,
    curve: str | AgeShape = "INC",
    rate_1: float = 1.0,
    rate_2: float = 5.0,
    window: float = 500.0,
    buckets: int = 20,
    results_per_row: float = 5.0,
    duration: float = 5_000.0,
    arrivals: ArrivalLaw = "paper",
    mean: float = 100.0,
    deviation: float = 100.0,
    seed: int = 0,
) -> AgeModel:
    """Generate the paper's age-based streams.

    First `s1` is generated, with unique ids. Then each row of `s2` chooses a bucket of the window
    of `s1` with the probability that the age curve gives it, and refers to a random row in that
    bucket. So in a join of the two on ``id``, with `window` on `s1` and 0 on `s2`, each referring
    row of `s2` is in exactly one result.

    A bucket is sometimes empty: at the beginning, when the window is not full, and if there are
    fewer rows than buckets. Then the choice is made among the buckets that hold rows, in the
    curve's proportions. If none of these has a share, the row refers to nothing.

    Parameters
    ----------
    curve
        The shape: ``"INC"``, ``"DEC"``, ``"BELL"``, or a function from the number of buckets to
        their shares, the newest bucket first.
    rate_1, rate_2
        r1 and r2, rows per unit of time; positive.
    window
        W1, in units of time; positive.
    buckets
        m, number of equal parts into which the window is divided. Bucket k holds the rows whose
        age is above (k - 1) * window / m and up to k * window / m; the first one also holds age 0.
    results_per_row
        n1, number of results of a row of `s1` over its life; at most rate_2 / rate_1. If it is
        less, the other rows of `s2` refer to nothing.
    duration
        Both streams run from 0 to this time.
    arrivals
        The distribution of the gaps between rows, see `arrival_times`: with ``"paper"`` the true
        rates are 0.8 of those given, with ``"mean-rate"`` they are as given.
    mean, deviation
        Of ``value``, which is normally distributed and independent of everything else.
    seed
        The same seed and parameters give the same streams.

    Returns
    -------
    AgeModel
        Both streams in order of time, and p1.

    Examples
    --------
    >>> streams = age_model(curve="INC", duration=2_000.0, seed=1)
    >>> streams.s1.num_rows, streams.s2.num_rows
    (1600, 7917)
    >>> streams.curve[[0, 9, 19]].round(3).tolist()
    [0.002, 0.174, 0.697]
    >>> round(float(streams.curve.sum()), 6)
    5.0

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004), sections
    2.2, 6.2.1 and, for ``value``, 6.2.4 (whose "variance" is used as a standard deviation). Departs
    from the paper in `results_per_row`, which the paper ties to the rates: its 5 is r2 / r1.
    """
    positive = {"rate_1": rate_1, "rate_2": rate_2, "window": window, "duration": duration}
    for name, number in (*positive.items(), ("results_per_row", results_per_row)):
        check_positive(name, number)
    check_at_least("deviation", deviation, 0)
    check_count("buckets", buckets)
    check_one_of("arrivals", arrivals, tuple(ARRIVAL_LAWS))
    shares = _shares(curve, buckets)
    draws = np.random.default_rng(seed).spawn(5)
    times_1 = arrival_times(rate=rate_1, duration=duration, law=arrivals, generator=draws[0])
    times_2 = arrival_times(rate=rate_2, duration=duration, law=arrivals, generator=draws[1])

    referring = results_per_row * rate_1 / rate_2
    if referring > 1.0 + 1e-9:  # a rounding error may lift the product above 1
        requirement = f"at most rate_2 / rate_1, which is {rate_2 / rate_1:g}"
        hint = "a row of s2 refers to only one row of s1: give fewer, or raise rate_2"
        raise SpecificationError(must("results_per_row", requirement, results_per_row, hint))
    edges = np.linspace(0.0, window, buckets + 1)
    ids_2 = _choose_rows(times_1, times_2, shares, edges, draws[2])
    ids_2[draws[3].random(len(ids_2)) >= referring] = -1
    unmatched = np.flatnonzero(ids_2 < 0)
    ids_2[unmatched] = -1 - np.arange(len(unmatched))

    values = draws[4].normal(mean, deviation, size=len(times_1) + len(times_2))
    p1 = results_per_row * shares
    p1.setflags(write=False)
    return AgeModel(
        s1=_table(np.arange(len(times_1)), times_1, values[: len(times_1)]),
        s2=_table(ids_2, times_2, values[len(times_1) :]),
        curve=p1,
        window=float(window),
    )


def _shares(curve: str | AgeShape, buckets: int) -> Floats:
    if isinstance(curve, str):
        check_one_of("curve", curve, tuple(AGE_CURVES))
        return AGE_CURVES[curve](buckets)
    shares = np.asarray(curve(buckets), dtype=np.float64)
    if shares.shape != (buckets,) or not (shares >= 0).all() or abs(shares.sum() - 1.0) > 1e-9:
        requirement = f"a function that returns {buckets} shares, none negative, whose sum is 1"
        raise SpecificationError(
            must("curve", requirement, shares.tolist(), "divide the weights by their sum")
        )
    return shares


def _choose_rows(
    rows: Floats,
    times: Floats,
    shares: Floats,
    edges: Floats,
    generator: np.random.Generator,
) -> Indices:
    """Choose for each of `times` the index of the row it refers to, or -1."""
    bucket = generator.choice(len(shares), size=len(times), p=shares)
    oldest, after_newest = _occupants(rows, times, edges, bucket)

    # If the chosen bucket is empty, choose again among those that hold rows. The distribution is
    # the same as if these were the only choice from the start, and only a few rows need it.
    again = np.flatnonzero(oldest == after_newest)
    everywhere = [
        _occupants(rows, times[again], edges, np.full(len(again), k)) for k in range(len(shares))
    ]
    filled = np.array([first < end for first, end in everywhere]).T
    reached = np.cumsum(filled * shares, axis=1)
    target = generator.random(len(again)) * reached[:, -1]
    bucket[again] = np.argmax(reached > target[:, None], axis=1)
    oldest[again], after_newest[again] = _occupants(rows, times[again], edges, bucket[again])

    count = after_newest - oldest
    chosen = oldest + (generator.random(len(times)) * count).astype(np.int64)
    chosen[count == 0] = -1
    chosen[again[reached[:, -1] == 0.0]] = -1
    return chosen


def _occupants(
    rows: Floats, times: Floats, edges: Floats, bucket: Indices
) -> tuple[Indices, Indices]:
    """Find the range of `rows` (ascending times) that is in the given bucket at each of `times`."""
    oldest = np.searchsorted(rows, times - edges[bucket + 1], side="left")
    # If times - window was rounded down, the oldest row may be too old by a rounding error: leave
    # it out, so that every reference is inside the window by the join's own arithmetic.
    inside = np.flatnonzero(oldest < len(rows))
    oldest[inside] += times[inside] - rows[oldest[inside]] > edges[-1]
    after_newest = np.where(
        bucket == 0,
        np.searchsorted(rows, times, side="right"),
        np.searchsorted(rows, times - edges[bucket], side="left"),
    )
    return oldest, np.maximum(oldest, after_newest)


def _table(ids: Indices, times: Floats, values: Floats) -> pa.Table:
    return pa.table({"id": ids, "time": times, "value": values})
