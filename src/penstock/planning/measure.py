"""Rates and selectivities of a query, measured on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns import at_midnight, decoded, plain
from penstock.durations import to_units
from penstock.errors import SchemaError, must
from penstock.planning.query_statistics import QueryStatistics
from penstock.planning.selection_values import selected_share
from penstock.predicates import Band, Compare, Equal, Within
from penstock.tables import UNITS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.planning.parsed import JoinCondition, Source
    from penstock.planning.query import Query

__all__ = ["measure_query", "seconds_of", "window_seconds"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Arriving rows that are compared one by one where no index counts matches.
_COMPARED = 400
_NANOSECONDS = 10**9


@dataclass(frozen=True, eq=False)
class _Sample:
    """The rows of one relation in order of time; times are None for a table."""

    source: Source
    table: pa.Table
    times: Floats | None

    def live_at(self, times: Floats, *, ties: bool) -> tuple[Integers, Integers]:
        """Return from which to which row the window reaches at some times."""
        if self.times is None:
            full = np.full(times.size, self.table.num_rows)
            return np.zeros_like(full), full
        end = np.searchsorted(self.times, times, "right" if ties else "left")
        if self.source.rows is not None:
            return np.maximum(end - self.source.rows, 0), end
        begin = np.searchsorted(self.times, times - window_seconds(self.source), "left")
        return np.minimum(begin, end), end


def measure_query(query: Query, tables: Mapping[str, pa.Table]) -> QueryStatistics:
    """Measure rates, selectivities and cardinalities on samples of the streams.

    A selectivity between streams is the share of the pairs that meet in the windows, not of all
    pairs, and measured for each direction: rows that arrive of one stream, and of the other.

    Parameters
    ----------
    query
        The query.
    tables
        For each stream and table its rows: of all streams the same stretch of time.

    Raises
    ------
    SchemaError
        If tables or columns are missing, or two streams never meet in their windows.
    """
    query.check_schemas({name: table.schema for name, table in tables.items()})
    samples = {
        source.name: _sample(query, source, tables[source.origin])
        for source in query.parsed.sources
    }
    selectivities: dict[str, float | tuple[float, float]] = {
        each.text: selected_share(each.text, samples[each.relation].table)
        for each in query.parsed.selections
    }
    for condition in query.parsed.conditions:
        left, right = samples[condition.left[0]], samples[condition.right[0]]
        selectivities[condition.text] = _both_ways(condition, left, right)
    streams = [each for each in samples.values() if each.times is not None]
    return QueryStatistics(
        rates={each.source.origin: _rate(each) for each in streams},
        selectivities=selectivities,
        cardinalities={
            each.source.origin: float(each.table.num_rows)
            for each in samples.values()
            if each.times is None
        },
    )


def window_seconds(source: Source) -> float:
    """Return the length of a window by time: in seconds, or in units of numeric time."""
    duration = source.duration
    if isinstance(duration, int | float):
        return float(duration)
    why = "it is a clock duration"
    return to_units(duration or 0, _NANOSECONDS, f'window of "{source.name}"', why) / _NANOSECONDS


def _sample(query: Query, source: Source, table: pa.Table) -> _Sample:
    if source.is_table:
        return _Sample(source, table, None)
    times = seconds_of(table.column(query.time_of(source.origin)))
    good = np.isfinite(times)
    order = np.argsort(times[good], kind="stable")
    rows = np.flatnonzero(good)[order]
    return _Sample(source, table.take(pa.array(rows)), times[rows])


def seconds_of(column: pa.ChunkedArray) -> Floats:
    """Return a column of times in seconds, or in units of numeric time; null as NaN."""
    column = at_midnight(column)
    kind = plain(column.type)
    scale = UNITS_PER_SECOND[kind.unit] if pa.types.is_timestamp(kind) else 1
    raw = decoded(column)
    if pa.types.is_timestamp(kind):
        raw = raw.cast(pa.int64())
    times: Floats = raw.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / scale
    return times


def _rate(sample: _Sample) -> float:
    times = sample.times
    if times is None or times.size < 2 or times[-1] <= times[0]:
        name = f'sample of stream "{sample.source.origin}"'
        hint = "take a longer one"
        raise SchemaError(must(name, "rows at two times at least", sample.table.num_rows, hint))
    return float((times.size - 1) / (times[-1] - times[0]))


def _both_ways(
    condition: JoinCondition, left: _Sample, right: _Sample
) -> float | tuple[float, float]:
    shares = []
    for one, other, ties in ((left, right, True), (right, left, False)):
        if one.times is None:
            continue
        begin, end = other.live_at(one.times, ties=ties)
        shares.append(_share(condition, one, other, begin, end))
    known = [each for each in shares if each is not None]
    if not known:
        name = f'samples for "{condition.text}"'
        hint = "take samples of the same time, of several windows"
        got = (left.table.num_rows, right.table.num_rows)
        raise SchemaError(must(name, "rows that meet in their windows", got, hint))
    if len(shares) == 1:
        return (known[0], known[0])
    # A direction in which no rows meet has a window of zero: it adds nothing.
    return tuple(0.0 if each is None else each for each in shares)  # type: ignore[return-value]


def _share(
    condition: JoinCondition, one: _Sample, other: _Sample, begin: Integers, end: Integers
) -> float | None:
    """Return the share of matches among the pairs; None if there are no pairs."""
    if not (end - begin).sum():
        return None
    columns = dict([condition.left, condition.right])
    mine, theirs = (each.table.column(columns[each.source.name]) for each in (one, other))
    if isinstance(condition.predicate, Equal):
        found = _equal_matches(mine, theirs, begin, end)
        return float(found / (end - begin).sum())
    is_left = one.source.name == condition.left[0]
    fits = _compared(condition, is_left=is_left)
    own, others = _numbers(mine), _numbers(theirs)
    chosen = np.unique(np.linspace(0, own.size - 1, min(_COMPARED, own.size)).astype(np.int64))
    matched = faced = 0
    for row in chosen:
        window = others[begin[row] : end[row]]
        matched += int(np.count_nonzero(fits(own[row], window)))
        faced += window.size
    return matched / faced if faced else None


def _equal_matches(
    mine: pa.ChunkedArray, theirs: pa.ChunkedArray, begin: Integers, end: Integers
) -> int:
    """Count the rows between `begin` and `end` with an equal value, for each of mine."""
    kind = plain(mine.type)
    if kind != plain(theirs.type):
        numbers = all(pa.types.is_integer(plain(each.type)) for each in (mine, theirs))
        kind = pa.int64() if numbers else pa.float64()
    both = pa.concat_arrays([decoded(mine).cast(kind), decoded(theirs).cast(kind)])
    codes = pc.dictionary_encode(both).indices.fill_null(-1).to_numpy(zero_copy_only=False)
    own, others = codes[: len(mine)].astype(np.int64), codes[len(mine) :].astype(np.int64)
    count = others.size
    # Rows in order of value, then of time: a window is a stretch of each value's rows.
    places = np.sort(others * count + np.arange(count))
    matches = np.searchsorted(places, own * count + end) - np.searchsorted(
        places, own * count + begin
    )
    return int(matches[own >= 0].sum())


def _compared(
    condition: JoinCondition, *, is_left: bool
) -> Callable[[np.float64, Floats], npt.NDArray[np.bool_]]:
    """Return the comparison of one value of a side with many of the other."""
    predicate = condition.predicate
    tests: dict[str, Callable[[Floats, Floats], npt.NDArray[np.bool_]]] = {
        "<": np.less,
        "<=": np.less_equal,
        "=": np.equal,
        "!=": np.not_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }

    def test(left: Floats, right: Floats) -> npt.NDArray[np.bool_]:
        match predicate:
            case Within():
                return np.abs(left - right) <= float(predicate.distance)
            case Band():
                step = right - left
                return (step >= float(predicate.low)) & (step <= float(predicate.high))
            case Compare():
                return tests[predicate.operator](left, right)
        message = f"no such predicate: {predicate!r}"
        raise AssertionError(message)

    def one_side(own: np.float64, others: Floats) -> npt.NDArray[np.bool_]:
        mine = np.full(others.size, own)
        return test(mine, others) if is_left else test(others, mine)

    return one_side


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Return a column as numbers; times as their units, null as NaN."""
    array = decoded(at_midnight(column))
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    values: Floats = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values
