"""Samples of streams from files, with times that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["comparable_times", "read_sample"]

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def read_sample(stream: str, file: str) -> pa.Table:
    """Read a Parquet file, a folder of them, or a CSV file with names in its first line.

    Parameters
    ----------
    stream
        Name of the stream.
    file
        Path of the file or folder.

    Raises
    ------
    SchemaError
        If there is no such file, or its content does not fit its suffix.
    """
    place = Path(file)
    owner = f'file of stream "{stream}"'
    if not place.exists():
        raise SchemaError(must(owner, "there", file, "check the path"))
    name = place.name.lower()
    if not (place.is_dir() or name.endswith((*_PARQUET, *_CSV))):
        hint = "save the sample as one of these"
        kinds = "Parquet (.parquet, or a folder of such files) or CSV (.csv, .tsv)"
        raise SchemaError(must(owner, kinds, file, hint))
    try:
        if name.endswith(_CSV):
            tabs = pa.csv.ParseOptions(delimiter="\t" if ".tsv" in name else ",")
            return pa.csv.read_csv(place, parse_options=tabs)
        return pa.parquet.read_table(place)
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        kind = "CSV with names in its first line" if name.endswith(_CSV) else "Parquet"
        raise SchemaError(must(owner, f"{kind} ({why})", file, "save it again")) from error


def comparable_times(
    tables: Mapping[str, pa.Table], times: Mapping[str, str]
) -> dict[str, pa.Table]:
    """Return the tables with times of types that can be compared.

    Dates become midnight. Times without a zone are taken as UTC if another stream has a zone.

    Parameters
    ----------
    tables
        The sample of each stream.
    times
        The time column of each stream; the join itself reports one that is missing.

    Raises
    ------
    SchemaError
        If a time column holds neither times nor numbers.
    """
    kinds = {n: t.schema.field(times[n]).type for n, t in tables.items() if _has(t, times[n])}
    for name, kind in kinds.items():
        if not (_is_clock(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            hint = "write times as 2026-01-31 12:00:00 or as numbers, or name another column"
            owner = f'time column "{times[name]}" of stream "{name}"'
            if pa.types.is_null(kind):
                hint = "take a sample in which every stream has rows"
            raise SchemaError(must(owner, "timestamps or numbers", str(kind), hint))
    zones = [kind.tz for kind in kinds.values() if pa.types.is_timestamp(kind) and kind.tz]
    found = {}
    for name, table in tables.items():
        kind = kinds.get(name)
        found[name] = table
        if kind is not None and _is_clock(kind) and not getattr(kind, "tz", None):
            unit = kind.unit if pa.types.is_timestamp(kind) else "us"
            # The cast from no zone to UTC keeps the numbers.
            wanted = pa.timestamp(unit, "UTC") if zones else pa.timestamp(unit)
            index = table.schema.get_field_index(times[name])
            column = table.column(index).cast(pa.timestamp(unit)).cast(wanted)
            found[name] = table.set_column(index, times[name], column)
    return found


def _has(table: pa.Table, column: str) -> bool:
    names: list[str] = table.schema.names
    return names.count(column) == 1


def _is_clock(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
