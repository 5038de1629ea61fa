"""Whether the types of a query's columns fit its conditions and windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.columns import plain
from penstock.durations import to_units
from penstock.errors import SchemaError, must
from penstock.predicates import Equal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.planning.parsed import JoinCondition, Parsed, Source

__all__ = ["check_types"]


def check_types(
    parsed: Parsed, schemas: Mapping[str, pa.Schema], time_of: Callable[[str], str]
) -> None:
    """Raise if a plan of the query could not be run over columns of these types.

    Parameters
    ----------
    parsed
        The query.
    schemas
        Of streams and tables, by their own names, as far as they are known.
    time_of
        Returns the time column of a stream.

    Raises
    ------
    SchemaError
        With line and column.
    """
    _check_times(parsed, schemas, time_of)
    sources = {source.name: source for source in parsed.sources}
    for condition in parsed.conditions:
        ends = (condition.left, condition.right)
        kinds = [_type_of(schemas, sources[relation], column) for relation, column in ends]
        if kinds[0] is None or kinds[1] is None:
            continue
        of_streams = not any(sources[relation].is_table for relation, _ in ends)
        if isinstance(condition.predicate, Equal) and not of_streams:
            _check_family(condition, kinds[0], kinds[1])
            continue
        try:
            _check_as_a_join(condition, kinds[0], kinds[1])
        except SchemaError as error:
            why = ", which follows from others" if condition.follows else ""
            raise SchemaError(f'"{condition.text}"{why} at {condition.place}: {error}') from error


def _type_of(schemas: Mapping[str, pa.Schema], source: Source, column: str) -> pa.DataType | None:
    schema = schemas.get(source.origin)
    if schema is None or schema.names.count(column) != 1:
        return None
    return schema.field(column).type


def _check_times(
    parsed: Parsed, schemas: Mapping[str, pa.Schema], time_of: Callable[[str], str]
) -> None:
    """Check time columns against each other, and against the windows."""
    from penstock.engine.times import common_scale  # noqa: PLC0415  # engine: only with schemas

    columns = {}
    for source in parsed.sources:
        if source.is_table:
            continue
        time = time_of(source.origin)
        kind = _type_of(schemas, source, time)
        if kind is not None:
            columns[source.name] = (time, kind)
    if not columns:
        return
    scale = common_scale(columns)
    for source in parsed.sources:
        if source.name in columns and source.duration is not None:
            column, kind = columns[source.name]
            name = f'window of "{source.name}" at {source.place}'
            why = f'its time column "{column}" is {kind}'
            to_units(source.duration, scale.units_per_second, name, why)


def _check_as_a_join(condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> None:
    """Check what a join compares itself, or on its results."""
    # The engine is loaded only if there are types to be checked.
    from penstock.engine.keys import key_columns  # noqa: PLC0415
    from penstock.planning.residual import check_condition  # noqa: PLC0415

    if isinstance(condition.predicate, Equal):
        (one, x), (other, y) = condition.left, condition.right
        key_columns({one: [(x, left)], other: [(y, right)]})
    else:
        check_condition(condition, left, right)


def _check_family(condition: JoinCondition, left: pa.DataType, right: pa.DataType) -> None:
    """Check an equality with a table, which Spark tests: it brings numbers to a common type."""
    families = {_family(plain(left)), _family(plain(right))} - {"null"}
    if len(families) > 1:
        raise SchemaError(
            must(
                f'"{condition.text}" at {condition.place}',
                "a comparison of two columns of one kind",
                (str(left), str(right)),
                "cast one of the columns before the query",
            )
        )


def _family(kind: pa.DataType) -> str:
    """Return the kind of values that can be compared with each other."""
    types = pa.types
    families = {
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "bytes": (types.is_binary, types.is_large_binary, types.is_fixed_size_binary),
        "time": (types.is_timestamp, types.is_date),
    }
    for family, tests in families.items():
        if any(test(kind) for test in tests):
            return family
    return str(kind)
