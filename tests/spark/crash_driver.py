"""The program that `test_crash` kills: joins over folders of micro-batches, into Parquet files.

    python -m tests.spark.crash_driver FOLDER JOIN ...

Started again with the same folder it resumes from its checkpoints, until all rows are joined. With
a file `HALT` in the folder it halts in the micro-batch whose results get to a time, until killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.engine.struct_column import as_struct
from penstock.spark import session
from penstock.testing import cut, market
from tests.spark import burst_streams
from tests.spark.support import Source, start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SHARDS = 2
RUNNING = "running"
"""File in the folder that exists as soon as all queries run."""
FILES = "files"
"""Folder with the micro-batches."""
DONE = "done"
"""File in each query's folder that exists once the query has ended."""
ROWS = "rows.parquet"
"""File in each query's folder with all rows that it has written; made at the end."""
HALT = "halt"
"""File in the folder with the time, in microseconds since 1970, at which queries are to halt."""
HALTED = "halted"
"""File in each query's folder that exists once the query has halted."""

_FOR_EVER = 3600.0
# Spark gives a new Python process ten seconds, which is not enough on a machine that is very busy.
_TOO_BUSY = "Python worker failed to connect back"

_STREAMS = {
    "auctions": ps.Stream(time="opened_at", window="7 days"),
    "bids": ps.Stream(time="at", window="1 hour"),
}
_ON = ps.Equal(auctions="id", bids="auction_id")
JOINS = {
    "exact": ps.Join(streams=_STREAMS, on=_ON),
    "random": ps.Join(
        streams=_STREAMS,
        on=_ON,
        goal=ps.MaxSubset(strategy="random"),
        budget=ps.Budget(rows=24),
        seed=5,
    ),
    # What was learned, and which model is followed, must survive as well.
    "learning": ps.Join(
        streams=_STREAMS,
        on=_ON,
        goal=ps.MaxSubset(parts=8, half_life=1),
        budget=ps.Budget(rows=24, monitor=0.25),
        seed=5,
    ),
    # A tenth of the work, or less, is allowed: the account, and what was decided, must survive.
    "work": ps.Join(
        streams=_STREAMS,
        on=_ON,
        budget=ps.Budget(cpu=0.5, costs=ps.Costs(insert=2_000.0, result=2_000.0), burst="1 day"),
        seed=5,
    ),
}


def make_batches(parts: int) -> dict[str, list[pa.Table]]:
    """Make each stream's micro-batches, always the same ones; the streams advance together."""
    site = market(auctions=10 * parts, bids_per_auction=6, seed=7)
    tables = {"auctions": site.auctions, "bids": site.bids}
    times = sorted(site.auctions["opened_at"].to_pylist() + site.bids["at"].to_pylist())
    at = [times[i * len(times) // parts] for i in range(1, parts)]
    batches = cut(JOINS["exact"], tables, at)
    return {name: [batch[name] for batch in batches] for name in tables}


def write_files(folder: Path, batches: dict[str, list[pa.Table]]) -> None:
    """Write a folder of files, each with a micro-batch of all streams.

    If Spark is killed between the log of its file source and that of the offsets, the source puts
    two files into the next micro-batch. Two sources would then be out of step, and which rows are
    evicted depends on that. With one source the streams advance together.
    """
    for parts in zip(*batches.values(), strict=True):
        rows = [
            pa.table({name: as_struct(part, pa.struct(list(part.schema)))})
            for name, part in zip(batches, parts, strict=True)
        ]
        table = pa.concat_tables(rows, promote_options="default")
        Source(folder / FILES, table.schema).add(table)


def halting(frame: DataFrame, folder: Path, microseconds: int, column: str = "time") -> DataFrame:
    """Stop for ever as soon as a row is at a time or after it: its micro-batch does not end.

    What comes before goes on, to the sink if these are results, so that a part of the micro-batch
    is written.
    """
    halted = str(folder / HALTED)

    def halt(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            latest = pc.max(batch[column].cast(pa.int64())).as_py()
            yield batch
            if latest is not None and latest >= microseconds:
                Path(halted).touch()
                time.sleep(_FOR_EVER)

    return frame.mapInArrow(halt, frame.schema)


def _start(spark: SparkSession, source: Source, folder: Path, until: int | None) -> StreamingQuery:
    """Start or resume the query whose join is named as its folder."""
    join = (JOINS | burst_streams.JOINS)[folder.name]
    files = source.read_stream(spark)
    frames = {name: files.where(f"{name} IS NOT NULL").select(f"{name}.*") for name in join.names}
    results = join.stream(frames, shards=SHARDS)
    return start(results if until is None else halting(results, folder, until), folder)


def main(folder: Path, joins: Sequence[str]) -> None:
    """Run joins at the same time, each in its own query, until all queries have ended."""
    halt = folder / HALT
    spark = session(
        # Tasks that halt keep their cores.
        cores=SHARDS * len(joins) if halt.exists() else 2,
        memory="1g",
        log=folder / "spark.log",
        settings={
            # Java does not know TMPDIR. What a killed process leaves must not pile up in /tmp.
            "spark.local.dir": str(folder / "scratch"),
            # Its second compiler costs more than it saves in half a minute.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
            f"-Djava.io.tmpdir={folder / 'scratch'}",
            # So that snapshots and the removal of old files are also interrupted.
            "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
            "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
            "spark.sql.streaming.minBatchesToRetain": "5",
        },
    )
    source = Source(folder / FILES, pq.read_schema(min((folder / FILES).glob("*.parquet"))))
    until = int(halt.read_text()) if halt.exists() else None
    queries = {kind: _start(spark, source, folder / kind, until) for kind in joins}
    (folder / RUNNING).touch()
    while queries:
        for kind, query in list(queries.items()):
            try:
                if not query.awaitTermination(timeout=1):
                    continue
            except StreamingQueryException as error:
                if _TOO_BUSY not in str(error):
                    raise
                queries[kind] = _start(spark, source, folder / kind, until)
                continue
            (folder / kind / DONE).touch()
            del queries[kind]
    for kind in joins:
        # Spark reads only the files that its log of the folder says were committed.
        rows = spark.read.parquet(str(folder / kind / "out")).toArrow()
        pq.write_table(rows, folder / kind / ROWS)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
