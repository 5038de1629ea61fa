"""Estimates from an Arrow table: the figures that Spark computes, for the same rows.

Rows in order of time: those of a window, sliding or not, are a slice. Within it rows are put in
order of their group, and each group goes through `penstock.statistics.cluster_sample`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.aggregates.request import MICROSECONDS, NOT_SAMPLED, find_path
from penstock.columns import decoded, plain
from penstock.errors import SchemaError, must
from penstock.statistics.cluster_sample import TOO_FEW, SampleEstimate, average_of, total_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.aggregates.request import EstimateRequest, Windows

__all__ = ["estimate_table"]

Array = npt.NDArray[Any]


class _Numbers(NamedTuple):
    """A column of numbers: the values of the rows that are not null, and where those are."""

    values: npt.NDArray[np.float64]
    is_there: npt.NDArray[np.bool_]


class _Span(NamedTuple):
    """The rows of a window, as a slice of those in order of time."""

    window: tuple[Any, Any] | None
    first: int
    stop: int


def estimate_table(table: pa.Table, request: EstimateRequest) -> pa.Table:
    """Estimate counts, sums and averages; see `penstock.estimate`.

    Examples
    --------
    >>> from penstock.aggregates.request import EstimateRequest
    >>> rows = np.arange(300)
    >>> table = pa.table({"time": rows, "weight": np.full(300, 4.0), "cluster": rows // 3})
    >>> request = EstimateRequest((), 100, 200, (), (), count=True)
    >>> found = estimate_table(table, request)
    >>> [(each["window"]["start"], each["count"]) for each in found.to_pylist()]
    [(-100, 400.0), (0, 800.0), (100, 800.0), (200, 400.0)]
    """
    for name in ("weight", "cluster", *(["time"] if request.every is not None else [])):
        if name not in table.column_names:
            raise SchemaError(
                must("df", f'a table with a column "{name}"', table.column_names, NOT_SAMPLED)
            )
    weight = _numbers_of(table["weight"])
    if weight is None:
        kind = str(plain(table["weight"].type))
        raise SchemaError(must('column "weight"', "of numbers", kind, NOT_SAMPLED))
    paths = list(_paths(table.schema))
    by = [find_path(paths, each, "by") for each in request.by]
    wanted = request.wanted(lambda name, what: find_path(paths, name, what)[-1])
    request.check_result_names([path[-1] for path in by], wanted)
    numbers = [
        None if each.column is None else _find_numbers(table, paths, each.column, each.what)
        for each in wanted
    ]
    groups = [decoded(_column(table, path)) for path in by]
    order, spans, window_type = _windows(table, request)

    code, _ = _codes(groups, table.num_rows)
    cluster, _ = _codes([decoded(table["cluster"])], table.num_rows)
    windows: list[tuple[Any, Any] | None] = []
    representatives: list[int] = []  # a row of each group
    clusters: list[int] = []
    found: list[list[SampleEstimate | None]] = []
    for span, rows in _groups(order, spans, code, is_whole=not by):
        windows.append(span.window)
        representatives.append(int(rows[0]) if rows.size else 0)
        clusters.append(np.unique(cluster[rows]).size)
        found.append(
            [
                _estimate(each, weight.values, cluster, rows, is_average=want.is_average)
                for want, each in zip(wanted, numbers, strict=True)
            ]
        )

    columns: dict[str, pa.Array] = {}
    if window_type is not None:
        columns["window"] = pa.array(
            [{"start": each[0], "end": each[1]} for each in windows if each is not None],
            pa.struct([("start", window_type), ("end", window_type)]),
        )
    for path, group in zip(by, groups, strict=True):
        columns[path[-1]] = group.take(pa.array(representatives, pa.int64()))
    for i, want in enumerate(wanted):
        column = [each[i] for each in found]
        for part, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            columns[f"{want.name}{end}"] = pa.array(
                [None if each is None else getattr(each, part) for each in column], pa.float64()
            )
    columns["clusters"] = pa.array(clusters, pa.int64())
    columns["note"] = pa.array([_note(each) for each in found], pa.string())
    return pa.table(columns)


def _estimate(
    numbers: _Numbers | None, weight: Array, cluster: Array, rows: Array, *, is_average: bool
) -> SampleEstimate | None:
    """Estimate from some rows; None if all their values are null, as in SQL."""
    if numbers is not None:
        rows = rows[numbers.is_there[rows]]
    if not rows.size:
        return None
    values = np.ones(rows.size) if numbers is None else numbers.values[rows]
    return (average_of if is_average else total_of)(values, weight[rows], cluster[rows])


def _note(found: Iterable[SampleEstimate | None]) -> str | None:
    """Return why an interval is missing; too few clusters, if there are several reasons."""
    notes = [each.note for each in found if each is not None and each.note is not None]
    return TOO_FEW if TOO_FEW in notes else notes[0] if notes else None


# --- Columns


def _paths(schema: Iterable[pa.Field]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all columns and of all fields within them, outer ones first."""
    fields = list(schema)
    for field in fields:
        yield (field.name,)
    for field in fields:
        if pa.types.is_struct(field.type):
            for path in _paths(field.type):
                yield (field.name, *path)


def _column(table: pa.Table, path: tuple[str, ...]) -> pa.ChunkedArray:
    column = table[path[0]]
    return pc.struct_field(column, list(path[1:])) if path[1:] else column


def _numbers_of(column: pa.ChunkedArray) -> _Numbers | None:
    """Return a column's numbers in double precision; None if it is not of numbers."""
    kind = plain(column.type)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    values = decoded(column).cast(pa.float64(), safe=False)
    is_there = values.is_valid().to_numpy(zero_copy_only=False)
    return _Numbers(values.fill_null(0.0).to_numpy(zero_copy_only=False), is_there)


def _find_numbers(
    table: pa.Table, paths: list[tuple[str, ...]], requested: str, what: str
) -> _Numbers:
    column = _column(table, find_path(paths, requested, what))
    found = _numbers_of(column)
    if found is None:
        raise SchemaError(
            must(
                f'"{requested}" of {what}',
                "a column of numbers",
                str(column.type),
                'cast it, append it as in table.append_column("number", ...), and use that',
            )
        )
    return found


def _codes(columns: list[pa.Array], rows: int) -> tuple[Array, int]:
    """Number the rows by their values, in order of first appearance; also return how many."""
    code, count = np.zeros(rows, np.int64), 1
    for column in columns:
        for part in _parts(column):
            coded = part.dictionary_encode(null_encoding="encode")
            code = code * len(coded.dictionary) + coded.indices.to_numpy(zero_copy_only=False)
            # Numbered again after each column, so that they cannot overflow.
            _, first, code = np.unique(code, return_index=True, return_inverse=True)
            code = np.argsort(np.argsort(first))[code]
            count = first.size
    return code, count


def _parts(column: pa.Array) -> Iterator[pa.Array]:
    """Yield arrays that are the same in two rows if and only if the column is."""
    if pa.types.is_struct(column.type):
        yield column.is_null()
        for part in range(column.type.num_fields):
            yield from _parts(decoded(pc.struct_field(column, part)))
    elif pa.types.is_floating(column.type):
        # To Spark 0 and -0 are the same, and so they are to a reader.
        yield pc.add(column, pa.scalar(0.0, column.type))
    else:
        yield column


# --- Windows and groups


def _windows(
    table: pa.Table, request: EstimateRequest
) -> tuple[Array, list[_Span], pa.DataType | None]:
    """Return the rows that have a time in its order, the windows, and the type of their ends."""
    if request.every is None:
        return np.arange(table.num_rows), [_Span(None, 0, table.num_rows)], None
    time = decoded(table["time"])
    kind = time.type
    if pa.types.is_timestamp(kind):
        windows = request.windows(MICROSECONDS, 'column "time" is a timestamp')
        kind = pa.timestamp("us", kind.tz)
        time = pc.floor_temporal(time, unit="microsecond").cast(kind).cast(pa.int64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        windows = request.windows(None, 'column "time" is a number')
        assert windows is not None  # noqa: S101  # there is `every`
        is_whole = isinstance(windows.slide, int) and isinstance(windows.length, int)
        kind = pa.int64() if pa.types.is_integer(kind) and is_whole else pa.float64()
        time = time.cast(kind, safe=False)
    else:
        raise SchemaError(must('column "time"', "a timestamp or a number", str(kind), NOT_SAMPLED))
    assert windows is not None  # noqa: S101  # there is `every`
    there = np.flatnonzero(time.is_valid().to_numpy(zero_copy_only=False))
    times = time.take(pa.array(there)).to_numpy(zero_copy_only=False)
    order = np.argsort(times, kind="stable")
    return there[order], list(_spans(times[order], windows)), kind


def _spans(times: Array, windows: Windows) -> Iterator[_Span]:
    """Yield the windows that have rows, and which; the rows are in order of time.

    A row is in the last window that begins at or before its time, and in those before that have
    not ended: as on Spark, where rounding of fractions could tell otherwise.
    """
    last = np.floor(times / windows.slide) if times.dtype.kind == "f" else times // windows.slide
    begun = np.unique(last)
    before = np.arange(windows.overlap, dtype=last.dtype)
    for number in np.unique(begun[:, np.newaxis] - before):
        start = number * windows.slide
        end = start + windows.length
        first, stop = np.searchsorted(last, number), np.searchsorted(last, number, "right")
        stop = max(stop, np.searchsorted(times, end))
        if first < stop:
            yield _Span((start.item(), end.item()), int(first), int(stop))


def _groups(
    order: Array, spans: Iterable[_Span], code: Array, *, is_whole: bool
) -> Iterator[tuple[_Span, Array]]:
    """Yield the rows of each window and group."""
    for span in spans:
        rows = order[span.first : span.stop]
        if is_whole:
            yield span, rows
            continue
        by_group = rows[np.argsort(code[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(code[by_group])) + 1
        for part in np.split(by_group, starts):
            if part.size:
                yield span, part
