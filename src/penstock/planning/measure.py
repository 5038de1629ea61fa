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
from penstock.errors import SchemaError, SpecificationError, did_you_mean, must
from penstock.planning.equal_keys import equal_keys
from penstock.planning.query_statistics import QueryStatistics, same_text
from penstock.planning.residual import Test
from penstock.planning.selection_values import selected_share
from penstock.predicates import Equal
from penstock.tables import UNITS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.planning.parsed import JoinCondition, Source
    from penstock.planning.query import Query
    from penstock.planning.query_statistics import Selectivity

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


def measure_query(
    query: Query,
    tables: Mapping[str, pa.Table],
    selectivities: Mapping[str, Selectivity] | None = None,
) -> QueryStatistics:
    """Measure rates, selectivities and cardinalities on samples of the streams.

    A selectivity between streams is the share of the pairs that meet in the windows, not of all
    pairs, and measured for each direction: rows that arrive of one stream, and of the other.

    Parameters
    ----------
    query
        The query.
    tables
        For each stream and table its rows: of all streams the same stretch of time.
    selectivities
        Of conditions that are known, by their texts: these are not measured.

    Raises
    ------
    SchemaError
        If tables or columns are missing, two streams never meet in their windows, or a selection
        has functions that only Spark has, and is not among the `selectivities`.
    SpecificationError
        If one of the `selectivities` is of no condition of the query.
    """
    query.check_schemas({name: table.schema for name, table in tables.items()})
    samples = {
        source.name: _sample(query, source, tables[source.origin])
        for source in query.parsed.sources
    }
    known = _given(query, selectivities or {})
    found: dict[str, Selectivity] = {}
    before: dict[str, list[str]] = {}
    for each in query.parsed.selections:
        earlier = before.setdefault(each.relation, [])
        if each.text in known:
            found[each.text] = known[each.text]
        else:
            found[each.text] = selected_share(each.text, samples[each.relation].table, earlier)
        earlier.append(each.text)
    for condition in query.parsed.conditions:
        if condition.text in known:
            found[condition.text] = known[condition.text]
        else:
            left, right = samples[condition.left[0]], samples[condition.right[0]]
            found[condition.text] = _both_ways(condition, left, right)
    streams = [each for each in samples.values() if each.times is not None]
    return QueryStatistics(
        rates={each.source.origin: _rate(each) for each in streams},
        selectivities=found,
        cardinalities={
            each.source.origin: float(each.table.num_rows)
            for each in samples.values()
            if each.times is None
        },
    )


def _given(query: Query, selectivities: Mapping[str, Selectivity]) -> dict[str, Selectivity]:
    """Return what is known already, by the texts of the query."""
    QueryStatistics(rates={}, selectivities=selectivities)  # checks the numbers
    parsed = query.parsed
    said = [*(each.text for each in parsed.selections), *(each.text for each in parsed.conditions)]
    texts = {same_text(each): each for each in said}
    for text in selectivities:
        if same_text(text) not in texts:
            known = list(texts.values())
            hint = did_you_mean(text, known, "write it as the query does")
            message = must("selectivities", f"of conditions of the query: {known}", text, hint)
            raise SpecificationError(message)
    return {texts[same_text(text)]: value for text, value in selectivities.items()}


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
    if left.times is None and right.times is None:
        full = np.full(left.table.num_rows, right.table.num_rows)
        return _share(condition, left, right, np.zeros_like(full), full) or 0.0
    shares = []
    for one, other, ties in ((left, right, True), (right, left, False)):
        if one.times is None:
            continue
        begin, end = other.live_at(one.times, ties=ties)
        shares.append(_share(condition, one, other, begin, end))
    known = [each for each in shares if each is not None]
    is_empty = any(each.times is None and not each.table.num_rows for each in (left, right))
    if not known and not is_empty:
        name = f'samples for "{condition.text}"'
        hint = "take samples of the same time, of several windows"
        got = (left.table.num_rows, right.table.num_rows)
        raise SchemaError(must(name, "rows that meet in their windows", got, hint))
    if is_empty:  # rows of the table may come, but none is known to match
        return (0.0, 0.0)
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
        found = _equal_matches(*equal_keys(condition, mine, theirs), begin, end)
        return float(found / (end - begin).sum())
    is_left = one.source.name == condition.left[0]
    types = (mine.type, theirs.type) if is_left else (theirs.type, mine.type)
    test = Test(condition, *types)
    (own, fine), (others, good) = test.read(mine), test.read(theirs)
    chosen = np.unique(np.linspace(0, own.size - 1, min(_COMPARED, own.size)).astype(np.int64))
    matched = faced = 0
    for row in chosen:
        window = slice(begin[row], end[row])
        faced += int(end[row] - begin[row])
        if fine[row]:
            pair = (own[row : row + 1], others[window])
            held = test.holds(*(pair if is_left else pair[::-1]))
            matched += int(np.count_nonzero(held & good[window]))
    return matched / faced if faced else None


def _equal_matches(mine: pa.Array, theirs: pa.Array, begin: Integers, end: Integers) -> int:
    """Count the rows between `begin` and `end` with an equal value, for each of mine."""
    both = pa.concat_arrays([mine, theirs])
    codes = pc.dictionary_encode(both).indices.fill_null(-1).to_numpy(zero_copy_only=False)
    own, others = codes[: len(mine)].astype(np.int64), codes[len(mine) :].astype(np.int64)
    count = others.size
    # Rows in order of value, then of time: a window is a stretch of each value's rows.
    places = np.sort(others * count + np.arange(count))
    matches = np.searchsorted(places, own * count + end) - np.searchsorted(
        places, own * count + begin
    )
    return int(matches[own >= 0].sum())
