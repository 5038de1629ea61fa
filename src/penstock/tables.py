"""What every join asks of its tables, whatever runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.spec import Specification

__all__ = ["UNITS_PER_SECOND", "check_tables", "units_per_second"]

UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units in a second, for each unit that an Arrow timestamp can have."""


def check_tables(join: Specification, tables: Mapping[str, pa.Table]) -> None:
    """Raise unless there is one table for each stream, with the columns that the join needs.

    Raises
    ------
    SchemaError
        If a table or a column is missing, or there twice.
    """
    if set(tables) != set(join.names):
        requirement = f"those of the streams {', '.join(join.names)}"
        raise SchemaError(must("tables", requirement, list(tables), "give one for each stream"))
    for name in join.names:
        if not isinstance(tables[name], pa.Table):
            hint = "put several together with pyarrow.concat_tables"
            kind = type(tables[name]).__name__
            raise SchemaError(must(f'table of stream "{name}"', "one table", kind, hint))
        known = tables[name].column_names
        for column in (join.streams[name].time, *join.on.columns_of(name)):
            if known.count(column) != 1:
                requirement = f"one of {', '.join(known)}, and only one"
                label = f'column of stream "{name}"'
                raise SchemaError(must(label, requirement, column, "correct the name"))


def units_per_second(join: Specification, tables: Mapping[str, pa.Table]) -> int | None:
    """Return the finest unit of the streams' timestamps; None if their times are numbers.

    Dates are timestamps in milliseconds; see `penstock.columns.at_midnight`.

    Raises
    ------
    SchemaError
        If a time column holds no times, or some are timestamps and others numbers.
    """
    units: set[int | None] = set()
    for name, stream in join.streams.items():
        kind = tables[name].schema.field(stream.time).type
        if pa.types.is_timestamp(kind):
            units.add(UNITS_PER_SECOND[kind.unit])
        elif pa.types.is_date(kind):
            units.add(UNITS_PER_SECOND["ms"])
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            units.add(None)
        else:
            label = f'time column "{stream.time}" of stream "{name}"'
            raise SchemaError(must(label, "a timestamp, a date or a number", str(kind), "cast it"))
    if None in units and len(units) > 1:
        requirement = "timestamps in all streams or numbers in all"
        raise SchemaError(must("time columns", requirement, "some of each", "cast one kind"))
    return max((unit for unit in units if unit is not None), default=None)
