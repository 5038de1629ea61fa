"""Restarts with something changed: refused with a clear message, and no state is changed."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException

import penstock as ps
from penstock.engine import sealing
from penstock.errors import StateError
from penstock.spark import cause, stream
from penstock.spark.processor import JoinProcessor
from tests.spark.support import Source, Stopped, run_and_stop, setting, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("other", pa.int64()), ("x", pa.int32())])
SETTINGS: dict[str, Any] = {
    "streams": {n: ps.Stream(time="t", window=100) for n in ("a", "b")},
    "on": ps.Equal("k"),
    "goal": ps.MaxSubset(strategy="random"),
    "budget": ps.Budget(rows=40),
    "seed": 3,
}
JOIN = ps.Join(**SETTINGS)
PARTITIONS = "spark.sql.shuffle.partitions"


def make_batches() -> dict[str, list[pa.Table]]:
    """Make three micro-batches, the last of which joins rows of all of them."""

    def rows(first: int, step: int) -> pa.Table:
        t = range(first, first + 30)
        k = [i % 10 for i in t]
        other = [i * step % 7 for i in t]
        return pa.table({"t": t, "k": k, "other": other, "x": range(30)}).cast(SCHEMA)

    return {"a": [rows(i, 1) for i in (0, 30, 60)], "b": [rows(i, 2) for i in (0, 30, 60)]}


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    made = run_and_stop(spark, JOIN, make_batches(), folder, before=2)
    assert len(made.after) > len(made.before) + 20
    return made


def refusal(spark: SparkSession, copied: Stopped, folder: Path, **changed: Any) -> str:  # noqa: ANN401
    """Restart with something changed; return the message of Penstock's error."""
    query = copied.resume(spark, folder, **changed)
    error = cause(query.exception())
    assert isinstance(error, StateError), query.exception()
    assert copied.rows(spark, folder) == copied.before
    return str(error)


def assert_goes_on(spark: SparkSession, copied: Stopped, folder: Path) -> None:
    """Restart with nothing changed: the query goes on as if it had never stopped."""
    query = copied.resume(spark, folder)
    assert query.exception() is None
    assert copied.rows(spark, folder) == copied.after


CHANGES: dict[str, dict[str, Any]] = {
    "window": {"streams": SETTINGS["streams"] | {"a": ps.Stream(time="t", window=99)}},
    "lateness": {
        "streams": SETTINGS["streams"] | {"b": ps.Stream(time="t", window=100, lateness=1)}
    },
    "predicate": {"on": ps.Equal("other")},
    "seed": {"seed": 4},
}


