from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.bench.files import MILLISECONDS_PER_ROW, SCHEMA, STREAMS, write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "files"
    write_files(folder, batches=3, rows=1_200, keys=40)
    return folder


def files(folder: Path, stream: str) -> list[pa.Table]:
    return [pq.read_table(file) for file in sorted((folder / stream).iterdir())]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_file_for_each_micro_batch_with_the_columns_that_spark_is_told(
    stream: str, folder: Path
) -> None:
    tables = files(folder, stream)
    assert [len(table) for table in tables] == [1_200] * 3
    assert [column.split()[0] for column in SCHEMA.split(", ")] == tables[0].schema.names
    types = [pa.timestamp("us", tz="UTC"), pa.int64(), pa.float64(), pa.string()]
    assert tables[0].schema.types == types


@pytest.mark.parametrize("stream", STREAMS)
def test_time_goes_on_from_file_to_file(stream: str, folder: Path) -> None:
    at = pa.concat_tables(files(folder, stream))["at"].cast(pa.int64()).to_numpy()
    assert (np.diff(at) == 1_000 * MILLISECONDS_PER_ROW).all()
    assert str(at[0]) == "1767225600000000"


@pytest.mark.parametrize("stream", STREAMS)
def test_files_change_in_order(stream: str, folder: Path) -> None:
    changed = [file.stat().st_mtime for file in sorted((folder / stream).iterdir())]
    assert changed == sorted(set(changed))


def test_keys_are_uniform_and_drawn_again_for_each_stream(folder: Path) -> None:
    left, right = (pa.concat_tables(files(folder, stream))["k"].to_numpy() for stream in STREAMS)
    assert (left != right).any()
    for keys in (left, right):
        counts = np.bincount(keys)
        assert len(counts) == 40
        # 90 of each; five standard deviations are 47.
        assert (abs(counts - 90) < 47).all()


def test_the_same_files_every_time(folder: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "again", batches=3, rows=1_200, keys=40)
    for stream in STREAMS:
        assert files(tmp_path / "again", stream) == files(folder, stream)


def test_a_text_for_every_row_beyond_a_thousand(folder: Path) -> None:
    texts = files(folder, "left")[0]["txt"].to_pylist()
    assert texts[7] == texts[1_007] == "row-007-text"
    assert len(set(texts)) == 1_000
