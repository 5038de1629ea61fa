"""All results of a join of two streams: the row that waits in memory, and the row that probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.durations import to_units
from penstock.errors import SpecificationError, must
from penstock.predicates import Equal
from penstock.tables import check_tables, units_per_second
from penstock.yardsticks.columns import TIME_LIMIT, codes_of, times_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.spec import Specification

__all__ = ["Matches", "find_matches"]

Indices = npt.NDArray[np.int64]
Times = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Matches:
    """All results of the exact join, by the order in which their rows arrive.

    Rows are numbered: first those of the first stream, in the order of its table, then those of
    the second. Time is a count of moments. All rows of one stream with the same time arrive in one
    moment. They probe, and then memory is made free for those of them that are kept.

    Attributes
    ----------
    arrived
        For each row the moment in which it arrives; 0, 1, 2, ...; -1 if it has no usable time.
    waiting
        For each result the row that arrives first, and has to be in memory for it.
    probing
        For each result the row that arrives later, and probes.
    first_rows
        Number of rows of the first stream.
    """

    arrived: Indices
    waiting: Indices
    probing: Indices
    first_rows: int

    @property
    def completed(self) -> Indices:
        """For each result the moment in which it is found."""
        return self.arrived[self.probing]

    @property
    def waits_in_first(self) -> npt.NDArray[np.bool_]:
        """For each result whether the waiting row is of the first stream."""
        return self.waiting < self.first_rows

    @property
    def rows(self) -> tuple[Indices, Indices]:
        """For each result its row in the first table and its row in the second."""
        first = np.minimum(self.waiting, self.probing)
        return first, np.maximum(self.waiting, self.probing) - self.first_rows

    def __len__(self) -> int:
        return self.waiting.size


def find_matches(join: Specification, tables: Mapping[str, pa.Table]) -> Matches:
    """Find all results of a join of two streams on `Equal`.

    Rows arrive in the order of `Join.replay` with one table for each stream: by time, and at the
    same time those of the first stream before those of the second. The join's goal, budget,
    `lateness` and `max_ahead` are ignored.

    Parameters
    ----------
    join
        The join.
    tables
        The whole of each stream, by the join's names.

    Returns
    -------
    Matches
        The results, in no particular order.

    Raises
    ------
    SpecificationError
        If the join has more than two streams, another predicate, or a window of rows.
    SchemaError
        If a table or a column is missing, or has a type that does not fit.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock.spec import Specification, Stream
    >>> join = Specification(
    ...     streams={"a": Stream(time="t", window=10), "b": Stream(time="t", window=0)},
    ...     on=Equal("k"),
    ... )
    >>> a = pa.table({"t": [0, 5, 6], "k": ["x", "x", "y"]})
    >>> b = pa.table({"t": [10, 11], "k": ["x", "x"]})
    >>> matches = find_matches(join, {"a": a, "b": b})
    >>> len(matches), matches.arrived.tolist()
    (3, [0, 1, 2, 3, 4])
    >>> sorted(zip(*(rows.tolist() for rows in matches.rows), strict=True))
    [(0, 0), (1, 0), (1, 1)]
    """
    if len(join.names) != 2:
        hint = "with more streams several rows of a result wait in memory"
        raise SpecificationError(must("streams of the join", "two", join.names, hint))
    if not isinstance(join.on, Equal):
        hint = "make Matches from pairs of rows that you have found yourself"
        raise SpecificationError(must("on", "an Equal", join.on, hint))
    check_tables(join, tables)
    units = units_per_second(join, tables)
    first, second = times_of([tables[n][join.streams[n].time] for n in join.names], units)
    keys = [[tables[n][column] for column in join.on.columns_of(n)] for n in join.names]
    codes = codes_of(keys[0], keys[1])
    why = "times are numbers" if units is None else "times are timestamps"
    windows = [
        to_units(window, units, f'window of stream "{name}"', why)
        for name, window in join.time_windows("the optimum").items()
    ]
    usable = [each < TIME_LIMIT for each in (first, second)]
    codes = np.where(np.concatenate(usable), codes, -1)
    left, right = _pairs(first, second, codes, (windows[0], windows[1]))
    arrived = _moments(first, second)
    arrived[~np.concatenate(usable)] = -1
    right += first.size
    earlier = arrived[left] < arrived[right]
    return Matches(
        arrived=arrived,
        waiting=np.where(earlier, left, right),
        probing=np.where(earlier, right, left),
        first_rows=first.size,
    )


def _moments(first: Times, second: Times) -> Indices:
    """Number the different pairs of a time and a stream, in their order."""
    times = np.unique(np.concatenate([first, second]), return_inverse=True)[1]
    places = 2 * times
    places[first.size :] += 1
    return np.unique(places, return_inverse=True)[1].astype(np.int64)


def _pairs(
    first: Times, second: Times, codes: Indices, windows: tuple[float, float]
) -> tuple[Indices, Indices]:
    """Find the pairs of rows with equal codes that are in each other's windows."""
    # A row of the first stream joins rows of the second from its time - windows[1] up to its time
    # + windows[0]. `order` ranks the times of the second, so a key and a span of time together are
    # a span of ranks within that key, and one sorted array holds them all.
    order = np.argsort(second, kind="stable")
    ranked = second[order]
    since = np.searchsorted(ranked, _at_least(first, windows[1]), "left")
    until = np.searchsorted(ranked, _at_most(first, windows[0]), "right")
    size = second.size + 1
    keyed = codes[first.size :][order] * size + np.arange(second.size)
    by_key = np.argsort(keyed)
    keyed = keyed[by_key]
    own = codes[: first.size] * size
    start = np.searchsorted(keyed, own + since)
    count = np.where(own >= 0, np.searchsorted(keyed, own + until) - start, 0)
    left = np.repeat(np.arange(first.size), count)
    within = np.arange(left.size) - np.repeat(np.cumsum(count) - count, count)
    right = order[by_key[start[left] + within]]
    # The bounds were widened for rounding; the difference decides, as in the engine.
    age = second[right] - first[left]
    joined = (age <= windows[0]) & (-age <= windows[1])
    return left[joined], right[joined]


def _at_least(times: Times, window: float) -> Times:
    """Return `times - window`; floats a little less, so that no pair is lost by rounding."""
    if times.dtype.kind != "f":
        return times - int(window)
    earlier: Times = np.nextafter(times - np.nextafter(np.float64(window), np.inf), -np.inf)
    return earlier


def _at_most(times: Times, window: float) -> Times:
    """Return `times + window`; floats a little more, so that no pair is lost by rounding."""
    if times.dtype.kind != "f":
        return times + int(window)
    later: Times = np.nextafter(times + np.nextafter(np.float64(window), np.inf), np.inf)
    return later
