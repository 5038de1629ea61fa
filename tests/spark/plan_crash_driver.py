"""The program that `test_plan_crash` kills: a chain of two joins over folders of micro-batches.

    python -m tests.spark.plan_crash_driver FOLDER

Started again with the same folder it resumes from its checkpoint, until all rows are joined. With
a file `HALT` in the folder it halts in one micro-batch, until killed: the file has the name of a
stream, or "results", and a time in microseconds since 1970.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

from penstock.spark import session
from tests.spark.crash_driver import HALT, halting
from tests.spark.plan_streams import ROWS, TIMES, plan_of
from tests.spark.support import Source, run

CHAIN = "p ⋈ ((a ⋈ select(b)) ⋈ c)"
SHARDS = 2
WRITTEN = "rows.parquet"
"""File in the folder with all rows that were written; made at the end."""

# Spark gives a new Python process ten seconds, which is not enough on a machine that is very busy.
_TOO_BUSY = "Python worker failed to connect back"


def main(folder: Path) -> None:
    """Run the plan until all files are read."""
    halt = folder / HALT
    where, until = halt.read_text().split() if halt.exists() else ("", "0")
    spark = session(
        # Tasks that halt keep their cores.
        cores=4 if where else 2,
        memory="1g",
        log=folder / "spark.log",
        settings={
            "spark.local.dir": str(folder / "scratch"),
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
            f"-Djava.io.tmpdir={folder / 'scratch'}",
        },
    )
    frames = {name: Source(folder / name, ROWS[name].schema).read_stream(spark) for name in TIMES}
    if where in frames:
        frames[where] = halting(frames[where], folder, int(until), TIMES[where])
    frames["categories"] = spark.createDataFrame(ROWS["categories"].to_pandas())
    results = plan_of(CHAIN).stream(frames, shards=SHARDS, time="time")
    if where == "results":
        results = halting(results, folder, int(until))
    while True:
        try:
            run(results, folder)
            break
        except StreamingQueryException as error:
            if _TOO_BUSY not in str(error):
                raise
    # Spark reads only the files that its log of the folder says were committed.
    pq.write_table(spark.read.parquet(str(folder / "out")).toArrow(), folder / WRITTEN)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
