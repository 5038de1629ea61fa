"""The program that `test_change_crash` kills: a join whose budget is another at each start.

    python -m tests.spark.change_driver FOLDER ROWS HALT

It writes each micro-batch into a folder of its number, and halts after writing number HALT, before
Spark has committed it, until it is killed. Before it halts or ends it writes the most rows that
were held since its start into the file `MOST`; before it starts, the rows that each shard of the
checkpoint has into the file `SAVED`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.spark import session
from penstock.spark.checkpoint import read_checkpoint
from tests.spark.support import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHARDS = 2
WINDOW = 60
HALTED = "halted"
"""File in the folder that exists once the program has halted."""
MOST, SAVED = "most.json", "saved.json"
_FOR_EVER = 3600.0
# Spark gives a new Python process ten seconds, which is not enough on a machine that is very busy.
_TOO_BUSY = "Python worker failed to connect back"


def join_of(rows: int | None) -> ps.Join:
    """Return the join with a budget of so many rows."""
    return ps.Join(
        streams={name: ps.Stream(time="t", window=WINDOW) for name in ("a", "b")},
        on=ps.Equal("k"),
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def batches() -> dict[str, list[pa.Table]]:
    """Return eight micro-batches of both streams."""
    draw = np.random.default_rng(11)

    def table(start: int) -> pa.Table:
        key = np.minimum(draw.geometric(0.2, 40), 14)
        return pa.table({"t": np.sort(draw.integers(start, start + 40, 40)), "k": key})

    return {name: [table(40 * i) for i in range(8)] for name in ("a", "b")}


def main(folder: Path, rows: int, halt: int) -> None:
    """Join all files; resume if there is a checkpoint."""
    spark = session(cores=2, memory="1g", log=folder / "spark.log")
    schema = batches()["a"][0].schema
    frames = {name: Source(folder / name, schema).read_stream(spark) for name in ("a", "b")}

    place = folder / "checkpoint"
    if place.exists():
        (saved,) = read_checkpoint(spark, str(place)).joins
        held = {each.shard: sum(s.rows for s in each.streams.values()) for each in saved.shards}
        (folder / SAVED).write_text(json.dumps(held))

    def tell_most() -> None:
        (folder / MOST).write_text(json.dumps(ps.progress(query).held_most))

    def write(frame: DataFrame, number: int) -> None:
        frame.write.mode("overwrite").parquet(str(folder / "out" / f"{number}"))
        if number == halt:
            tell_most()
            (folder / HALTED).touch()
            time.sleep(_FOR_EVER)

    joined = join_of(rows).stream(frames, shards=SHARDS)
    writer = joined.writeStream.foreachBatch(write).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(place))
    while True:
        query = writer.start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if _TOO_BUSY not in str(error):
                raise
        else:
            break
    tell_most()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