# Slow, because Spark tries a failed task again, in a new worker. tests/engine/test_state_errors.py
# checks all messages, and is fast.
@pytest.mark.parametrize(
    "kinds",
    [tuple(CHANGES)],
)
def test_another_join_is_refused(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    stopped.copy(tmp_path)
    for kind in kinds:
        ((name, new),) = CHANGES[kind].items()
        join = ps.Join(**SETTINGS | CHANGES[kind])
        assert refusal(spark, stopped, tmp_path, join=join) == (
            f"{name} must be what the saved state was made with: {SETTINGS[name]!r}; got {new!r}; "
            "give it back, or start without the saved state"
        )
    assert_goes_on(spark, stopped, tmp_path)


def test_streams_in_another_order_are_refused(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    streams = dict(reversed(SETTINGS["streams"].items()))
    join = ps.Join(**SETTINGS | {"streams": streams})
    # Spark may notice before Penstock does: each source finds other files in its place.
    assert stopped.resume(spark, tmp_path, join=join).exception() is not None
    assert stopped.rows(spark, tmp_path) == stopped.before
    assert_goes_on(spark, stopped, tmp_path)


def assert_shards_refused(message: str, old: int, new: int) -> None:
    assert message == (
        f"shards must be what the saved state was made with: {old}; got {new}; use {old} shards, "
        "or start without the saved state"
    )


# At the start, with no row read, and whether or not rows will come.


@pytest.mark.parametrize("rows", ["no rows", "no rows yet"])
def test_another_join_is_refused_before_there_are_rows(
    spark: SparkSession, tmp_path: Path, rows: str
) -> None:
    """With an empty checkpoint, or one of which all rows are done: no micro-batch is to come."""
    batches = make_batches()
    before = 0 if rows == "no rows yet" else 3
    sources = {name: Source(tmp_path / name, SCHEMA) for name in batches}
    for name, tables in batches.items():
        for table in tables[:before]:
            sources[name].add(table)

    def query(join: ps.Join, shards: int) -> StreamingQuery:
        frames = {name: source.read_stream(spark) for name, source in sources.items()}
        started = start(join.stream(frames, shards=shards), tmp_path)
        with suppress(StreamingQueryException):
            started.awaitTermination()
        return started

    assert query(JOIN, 2).exception() is None
    for kind in ("predicate", "seed"):
        ((name, new),) = CHANGES[kind].items()
        assert str(cause(query(ps.Join(**SETTINGS | CHANGES[kind]), 2).exception())) == (
            f"{name} must be what the saved state was made with: {SETTINGS[name]!r}; got {new!r}; "
            "give it back, or start without the saved state"
        )
    assert_shards_refused(str(cause(query(JOIN, 1).exception())), 2, 1)
    # And nothing was changed.
    for name, tables in batches.items():
        for table in tables[before:]:
            sources[name].add(table)
    last = query(JOIN, 2)
    assert last.exception() is None
    assert ps.progress(last).emitted == JOIN.replay(batches, shards=2, ended=False).metrics.emitted


COLUMNS = {
    "one less": SCHEMA.remove(3),
    "another type": SCHEMA.set(3, pa.field("x", pa.int64())),
    "another order": pa.schema([SCHEMA.field(name) for name in ("k", "t", "other", "x")]),
}


@pytest.mark.parametrize(
    "kinds",
    [tuple(COLUMNS)],
)
def test_other_columns_are_refused(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    stopped.copy(tmp_path)
    for kind in kinds:
        assert refusal(spark, stopped, tmp_path, schemas={"b": COLUMNS[kind]}) == (
            'columns of stream "b" must be what the saved state was made with:\n'
            f"{SCHEMA}\ngot:\n{COLUMNS[kind]}\ngive them back (columns may be added, but not left "
            "out, moved or made of another type), or start without the saved state"
        )
    assert_goes_on(spark, stopped, tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [(2, (3,)), (2, (1,))],
)
def test_another_number_of_shards_is_refused(
    spark: SparkSession,
    stopped: Stopped,
    tmp_path: Path,
    old: int,
    new: tuple[int, ...],
) -> None:
    if old != stopped.shards:
        folder = tmp_path / "stopped"
        stopped = run_and_stop(spark, JOIN, make_batches(), folder, shards=old, before=2)
    stopped.copy(tmp_path)
    for shards in new:
        assert_shards_refused(refusal(spark, stopped, tmp_path, shards=shards), old, shards)
    assert_goes_on(spark, stopped, tmp_path)


@pytest.mark.parametrize("partitions", ["5"])
def test_another_number_of_partitions_changes_nothing_if_shards_are_given(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, partitions: str
) -> None:
    stopped.copy(tmp_path)
    with setting(spark, PARTITIONS, partitions):
        assert_goes_on(spark, stopped, tmp_path)


@pytest.mark.slow
def test_another_number_of_partitions_is_refused_if_it_gives_the_shards(
    spark: SparkSession, tmp_path: Path
) -> None:
    with setting(spark, PARTITIONS, "2"):
        stopped = run_and_stop(
            spark, JOIN, make_batches(), tmp_path / "stopped", shards=None, before=2
        )
    stopped.copy(tmp_path)
    with setting(spark, PARTITIONS, "7"):
        assert_shards_refused(refusal(spark, stopped, tmp_path), 2, 7)
    with setting(spark, PARTITIONS, "2"):
        assert_goes_on(spark, stopped, tmp_path)


# Another version of Penstock.


class OlderProcessor(JoinProcessor):
    """Writes and reads the format of the version before."""

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, N803
    ) -> Iterator[pd.DataFrame]:
        newer, sealing.FORMAT = sealing.FORMAT, sealing.FORMAT - 1
        try:
            yield from super().handleInputRows(key, rows, timerValues)
        finally:
            sealing.FORMAT = newer


def test_the_state_of_another_version_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(this)  # type: ignore[no-untyped-call]  # workers cannot import the tests
    try:
        with monkeypatch.context() as patch:
            patch.setattr(stream, "JoinProcessor", OlderProcessor)
            folder = tmp_path / "stopped"
            stopped = run_and_stop(spark, JOIN, make_batches(), folder, before=2)
        stopped.copy(tmp_path)
        assert refusal(spark, stopped, tmp_path) == (
            f'chunk "head" of the saved state must be of format {sealing.FORMAT}; got format '
            f"{sealing.FORMAT - 1}; run the version of Penstock that wrote it, or start without it"
        )
        with monkeypatch.context() as patch:
            patch.setattr(stream, "JoinProcessor", OlderProcessor)
            assert_goes_on(spark, stopped, tmp_path)
    finally:
        cloudpickle.unregister_pickle_by_value(this)  # type: ignore[no-untyped-call]
