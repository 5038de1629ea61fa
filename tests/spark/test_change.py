"""Restarts from a checkpoint with something changed that may change."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.cli import main
from penstock.errors import SessionError, StateError
from penstock.spark import repartitioning
from penstock.spark.checkpoint import read_checkpoint
from penstock.spark.folders import Folders
from penstock.spark.repartitioning import repartition_checkpoint
from penstock.testing import canonical_rows
from tests.spark.support import (
    Source,
    Stopped,
    counts,
    rows_written,
    run,
    run_and_stop,
    setting,
)
from tests.spark.test_restart import JOIN, PARTITIONS, SCHEMA, SETTINGS, make_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXACT = ps.Join(**SETTINGS | {"budget": None})


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    return run_and_stop(spark, JOIN, make_batches(), tmp_path_factory.mktemp("change"), before=2)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


CHANGES: dict[str, dict[str, Any]] = {
    "half": {"budget": ps.Budget(rows=20)},
    "more": {"budget": ps.Budget(rows=160), "goal": ps.MaxSubset()},
    "memory": {"budget": ps.Budget(memory="8kB")},
}


def test_another_budget_or_strategy_goes_on(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    """Change after change from copies of one checkpoint: results are those of the exact join."""
    exact = Counter(canonical_rows(EXACT.replay(make_batches(), ended=False).result))
    for name, changed in CHANGES.items():
        folder = tmp_path / name
        folder.mkdir()
        stopped.copy(folder)
        join = ps.Join(**SETTINGS | changed)
        query = stopped.resume(spark, folder, join=join)
        assert query.exception() is None, name
        rows = Counter(stopped.rows(spark, folder))
        assert Counter(stopped.before) <= rows <= exact
        assert rows.total() > len(stopped.before)
        metrics = ps.progress(query)
        assert metrics.arrived == 180
        assert metrics.emitted == rows.total()
        if join.budget is not None and join.budget.rows is not None:
            assert metrics.held_most <= join.budget.rows
    # And once more, without a change, with nothing to do.
    again = ps.Join(**SETTINGS | CHANGES["half"])
    assert stopped.resume(spark, tmp_path / "half", join=again).exception() is None


def test_an_added_column_is_null_in_earlier_rows(
    spark: SparkSession, stopped: Stopped, tmp_path: Path
) -> None:
    stopped.copy(tmp_path)
    wider = SCHEMA.append(pa.field("y", pa.string()))
    query = stopped.resume(spark, tmp_path, schemas={"b": wider})
    assert query.exception() is None, query.exception()
    exact = Counter(canonical_rows(EXACT.replay(make_batches(), ended=False).result))
    rows = Counter(stopped.rows(spark, tmp_path))
    # Which rows are lost is by lot, and lots are drawn from what rows hold.
    assert Counter(stopped.before) < rows <= exact
    schema = stopped.schema.set(
        stopped.schema.get_field_index("b"), pa.field("b", pa.struct(list(wider)))
    )
    written = rows_written(spark, tmp_path, schema)
    assert len(written) == rows.total()
    assert all("y: None" in row[1] for row in written)


def test_a_checkpoint_is_shown_and_checked_and_not_changed(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped.copy(tmp_path)
    place = tmp_path / "checkpoint"
    before = files_in(place)
    (join,) = read_checkpoint(spark, str(place)).joins
    assert join.damaged == ()
    assert [(each.shard, each.shards) for each in join.shards] == [(0, 2), (1, 2)]
    held = sum(stream.rows for shard in join.shards for stream in shard.streams.values())
    first = {name: tables[:2] for name, tables in make_batches().items()}
    replayed = JOIN.replay(first, shards=2, ended=False).metrics
    assert held == sum(each.held for each in replayed.streams.values())
    assert join.shards[0].join["budget"] == repr(JOIN.budget)
    assert all(0 <= (s.age or 0) <= 100 for each in join.shards for s in each.streams.values())
    for command, words in (("show", "kept by"), ("check", "all intact")):
        with pytest.raises(SystemExit) as end:
            main(["state", command, str(place)])
        assert not end.value.code
        assert words in capsys.readouterr().out
    assert files_in(place) == before


def test_what_is_no_checkpoint_is_said_so(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="CHECKPOINT must be a folder that is there; got"):
        read_checkpoint(spark, str(tmp_path / "nowhere"))
    with pytest.raises(StateError, match="CHECKPOINT must be a checkpoint of a streaming query"):
        read_checkpoint(spark, str(tmp_path))
    counted = spark.readStream.format("rate").load().groupBy("value").count()
    query = (
        counted.writeStream.format("memory")
        .queryName("counted")
        .outputMode("complete")
        .option("checkpointLocation", str(tmp_path / "other"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    with pytest.raises(StateError, match=r"must be that of a query with a join; .* it has: state"):
        read_checkpoint(spark, str(tmp_path / "other"))


@pytest.mark.slow
@pytest.mark.parametrize("join", [JOIN, EXACT], ids=["budget", "exact"])
def test_partitions_change_and_rows_do_not(
    spark: SparkSession, tmp_path: Path, join: ps.Join
) -> None:
    """From 2 to 16 and back, with rows before, between and after: those of one undisturbed run."""
    batches = make_batches()
    expected = join.replay(batches, shards=16, ended=False)
    sources = {name: Source(tmp_path / name, SCHEMA) for name in batches}
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    place = tmp_path / "checkpoint"

    def run_on(number: int) -> ps.Metrics:
        for name, tables in batches.items():
            sources[name].add(tables[number])
        return ps.progress(run(join.stream(frames, shards=16), tmp_path))

    def partitions() -> int:
        (saved,) = read_checkpoint(spark, str(place)).joins
        assert saved.damaged == ()
        assert [each.shard for each in saved.shards] == list(range(16))
        return saved.partitions

    with setting(spark, PARTITIONS, "2"):
        first = run_on(0)
        assert partitions() == 2
        moved = repartition_checkpoint(spark, str(place), 16)
        assert (moved.before, moved.after) == (2, 16)
        between = run_on(1)
        assert partitions() == 16  # also after a micro-batch
        back = repartition_checkpoint(spark, str(place), 2)
        assert (back.before, back.after) == (16, 2)
        last = run_on(2)
        assert partitions() == 2
    assert 0 < first.emitted < between.emitted < last.emitted
    assert counts(last) == counts(expected.metrics)
    # Not through the log of Spark's file sink, in which the micro-batches of the moves are missing.
    kind = expected.result.schema
    files = sorted((tmp_path / "out").glob("*.parquet"))
    written = pa.concat_tables([pq.read_table(each).cast(kind) for each in files])
    assert canonical_rows(written) == canonical_rows(expected.result)
    if join.budget is not None:
        assert expected.metrics.emitted < EXACT.replay(batches, ended=False).metrics.emitted

    with pytest.raises(StateError, match="partitions must be other than the 2 there are; got 2"):
        repartition_checkpoint(spark, str(place), 2)
    with pytest.raises(StateError, match=r"with-2-partitions, .* must be free"):
        repartition_checkpoint(spark, str(place), 16)


class Failing:
    """In place of Spark's own: begins to change a checkpoint, and fails."""

    def __init__(self, change: Callable[[Path], object]) -> None:
        self._change = change

    def repartition(self, place: str, partitions: int) -> None:
        self._change(Path(place))
        raise StateError(f"no {partitions} partitions")


