"""The checkpoint of a workload: shown, checked, and divided into other partitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli import main
from penstock.engine.division_state import DIVISION
from penstock.spark.checkpoint import looked_at, read_checkpoint
from penstock.spark.joint_chunks import join_and_chunk, joint_name
from penstock.spark.repartitioning import repartition_checkpoint
from penstock.testing import canonical_rows
from tests.spark.damage import flip_byte
from tests.spark.support import in_parts, make_sources, run
from tests.spark.test_change import files_in
from tests.spark.test_workload import make_tables, make_workload
from tests.workload.restarting import Restarted

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
def test_it_is_shown_and_checked_and_divided_again(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batches, work = in_parts(make_tables(), 4), make_workload()
    sources = make_sources(tmp_path, {name: parts[:3] for name, parts in batches.items()})
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    run(work.stream(frames, shards=2), tmp_path)
    place = tmp_path / "checkpoint"
    before = files_in(place)
    first = {name: parts[:3] for name, parts in batches.items()}
    replayed = work.replay(first, shards=2, ended=False).metrics
    saved = read_checkpoint(spark, str(place))
    assert saved.damaged == ()
    assert [join.name for join in saved.joins] == sorted(work.joins)
    for join in saved.joins:
        assert [each.shard for each in join.shards] == [0, 1]
        held = sum(stream.rows for shard in join.shards for stream in shard.streams.values())
        assert held == sum(each.held for each in replayed[join.name].streams.values())
        assert replayed.allotment[join.name] == sum(
            each.amounts["memory"][join.name] for each in saved.divisions
        )
    assert [each.shard for each in saved.divisions] == [0, 1]
    assert any(each.times > 0 for each in saved.divisions)
    for command, words in (
        ("show", "Division of the workload's budget"),
        ("check", "division of the budget: 2 shards, all intact"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["state", command, str(place)])
        assert not end.value.code
        said = capsys.readouterr().out
        assert words in said
        assert all(f'oin "{name}"' in said for name in work.joins)
    assert files_in(place) == before

    moved = repartition_checkpoint(spark, str(place), 1)
    assert (moved.before, moved.after) == (2, 1)
    assert read_checkpoint(spark, str(place)).divisions == saved.divisions
    for name, parts in batches.items():
        sources[name].add(parts[3])
    run(make_workload().stream(frames, shards=2), tmp_path)
    expected = work.replay(batches, shards=2, ended=False)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    kinds = pa.unify_schemas([pq.read_schema(each) for each in files])
    written = pa.concat_tables([pq.read_table(each).cast(kinds) for each in files])
    frame = spark.createDataFrame(written)
    for name, result in expected.results.items():
        own = work.select(frame, name).toArrow().cast(result.schema)
        assert canonical_rows(own) == canonical_rows(result)


def found_in(chunks: dict[str, bytes]) -> dict[str | None, list[str]]:
    """Return what is damaged, by join; that of the division by None."""
    return {join: json.loads(found)["damaged"] for join, found in looked_at(chunks)}


def test_what_is_damaged_is_named_with_its_join() -> None:
    work, tables = make_workload(), make_tables()
    restarted = Restarted(list(work.joins))
    restarted.run(work, {name: table.slice(0, 300) for name, table in tables.items()})
    chunks = {
        joint_name(join, name): data
        for join, own in restarted.chunks.items()
        for name, data in own.items()
    }
    assert restarted.division is not None
    chunks[DIVISION] = restarted.division
    intact: dict[str | None, list[str]] = {join: [] for join in [*work.joins, None]}
    assert found_in(chunks) == intact
    for name, data in chunks.items():
        join = None if name == DIVISION else join_and_chunk(name)[0]
        for damaged in (
            chunks | {name: flip_byte(data, len(data) // 2)},
            {each: own for each, own in chunks.items() if each != name},
        ):
            found = found_in(damaged)
            assert {each for each, words in found.items() if words} == {join}
            (words,) = found[join]
            assert words.startswith(f'chunk "{name.rpartition(f"{join}/")[2]}" of the saved state')
    gone = {name: data for name, data in chunks.items() if not name.startswith("4/paid/")}
    (missing,) = found_in(gone)["paid"]
    assert missing.startswith('chunk "head" of the saved state must be there')
    (strange,) = found_in(chunks | {"no join's": b""})[None]
    assert strange == 'chunk "no join\'s" of the saved state must be of a join; it is of none'
