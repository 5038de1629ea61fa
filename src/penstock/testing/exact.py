"""The exact join by its definition, in plain Python: slow, but easy to see that it is right."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.durations import to_units
from penstock.errors import SchemaError, must
from penstock.predicates import Band, Compare, Equal, Predicate, Similar, Within
from penstock.tables import check_tables, units_per_second
from penstock.testing._columns import arithmetic, times_of, values_of
from penstock.testing._vectors import all_near, usable_vector
from penstock.windows import Rows

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


_Place: TypeAlias = "tuple[int | float, int, int]"  # time, stream, number in its stream


@dataclass(frozen=True, slots=True)
class _Row:
    index: int
    place: _Place
    values: tuple[Any, ...]

    @property
    def time(self) -> int | float:
        return self.place[0]


def exact_join(join: Specification, tables: Mapping[str, pa.Table]) -> list[tuple[int, ...]]:
    """Find all combinations of rows that join, by checking each of them.

    Rows join if the predicate holds and each of them is in its own stream's window at the time of
    the newest: newest - time <= window. This is the whole definition. It does not depend on the
    order of the rows, so nothing is ever late or too far ahead, and the join's goal, budget,
    `lateness` and `max_ahead` are ignored.

    In a window of rows, ``Rows(n)``, is a row if fewer than n rows of its stream have come after it
    up to the last row of the result. Rows with a time count, whether or not they can match. They
    come in order of time; of the same time in the order of the join's streams; and those of one
    stream in the order of its table. (The join itself takes the latter by a hash of what is in
    them, so give only tables whose order decides nothing, or that are in the join's order.)

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
        stream.window
        if isinstance(stream.window, Rows)
        else to_units(stream.window or 0, units, f'window of stream "{name}"', why)
        for name, stream in join.streams.items()
    ]
    places = [
        _places(s, times_of(tables[name][stream.time], units))
        for s, (name, stream) in enumerate(join.streams.items())
    ]
    number = arithmetic(join, tables)
    if isinstance(join.on, Similar):
        number = usable_vector(join.on, join, tables)
    holds = _condition(join.on, tuple(join.streams), number)

    # Stream by stream, each combination so far is extended by each row. Once the windows or the
    # predicate fail for a combination, they fail for all its extensions: it is dropped at once.
    found: list[tuple[_Row, ...]] = [()]
    with localcontext(prec=_DIGITS):
        for s, name in enumerate(join.streams):
            rows = _rows(join, name, tables[name], places[s], number)
            found = [
                members
                for known in found
                for members in ((*known, row) for row in rows)
                if _inside_windows(members, windows, places) and holds(members)
            ]
    return sorted(tuple(member.index for member in members) for members in found)


def _places(s: int, times: Sequence[int | float | None]) -> list[_Place | None]:
    """Return where each row of a stream comes; None if it has no time."""
    order = sorted((time, index) for index, time in enumerate(times) if time is not None)
    places: list[_Place | None] = [None] * len(times)
    for number, (time, index) in enumerate(order):
        places[index] = time, s, number
    return places


def _rows(
    join: Specification,
    name: str,
    table: pa.Table,
    places: Sequence[_Place | None],
    number: Callable[[Any], Any],
) -> list[_Row]:
    """Return the rows of a stream that can join at all."""
    columns = [values_of(table[column]) for column in join.on.columns_of(name)]
    rows = [
        _Row(index, place, tuple(number(value) for value in values))
        for index, (place, *values) in enumerate(zip(places, *columns, strict=True))
        if place is not None and None not in values
    ]
    return [row for row in rows if None not in row.values]


def _inside_windows(
    members: Sequence[_Row],
    windows: Sequence[int | float | Rows],
    places: Sequence[Sequence[_Place | None]],
) -> bool:
    newest = max(member.place for member in members)
    # Not strict: the streams that come later have no member yet.
    return all(
        _rows_since(member.place, newest, of_stream) < window.number
        if isinstance(window, Rows)
        else newest[0] - member.time <= window
        for member, window, of_stream in zip(members, windows, places, strict=False)
    )


def _rows_since(place: _Place, newest: _Place, of_stream: Sequence[_Place | None]) -> int:
    """Count the rows of a stream that came after one, up to another."""
    return sum(each is not None and place < each <= newest for each in of_stream)


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