def test_what_fails_half_way_is_put_back(
    spark: SparkSession, stopped: Stopped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped.copy(tmp_path)
    place, copy = tmp_path / "checkpoint", tmp_path / "checkpoint.with-2-partitions"
    before = files_in(place)
    failing = Failing(lambda folder: shutil.rmtree(folder / "state"))
    monkeypatch.setattr(repartitioning, "_manager", lambda _: failing)
    with pytest.raises(StateError, match="no 4 partitions; the checkpoint is as it was before"):
        repartition_checkpoint(spark, str(place), 4)
    assert files_in(place) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["checkpoint", "out"]
    # And if it cannot be put back, nothing more is removed, and the error says what to do.
    failing = Failing(lambda folder: (tmp_path / "checkpoint.failed").mkdir())
    with pytest.raises(StateError, match=r"which was not done; .*; rename .* to .* yourself"):
        repartition_checkpoint(spark, str(place), 4)
    assert files_in(copy) == before
    assert place.exists()


def test_folders_say_what_was_not_done(spark: SparkSession, tmp_path: Path) -> None:
    folders = Folders(spark)
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "one").write_text("1")
    file.write_text("2")
    with pytest.raises(StateError, match=r"folder must be copied to .*; what is there may be"):
        folders.copy(str(folder), str(file / "below"))
    with pytest.raises(StateError, match="nowhere must be removed; the file system has not done"):
        folders.remove(str(tmp_path / "nowhere"))
    with pytest.raises(StateError, match=r"folder must be renamed to .*file; the file system has"):
        folders.rename(str(folder), str(file))
    with pytest.raises(StateError, match="nowhere must be renamed to"):
        folders.rename(str(tmp_path / "nowhere"), str(tmp_path / "other"))
    assert (folder / "one").read_text() == "1"
    assert file.read_text() == "2"


def test_a_spark_that_cannot_divide_again_is_said_so() -> None:
    with pytest.raises(SessionError, match=r"Spark must be 4.2 or later, .*; got '4.1.0'"):
        repartitioning._manager(cast("SparkSession", SimpleNamespace(version="4.1.0")))
