"""The samples of a query's streams and tables, in one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.capacity.sample_files import comparable_times, read_sample
from penstock.errors import SchemaError, SessionError, SpecificationError, must

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
    """Read the files of a folder that are named after the relations in a query's FROM.

    A relation with a window is a stream, and so is one with a time column in `times`. Others are
    stored tables.

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
    SpecificationError
        If the query is not one.
    """
    if not folder.is_dir():
        raise SchemaError(must("--data", "a folder", str(folder), "check the path"))
    relations = _relations_in(text)
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        name = file.name.split(".", maxsplit=1)[0]
        if name in relations and not file.name.startswith("."):
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
    stored = {name for name in files if not relations[name] and name not in times}
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


def _relations_in(text: str) -> dict[str, bool]:
    try:
        from penstock.planning.sql_statement import relations_in  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        message = f'a query in SQL needs {error.name}; pip install "penstock[sql]"'
        raise SessionError(message) from error
    return relations_in(text)


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
