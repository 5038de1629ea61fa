from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.engine.store import ROW_OVERHEAD
from penstock.errors import SchemaError, SpecificationError
from penstock.testing import canonical_rows, expected_rows

STREAM = ps.Stream(time="t", window=5)
TABLE = pa.table({"t": [1, 2, 3], "k": [1, 2, 1]})


def make_join(budget: ps.Budget | None = None) -> ps.Join:
    return ps.Join(streams={"a": STREAM, "b": STREAM}, on=ps.Equal("k"), budget=budget)


def test_a_list_of_tables_is_as_many_micro_batches() -> None:
    whole = make_join().replay({"a": TABLE, "b": TABLE})
    parts = [TABLE.slice(i, 1) for i in range(3)]
    in_parts = make_join().replay({"a": parts, "b": (TABLE,)})
    assert sorted(map(str, in_parts.result.to_pylist())) == sorted(
        map(str, whole.result.to_pylist())
    )
    assert in_parts.metrics.arrived == 6
    assert in_parts.result.schema == whole.result.schema


def test_a_row_older_than_what_came_in_an_earlier_batch_is_late() -> None:
    parts = [TABLE.slice(2, 1), TABLE.slice(0, 1)]
    metrics = make_join().replay({"a": parts, "b": TABLE}).metrics
    assert (metrics.streams["a"].late, metrics.emitted) == (1, 2)


def test_tables_are_not_changed() -> None:
    before = TABLE.to_pylist()
    make_join(ps.Budget(rows=2)).replay({"a": TABLE, "b": TABLE}, shards=1)
    assert TABLE.to_pylist() == before


def test_nothing_joined_gives_a_table_without_rows() -> None:
    result = make_join().replay({"a": TABLE, "b": TABLE.slice(0, 0)}).result
    assert result.num_rows == 0
    assert result.schema.names == ["a", "b", "time", "weight"]


@pytest.mark.parametrize("given", [None, TABLE.to_pydict(), [TABLE, TABLE.to_pandas]])
def test_what_is_not_a_table_is_refused(given: Any) -> None:  # noqa: ANN401 -- anything at all
    with pytest.raises(
        SchemaError, match=r'table of stream "b" must be a pyarrow.Table, or a list'
    ):
        make_join().replay({"a": TABLE, "b": given})


def test_tables_of_different_schemas_are_refused() -> None:
    other = TABLE.set_column(1, "k", pa.array([1, 2, 3], pa.int32()))
    with pytest.raises(SchemaError, match='tables of stream "b" must have one schema; got'):
        make_join().replay({"a": TABLE, "b": [TABLE, other]})


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        make_join().replay({"a": TABLE, "b": []})
    assert str(caught.value) == (
        'tables of stream "b" must not be empty; got an empty list; pass a table without rows, so '
        "that its columns are known"
    )


@pytest.mark.parametrize("shards", [0, -1, True, 1.5, "2"])
def test_shards_must_be_a_whole_number(shards: Any) -> None:  # noqa: ANN401 -- anything at all
    with pytest.raises(SpecificationError) as caught:
        make_join().replay({"a": TABLE, "b": TABLE}, shards=shards)
    assert str(caught.value) == (
        f"shards must be a whole number of 1 or more; got {shards!r}; leave it out for one shard"
    )


def test_a_budget_must_have_a_row_for_each_stream_and_shard() -> None:
    with pytest.raises(SpecificationError) as caught:
        make_join(ps.Budget(rows=7)).replay({"a": TABLE, "b": TABLE}, shards=4)
    assert str(caught.value) == (
        "rows of the budget over 4 shards must be at least 8: one for each stream and shard; got "
        "7; raise it, or use fewer shards"
    )
    with pytest.raises(SpecificationError, match="memory of the budget over 2 shards must be at"):
        make_join(ps.Budget(memory=100)).replay({"a": TABLE, "b": TABLE}, shards=2)


def test_a_budget_in_bytes_follows_the_size_of_the_rows() -> None:
    tables = {
        size: pa.table({"t": range(200), "k": range(200), "text": ["x" * size] * 200})
        for size in (10, 1000)
    }
    join = ps.Join(
        streams=dict.fromkeys("ab", ps.Stream(time="t", window=10**6)),
        on=ps.Equal("k"),
        budget=ps.Budget(memory="20kB"),
    )
    for size, table in tables.items():
        metrics = join.replay({"a": table, "b": table}).metrics
        words = -(-(ROW_OVERHEAD + 9 + 9 + 5 + size) // 8)  # bytes are counted in words of 8
        assert metrics.budget_rows == 20_000 // 8 // words
        assert metrics.held_most == metrics.budget_rows
        assert metrics.bytes_most <= 20_000


def test_a_budget_in_bytes_is_kept_when_rows_without_a_key_lower_the_limit() -> None:
    join = ps.Join(
        streams=dict.fromkeys("ab", ps.Stream(time="t", window=10**6)),
        on=ps.Equal("k"),
        budget=ps.Budget(memory="20kB"),
    )
    small = pa.table({"t": range(200), "k": range(200), "text": ["x"] * 200})
    nulls = pa.nulls(100, pa.int64())
    large = pa.table({"t": range(200, 300), "k": nulls, "text": ["x" * 5000] * 100})
    metrics = join.replay({"a": [small, large], "b": [small, large]}).metrics
    assert metrics.budget_rows is not None
    assert sum(stream.held for stream in metrics.streams.values()) <= metrics.budget_rows


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_are_times(kind: pa.DataType) -> None:
    """Against the definition of the join: a date is its midnight."""
    days = pa.array([20_000, 20_001, None, 20_003], pa.int32()).cast(pa.date32())
    noon = pa.array([20_001, 20_002, 20_003, 20_004], pa.int32()).cast(pa.date32())
    noon = pc.add(noon.cast(pa.timestamp("s")), pa.scalar(43_200, pa.duration("s")))
    tables = {
        "asks": pa.table({"t": days.cast(kind), "id": [1, 1, 1, 1]}),
        "bids": pa.table({"t": noon, "id": [1, 1, 1, 1]}),
    }
    each = ps.Stream(time="t", window="36 hours")
    join = ps.Join(streams={"asks": each, "bids": each}, on=ps.Equal("id"))
    done = join.replay(tables)
    assert canonical_rows(done.result) == expected_rows(join, tables)
    assert done.result.num_rows == 7
    assert done.result.schema.field("time").type == pa.timestamp("us")
    assert done.metrics.streams["asks"].bad_times == 1
