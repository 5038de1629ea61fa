"""The samples of a query's streams and tables, in one folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.capacity.sample_files import comparable_times, read_sample
from penstock.errors import SchemaError, SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["DataFolder", "read_folder"]


class DataFolder:
    """Samples by name, the time columns of those that are streams, and remarks on reading them."""

    def __init__(
        self, tables: dict[str, pa.Table], times: dict[str, str], remarks: list[str]
    ) -> None:
        self.tables, self.times, self.remarks = tables, times, remarks

    @property
    def stored(self) -> list[str]:
        """Names of those that are tables."""
        return [name for name in self.tables if name not in self.times]


def read_folder(text: str, folder: Path, times: Mapping[str, str]) -> DataFolder:
    """Read the files of a folder whose names are in a query.

    A name that ``[UNBOUNDED]`` follows is a stored table, any other is a stream.

    Parameters
    ----------
    text
        The query.
    folder
        Has a file, or a folder of Parquet files, for each stream and table: ``bids.parquet``.
    times
        Time columns of streams. A stream with one column of timestamps needs none.

    Raises
    ------
    SchemaError
        If there is no such folder, no file for any name, or no time column.
    """
    if not folder.is_dir():
        raise SchemaError(must("--data", "a folder", str(folder), "check the path"))
    words = set(re.findall(r"\w+", text))
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        name = file.name.split(".", maxsplit=1)[0]
        if name in words and not file.name.startswith("."):
            if name in files:
                hint = "leave one of them"
                raise SchemaError(
                    must(f'files of "{name}"', "one", [files[name].name, file.name], hint)
                )
            files[name] = file
    if not files:
        found = sorted(file.name for file in folder.iterdir())[:10]
        hint = "name files after the streams: bids.parquet"
        raise SchemaError(must("--data", "a folder with the query's streams", found, hint))
    unknown = [name for name in times if name not in files]
    if unknown:
        hint = f"the streams with files are {', '.join(files)}"
        raise SpecificationError(must("--time", "for streams of the query", unknown[0], hint))
    stored = _unbounded(text) & set(files)
    tables = {
        name: read_sample(name, str(file), times.get(name, "")) for name, file in files.items()
    }
    columns = {
        name: times.get(name) or _time_column(name, tables[name])
        for name in files
        if name not in stored
    }
    streams, remarks = comparable_times({name: tables[name] for name in columns}, columns)
    return DataFolder(tables | streams, columns, remarks)


def _unbounded(text: str) -> set[str]:
    """Return the names that [UNBOUNDED] follows, directly or after another name.

    >>> sorted(_unbounded("FROM bids b [NOW], people AS p [unbounded], sites [UNBOUNDED]"))
    ['people', 'sites']
    """
    pattern = r"(\w+)(?:\s+(?:AS\s+)?\w+)?\s*\[\s*UNBOUNDED\s*\]"
    return {found for found in re.findall(pattern, text, re.IGNORECASE) if found.upper() != "AS"}


def _time_column(name: str, table: pa.Table) -> str:
    found = [
        field.name
        for field in table.schema
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)
    ]
    if len(found) != 1:
        hint = f"write --time {name}=..., or [UNBOUNDED] in the query if it is a table"
        requirement = "the only column of timestamps"
        raise SchemaError(must(f'time column of "{name}"', requirement, found, hint))
    return str(found[0])
