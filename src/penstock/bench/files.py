"""What is joined: Parquet files, one for each stream and micro-batch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = ("left", "right")
SCHEMA = "at TIMESTAMP, k BIGINT, v DOUBLE, txt STRING"

MILLISECONDS_PER_ROW = 10
_START = 1_767_225_600_000_000  # 2026-01-01, in microseconds
_TEXTS = 1_000


def write_files(folder: Path, *, batches: int, rows: int, keys: int) -> None:
    """Write both streams: a row every 10 ms, with a uniform key, a number and a text."""
    texts = pa.array([f"row-{number:03}-text" for number in range(_TEXTS)])
    for stream in STREAMS:
        (folder / stream).mkdir(parents=True)
        generator = np.random.default_rng(STREAMS.index(stream))
        for batch in range(batches):
            at = _START + 1_000 * MILLISECONDS_PER_ROW * np.arange(batch * rows, (batch + 1) * rows)
            table = pa.table(
                {
                    "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
                    "k": generator.integers(keys, size=rows),
                    "v": generator.random(rows),
                    "txt": texts.take(pa.array(np.arange(rows) % _TEXTS)),
                }
            )
            file = folder / stream / f"{batch:04}.parquet"
            pq.write_table(table, file)
            # Spark reads files in the order of their modification times.
            os.utime(file, (1_700_000_000 + batch,) * 2)
