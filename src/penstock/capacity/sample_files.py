"""Samples of streams from files, with times that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from penstock.engine.times import TIME_TYPES, is_time
from penstock.errors import SchemaError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["comparable_times", "read_sample"]

_COMPRESSED = (".gz", ".bz2", ".zst")
_KINDS = {
    "Parquet": (".parquet", ".pq"),
    "CSV with names in its first line": (".csv", ".tsv"),
    "JSON lines, one object in each": (".jsonl", ".ndjson", ".json"),
}
_PARQUET, _CSV, _JSON = _KINDS
# A block of JSON has a size of 32 bits; types are inferred from the first one.
_LARGEST_BLOCK = 2**31 - 2


def read_sample(stream: str, file: str, time: str) -> pa.Table:
    """Read Parquet (a file or a folder of them), CSV with names in its first line, or JSON lines.

    CSV and JSON may be compressed. JSON has no timestamps: a column of times that is text is read
    as such if all of it is (ISO 8601).

    Parameters
    ----------
    stream
        Name of the stream.
    file
        Path of the file or folder.
    time
        Column that holds the times.

    Raises
    ------
    SchemaError
        If there is no such file, or its content does not fit its suffix.
    """
    place = Path(file)
    owner = f'file of stream "{stream}"'
    if not place.exists():
        raise SchemaError(must(owner, "there", file, "check the path"))
    kind = _PARQUET if place.is_dir() else _kind_of(place)
    if kind is None:
        hint = "save the sample as one of these"
        kinds = (
            "Parquet (.parquet, or a folder of such files), CSV (.csv, .tsv) or JSON lines (.jsonl)"
        )
        raise SchemaError(must(owner, kinds, file, hint))
    try:
        if kind == _CSV:
            tabs = pa.csv.ParseOptions(delimiter="\t" if ".tsv" in place.name.lower() else ",")
            return pa.csv.read_csv(place, parse_options=tabs)
        if kind == _JSON:
            return _with_timestamps(_read_json(place), time)
        return pa.parquet.read_table(place)
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise SchemaError(must(owner, f"{kind} ({why})", file, "save it again")) from error


def _kind_of(place: Path) -> str | None:
    """Return the kind of a file by its suffix; None if it is not known."""
    name = place.name.lower()
    is_compressed = name.endswith(_COMPRESSED)
    if is_compressed:
        name = name[: name.rindex(".")]
    for kind, suffixes in _KINDS.items():
        if name.endswith(suffixes) and not (is_compressed and kind == _PARQUET):
            return kind
    return None


def _read_json(place: Path) -> pa.Table:
    with pa.input_stream(str(place)) as source:
        lines = source.read()
    if not lines.strip():
        raise pa.ArrowInvalid("Empty JSON file")
    # One block: else a number that is whole in the first block could not be a fraction later.
    options = pa.json.ReadOptions(block_size=min(len(lines) + 1, _LARGEST_BLOCK))
    return pa.json.read_json(pa.BufferReader(lines), read_options=options)


def _with_timestamps(table: pa.Table, time: str) -> pa.Table:
    """Return a table with its times as timestamps, if they are text that can be read as such."""
    if not _has(table, time) or not pa.types.is_string(table.schema.field(time).type):
        return table
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            column = table.column(time).cast(kind)
        except pa.ArrowInvalid:
            continue
        return table.set_column(table.schema.get_field_index(time), time, column)
    return table


def comparable_times(
    tables: Mapping[str, pa.Table], times: Mapping[str, str]
) -> tuple[dict[str, pa.Table], list[str]]:
    """Return the tables with times that can be compared, and remarks on what that took.

    A file cannot always say that its times have a zone. So times without one are taken as UTC if
    another stream has a zone. The join itself refuses such a mixture, and a remark says so.

    Parameters
    ----------
    tables
        The sample of each stream.
    times
        The time column of each stream; the join itself reports one that is missing.

    Raises
    ------
    SchemaError
        If a time column holds no times.
    """
    kinds = {n: t.schema.field(times[n]).type for n, t in tables.items() if _has(t, times[n])}
    for name, kind in kinds.items():
        if not is_time(kind) or pa.types.is_null(kind):
            hint = "write times as 2026-01-31 12:00:00 or as numbers, or name another column"
            owner = f'time column "{times[name]}" of stream "{name}"'
            if pa.types.is_null(kind):
                hint = "take a sample in which every stream has rows"
            raise SchemaError(must(owner, TIME_TYPES, str(kind), hint))
    found = dict(tables)
    remarks: list[str] = []
    if not any(getattr(kind, "tz", None) for kind in kinds.values()):
        return found, remarks
    for name, kind in kinds.items():
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)) or getattr(kind, "tz", None):
            continue
        unit = kind.unit if pa.types.is_timestamp(kind) else "us"
        table = tables[name]
        index = table.schema.get_field_index(times[name])
        # The cast from no zone to UTC keeps the numbers.
        column = table.column(index).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, "UTC"))
        found[name] = table.set_column(index, times[name], column)
        remarks.append(
            f'The times of "{name}" have no time zone and are taken as UTC. The join does not mix '
            f"times with and without a zone: cast them before it."
        )
    return found, remarks


def _has(table: pa.Table, column: str) -> bool:
    names: list[str] = table.schema.names
    return names.count(column) == 1
