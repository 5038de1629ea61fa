"""A workload on Spark: one query, the rows and counts of `replay`, also after a restart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import SchemaError, SpecificationError
from penstock.spark import cause
from penstock.spark.joint_definition import JointDefinition
from penstock.spark.joint_packing import JointPacker
from penstock.testing import canonical_rows
from tests.spark.support import Rows, Source, counts, in_parts, make_sources, run
from tests.workload.streams import WINDOW, in_time
from tests.workload.test_cpu import COSTS, DURATION, two, wanted
from tests.workload.test_replay import alone, in_hindsight, load_moves, recalls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 900
NAMES = ("orders", "payments", "shipments")


def make_tables() -> dict[str, pa.Table]:
    """Make three streams of a quarter of an hour; shipments match late, payments soon."""
    draw = np.random.default_rng(3)
    at = np.sort(draw.uniform(0, 900, ROWS))
    tables = {}
    for name, after in zip(NAMES, (0, 10, 100), strict=True):
        moments = at + draw.uniform(0, 1 + after, ROWS)
        order = np.argsort(moments)
        times = (1_700_000_000 * 10**6 + (moments[order] * 1e6)).astype(np.int64)
        tables[name] = pa.table(
            {
                "at": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "order": order,
                "customer": draw.integers(0, 40, ROWS)[order],
                "note": [f"{name} {place}" for place in order],
            }
        )
    return tables


def join_of(one: str, other: str, column: str, window: str) -> ps.Join:
    streams = {name: ps.Stream(time="at", window=window) for name in (one, other)}
    return ps.Join(streams=streams, on=ps.Equal(column), seed=1)


def make_workload(rows: int = 120) -> ps.Workload:
    return ps.Workload(
        {
            "paid": join_of("orders", "payments", "order", "2 minutes"),
            "sent": join_of("orders", "shipments", "order", "2 minutes"),
            "known": join_of("payments", "shipments", "customer", "1 minute"),
        },
        budget=ps.Budget(rows=rows),
        weights={"paid": 1.5},
    )


def rows_of(work: ps.Workload, frame: DataFrame, name: str, schema: pa.Schema) -> Rows:
    return canonical_rows(work.select(frame, name).toArrow().cast(schema))


def test_the_rows_of_replay_also_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    batches = in_parts(make_tables(), 4)
    first = {name: parts[:2] for name, parts in batches.items()}
    work = make_workload()
    expected = work.replay(batches, shards=2, ended=False)
    sources = make_sources(tmp_path, first)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    run(work.stream(frames, shards=2), tmp_path)
    for name, parts in batches.items():
        for part in parts[2:]:
            sources[name].add(part)
    # A new definition has nothing in the cache: all is restored from the checkpoint.
    query = run(make_workload().stream(frames, shards=2), tmp_path)
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.count() == expected.metrics.emitted
    for name, result in expected.results.items():
        assert rows_of(work, written, name, result.schema) == canonical_rows(result)
    metrics = work.progress(query)
    for name in work.joins:
        assert counts(metrics[name]) == counts(expected.metrics[name])
    assert metrics.allotment == expected.metrics.allotment
    assert len(set(metrics.allotment.values())) > 1  # it was divided again
    assert sum(metrics.allotment.values()) == 120
    # Without new rows the metrics are read from the checkpoint.
    idle = run(make_workload().stream(frames, shards=2), tmp_path)
    assert work.progress(idle).allotment == metrics.allotment
    other = ps.Workload(
        {**work.joins, "sent": join_of(*NAMES[::2], "order", "3 minutes")}, work.budget
    )
    with pytest.raises(Exception, match="sent") as raised:
        run(other.stream(frames, shards=2), tmp_path)
    assert 'join "sent": streams must be what the saved state was made with' in str(
        cause(raised.value)
    )


def test_another_budget_goes_on_with_the_windows(spark: SparkSession, tmp_path: Path) -> None:
    batches = in_parts(make_tables(), 3)
    sources = make_sources(tmp_path, {name: parts[:1] for name, parts in batches.items()})
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    for number, rows in enumerate((120, 60, 240)):
        if number:
            for name, parts in batches.items():
                sources[name].add(parts[number])
        work = make_workload(rows)
        metrics = work.progress(run(work.stream(frames, shards=2), tmp_path))
        assert sum(metrics.allotment.values()) == rows
        held = [each.held for join in work.joins for each in metrics[join].streams.values()]
        assert 0 < sum(held) <= rows
    exact = make_workload().joins["known"]  # without a budget
    tables = {name: pa.concat_tables(batches[name]) for name in exact.names}
    result = exact.replay(tables).result
    written = spark.read.parquet(str(tmp_path / "out"))
    found = rows_of(make_workload(), written, "known", result.schema)
    assert 0 < len(found) < result.num_rows
    assert set(found) <= set(canonical_rows(result))


def test_a_batch_has_the_rows_of_replay(spark: SparkSession, tmp_path: Path) -> None:
    tables, work = make_tables(), make_workload()
    sources = make_sources(tmp_path, {name: [table] for name, table in tables.items()})
    frame = work.batch({name: each.read(spark) for name, each in sources.items()}, shards=2)
    assert frame.columns == ["join", "time", *work.joins]
    frame = frame.cache()
    expected = work.replay(tables, shards=2)
    for name, result in expected.results.items():
        assert rows_of(work, frame, name, result.schema) == canonical_rows(result)
    assert work.select(frame, "paid").columns == ["orders", "payments", "time", "weight"]
    with pytest.raises(SpecificationError, match=r"that of a join .*; got 'payed'; did you mean"):
        work.select(frame, "payed")


@pytest.mark.slow
def test_streams_that_drift_have_the_rows_of_replay_and_their_least_recall(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Load moves half-way: near the best fixed division in hindsight, and far above equal parts."""
    joins, tables = load_moves(16)
    rows = 900
    work = ps.Workload(joins, budget=ps.Budget(rows=rows))
    batches = in_time(tables, 4, 16 * WINDOW)
    expected = work.replay(batches, shards=2, ended=False)
    sources = make_sources(tmp_path, batches)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    query = run(work.stream(frames, shards=2), tmp_path)
    written = spark.read.parquet(str(tmp_path / "out"))
    found = {}
    for name, result in expected.results.items():
        found[name] = work.select(written, name).toArrow().cast(result.schema)
        assert canonical_rows(found[name]) == canonical_rows(result)
    allotted = work.progress(query).allotment
    assert allotted == expected.metrics.allotment
    assert allotted["a"] > 1.3 * allotted["b"]  # the load has moved to the first
    least = min(recalls(joins, tables, found).values())
    best, equally = in_hindsight(joins, tables, rows)  # in one shard, where it is no less
    assert least >= 0.97 * best
    assert least >= 1.3 * equally


