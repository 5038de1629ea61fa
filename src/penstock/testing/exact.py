"""The exact join by its definition, in plain Python: slow, but easy to see that it is right."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from penstock.durations import to_units
from penstock.errors import SchemaError, must
from penstock.predicates import Band, Compare, Equal, Predicate, Similar, Within
from penstock.tables import check_tables, units_per_second
from penstock.testing._columns import arithmetic, times_of, values_of
from penstock.testing._vectors import all_near, usable_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from penstock.spec import Specification

__all__ = ["exact_join"]

# Enough digits for exact differences of decimals: the widest type has 76, on either side of the
# point.
_DIGITS = 160

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class _Row:
    index: int
    time: int | float
    values: tuple[Any, ...]


def exact_join(join: Specification, tables: Mapping[str, pa.Table]) -> list[tuple[int, ...]]:
    """Find all combinations of rows that join, by checking each of them.

    Rows join if the predicate holds and each of them is in its own stream's window at the time of
    the newest: newest - time <= window. This is the whole definition. It does not depend on the
    order of the rows, so nothing is ever late or too far ahead, and the join's goal, budget,
    `lateness` and `max_ahead` are ignored.

    For nulls and NaN no predicate holds. A row whose time is null or not finite joins nothing.
    Whole numbers and decimals are compared exactly; a difference with a float in it is computed
    in float64. So is a distance of vectors, number by number.

    Parameters
    ----------
    join
        The join.
    tables
        The whole of each stream, by the join's names.

    Returns
    -------
    list of tuple of int
        For each result the index of its row in each stream, in the join's order of streams;
        ascending.

    Raises
    ------
    SchemaError
        If a table or a column is missing, or has no type that could be joined in this way.

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
    >>> exact_join(join, {"a": a, "b": b})
    [(0, 0), (1, 0), (1, 1)]
    """
    check_tables(join, tables)
    units = units_per_second(join, tables)
    why = "times are numbers" if units is None else "times are timestamps"
    windows = [
        to_units(stream.window, units, f'window of stream "{name}"', why)
        for name, stream in join.streams.items()
    ]
    number = arithmetic(join, tables)
    if isinstance(join.on, Similar):
        number = usable_vector(join.on, join, tables)
    holds = _condition(join.on, tuple(join.streams), number)

    # Stream by stream, each combination so far is extended by each row. Once the windows or the
    # predicate fail for a combination, they fail for all its extensions: it is dropped at once.
    found: list[tuple[_Row, ...]] = [()]
    with localcontext(prec=_DIGITS):
        for name in join.streams:
            rows = _rows(join, name, tables[name], units, number)
            found = [
                members
                for known in found
                for members in ((*known, row) for row in rows)
                if _inside_windows(members, windows) and holds(members)
            ]
    return sorted(tuple(member.index for member in members) for members in found)


def _rows(
    join: Specification,
    name: str,
    table: pa.Table,
    units: int | None,
    number: Callable[[Any], Any],
) -> list[_Row]:
    """Return the rows of a stream that can join at all."""
    times = times_of(table[join.streams[name].time], units)
    columns = [values_of(table[column]) for column in join.on.columns_of(name)]
    rows = [
        _Row(index, time, tuple(number(value) for value in values))
        for index, (time, *values) in enumerate(zip(times, *columns, strict=True))
        if time is not None and None not in values
    ]
    return [row for row in rows if None not in row.values]


def _inside_windows(members: Sequence[_Row], windows: Sequence[int | float]) -> bool:
    newest = max(member.time for member in members)
    # Not strict: the streams that come later have no member yet.
    return all(
        newest - member.time <= window for member, window in zip(members, windows, strict=False)
    )


def _condition(
    predicate: Predicate, names: tuple[str, ...], number: Callable[[Any], Any]
) -> Callable[[Sequence[_Row]], bool]:
    """Return the predicate as a function of the rows of the first streams."""
    match predicate:
        case Equal():
            return lambda rows: all(row.values == rows[0].values for row in rows)
        case Within():
            distance = number(predicate.distance)
            return lambda rows: _spread([row.values[0] for row in rows]) <= distance
        case Band():
            low, high = number(predicate.low), number(predicate.high)
            return _chain(predicate, names, lambda x, y: low <= y - x <= high)
        case Compare():
            return _chain(predicate, names, _COMPARISONS[predicate.operator])
        case Similar():
            return lambda rows: all_near(predicate, [row.values[0] for row in rows])
    requirement = "an Equal, Within, Band, Compare or Similar"
    raise SchemaError(must("on", requirement, predicate, "exact_join knows no other predicate"))


def _spread(values: Sequence[Any]) -> Any:  # noqa: ANN401 -- of the kind that the values have
    return max(values) - min(values)


def _chain(
    predicate: Predicate, names: tuple[str, ...], related: Callable[[Any, Any], bool]
) -> Callable[[Sequence[_Row]], bool]:
    """Relate each stream to the next, in the predicate's order of streams."""
    links = [
        (names.index(left), names.index(right)) for left, right in pairwise(predicate.streams or ())
    ]
    return lambda rows: all(
        related(rows[left].values[0], rows[right].values[0])
        for left, right in links
        if max(left, right) < len(rows)
    )
