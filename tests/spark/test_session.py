"""The settings of a session that `session` starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.spark.session import LOG, _settings
from tests.spark.support import Source, make_sources, run, setting

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def test_a_task_is_tried_again(tmp_path: Path) -> None:
    # Under a plain local[2] a job fails with the first task that fails.
    assert _settings(2, "1g", None, tmp_path)["spark.master"] == "local[2,4]"


def test_the_log_is_where_the_user_wants_it(tmp_path: Path) -> None:
    assert _settings(2, "1g", None, tmp_path)[LOG] == str(tmp_path / "spark.log")
    assert _settings(2, "1g", "mine.log", tmp_path)[LOG] == "mine.log"


PARTITIONS = "spark.sql.shuffle.partitions"
EACH = ps.Stream(time="t", window=5)
JOIN = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("k"))


def stream(spark: SparkSession, folder: Path, shards: int | None = None) -> DataFrame:
    source = Source(folder, pa.schema([("t", pa.int64()), ("k", pa.int64())]))
    return JOIN.stream({name: source.read_stream(spark) for name in ("a", "b")}, shards)


@pytest.mark.spark
def test_far_more_partitions_than_cores_are_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    with setting(spark, PARTITIONS, "200"):
        with pytest.warns(UserWarning, match=PARTITIONS) as warned:
            stream(spark, tmp_path)
        assert spark.conf.get(PARTITIONS) == "200"  # the user's own setting is not changed
    (warning,) = warned
    assert str(warning.message) == (
        "setting spark.sql.shuffle.partitions of this session is 200, so the join has 200 shards, "
        "each with a part of the budget, and 2 cores have 200 tasks in every micro-batch, which "
        'takes long; write spark.conf.set("spark.sql.shuffle.partitions", "2") before the join (in '
        "a session of its own, spark.newSession(), if other queries need the setting), or go on "
        "with it if the query has a checkpoint: it keeps its number of partitions, which `penstock "
        "state repartition` changes"
    )
    assert warning.filename == __file__


@pytest.mark.spark
def test_partitions_that_stay_empty_are_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    with (
        setting(spark, PARTITIONS, "200"),
        pytest.warns(UserWarning, match=r'so 197 of them are empty.*partitions", "3"\)'),
    ):
        stream(spark, tmp_path, shards=3)


@pytest.mark.spark
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("partitions", "shards"), [("8", None), ("2", 200), ("200", 200)])
def test_a_sensible_number_is_not_warned_of(
    spark: SparkSession, tmp_path: Path, partitions: str, shards: int | None
) -> None:
    with setting(spark, PARTITIONS, partitions):
        stream(spark, tmp_path, shards)


@pytest.mark.spark
def test_the_users_number_is_kept_even_if_it_is_the_one_that_was_set_here(
    spark: SparkSession, tmp_path: Path
) -> None:
    own = spark.newSession()
    stream(own, tmp_path, shards=2)
    stream(own, tmp_path, shards=3)
    assert int(str(own.conf.get(PARTITIONS))) == 3  # what was set here follows the joins
    own.conf.set(PARTITIONS, "3")
    stream(own, tmp_path, shards=2)
    assert own.conf.get(PARTITIONS) == "3"
    own.conf.unset(PARTITIONS)
    stream(own, tmp_path, shards=2)
    assert int(str(own.conf.get(PARTITIONS))) == 2


@pytest.mark.spark
def test_a_join_runs_in_a_session_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """Also after one in another session, which stays the active one."""
    active = spark.getActiveSession()
    for each in (spark, spark.newSession(), spark):
        source = Source(tmp_path / "rows", pa.schema([("t", pa.int64()), ("k", pa.int64())]))
        joined = JOIN.stream({name: source.read_stream(each) for name in ("a", "b")}, shards=2)
        assert joined.sparkSession is each
        assert spark.getActiveSession() is active


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_runs_in_a_session_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"t": [1, 2, 3], "k": [7, 7, 8]})
    sources = make_sources(tmp_path, {"a": [table], "b": [table]})
    own = spark.newSession()
    joined = JOIN.stream({n: each.read_stream(own) for n, each in sources.items()}, shards=3)
    assert ps.progress(run(joined, tmp_path)).emitted == 5
    assert len(list((tmp_path / "checkpoint" / "state" / "0").glob("[0-9]*"))) == 3