@pytest.mark.slow
def test_a_core_is_divided_as_in_replay(spark: SparkSession, tmp_path: Path) -> None:
    joins, tables = two()
    budget = ps.Budget(cpu=0.3 * wanted(joins, tables), costs=COSTS)
    work = ps.Workload(joins, budget=budget)
    batches = in_time(tables, 3, DURATION)
    expected = work.replay(batches, shards=2, ended=False)
    sources = make_sources(tmp_path, batches)
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    metrics = work.progress(run(work.stream(frames, shards=2), tmp_path))
    written = spark.read.parquet(str(tmp_path / "out"))
    for name, result in expected.results.items():
        assert rows_of(work, written, name, result.schema) == canonical_rows(result)
        assert 0 < result.num_rows < alone(joins[name], tables).result.num_rows
    assert metrics.work_allotted == pytest.approx(expected.metrics.work_allotted)
    assert metrics.work_allotted["many"] > 2 * metrics.work_allotted["few"]


@pytest.mark.slow
def test_restarts_with_other_weights_intervals_and_strategies(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The windows go on: results are of the exact joins, and more than the rest alone has."""
    batches = in_parts(make_tables(), 4)
    first = make_workload()
    fifo = {
        name: replace(join, goal=ps.MaxSubset(strategy="fifo"))
        for name, join in first.joins.items()
    }
    changes = (
        first,
        replace(first, weights={"sent": 3.0}),
        replace(first, objective="total", every="30 seconds"),
        replace(first, joins=fifo),
    )
    sources = {name: Source(tmp_path / name, parts[0].schema) for name, parts in batches.items()}
    frames = {name: source.read_stream(spark) for name, source in sources.items()}
    emitted = [0]
    for number, work in enumerate(changes):
        for name, parts in batches.items():
            sources[name].add(parts[number])
        metrics = work.progress(run(work.stream(frames, shards=2), tmp_path))
        assert sum(metrics.allotment.values()) == 120
        emitted.append(metrics.emitted)
    assert emitted == sorted(emitted)
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.count() == emitted[-1]
    alone_last = changes[-1].replay({n: parts[-1:] for n, parts in batches.items()}, shards=2)
    assert emitted[-1] - emitted[-2] > alone_last.metrics.emitted
    for name, join in first.joins.items():
        exact = join.replay({n: pa.concat_tables(batches[n]) for n in join.names}).result
        found = rows_of(first, written, name, exact.schema)
        assert Counter(found) <= Counter(canonical_rows(exact))


def test_a_stream_is_packed_once_for_joins_on_the_same_columns() -> None:
    tables, work = make_tables(), make_workload()
    definition = JointDefinition(
        work.specification, {name: table.schema for name, table in tables.items()}
    )
    packed = {}
    for name, table in tables.items():
        parts = JointPacker(definition, name, 2)(iter(table.to_batches()))
        packed[name] = [row for part in parts for row in part.to_pylist()]
    with_rows = {
        name: sum(row["rows"] is not None for row in rows) for name, rows in packed.items()
    }
    # Two shards; orders go by one key, and the others by two.
    assert with_rows == {"orders": 2, "payments": 4, "shipments": 4}


def test_frames_that_do_not_fit_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    sources = make_sources(tmp_path, {name: [table] for name, table in make_tables().items()})
    frames = {name: each.read(spark) for name, each in sources.items()}
    with pytest.raises(SchemaError, match='given for stream "shipments"'):
        make_workload().batch({name: frames[name] for name in NAMES[:2]})
    with pytest.raises(SpecificationError, match="budget of the workload over 64 shards"):
        make_workload(rows=200).batch(frames, shards=64)
