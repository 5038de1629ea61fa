"""The demonstration without Spark: the same joins, replayed in process in the same parts."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.demo import scenario
from penstock.demo.streaming import SHARDS, Streamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from penstock.demo.streaming import Runner, Tell
    from penstock.join import Join

TIMES = {"auctions": "opened_at", "bids": "at"}
# 1 January 2026.
START = 1_767_225_600 * 10**6
HALF_DAY = 43_200 * 10**6


@contextmanager
def in_process(*, auctions: int, seed: int, rows_per_batch: int) -> Iterator[Runner]:
    """Stand in for `on_spark`; each micro-batch takes 2 seconds, the first one 20."""
    batches = cut(scenario.tables(auctions, seed), rows_per_batch)
    rows = [sum(map(len, tables)) for tables in zip(*batches.values(), strict=True)]

    def run(join: Join, tell: Tell) -> Streamed:
        for batch in range(len(rows)):
            tell(batch + 1, sum(rows[: batch + 1]))
        replay = join.replay(batches, shards=SHARDS)
        return Streamed(
            metrics=replay.metrics,
            counts=Counter(((micros(replay.result["time"]) - START) // HALF_DAY).tolist()),
            batch_rows=tuple(rows),
            batch_seconds=(20.0, *[2.0] * (len(rows) - 1)),
        )

    yield run


def cut(tables: dict[str, pa.Table], rows: int) -> dict[str, list[pa.Table]]:
    """Cut both streams after a number of rows of both together, as the source does."""
    times = {name: micros(table[TIMES[name]]) for name, table in tables.items()}
    merged = np.sort(np.concatenate(list(times.values())))
    ends = [*merged[rows - 1 : -1 : rows], merged[-1]]
    cuts = {name: [0, *np.searchsorted(each, ends, "right")] for name, each in times.items()}
    return {
        name: [table.slice(a, b - a) for a, b in zip(cuts[name], cuts[name][1:], strict=False)]
        for name, table in tables.items()
    }


def micros(times: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
    return numbers
