"""`Join` and what its replay gives."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Callable

STREAMS = {
    "asks": ps.Stream(time="t", window=10),
    "bids": ps.Stream(time="t", window=5),
}
JOIN = ps.Join(streams=STREAMS, on=ps.Equal("id"), budget=ps.Budget(rows=8), seed=1)
ROWS = pa.table({"t": [1, 2, 3], "id": [1, 2, 1]})


# --- A join is a value


def test_a_join_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        JOIN.seed = 2  # type: ignore[misc]  # that it must not be set is what is tested
    with pytest.raises(TypeError):
        JOIN.streams["asks"] = STREAMS["bids"]  # type: ignore[index]  # as above


def test_a_join_does_not_follow_the_mapping_that_it_was_made_from() -> None:
    streams = dict(STREAMS)
    join = ps.Join(streams=streams, on=ps.Equal("id"))
    del streams["asks"]
    assert join.names == ("asks", "bids")


def test_equal_joins_are_one_key() -> None:
    same = ps.Join(streams=dict(STREAMS), on=ps.Equal("id"), budget=ps.Budget(rows=8), seed=1)
    assert {JOIN: "found"}[same] == "found"
    assert replace(JOIN, seed=2) != JOIN


def test_a_pickled_join_replays_the_same() -> None:
    again: ps.Join = pickle.loads(pickle.dumps(JOIN))  # noqa: S301 -- our own bytes
    tables = {"asks": ROWS, "bids": ROWS}
    assert again == JOIN
    assert again.replay(tables).metrics == JOIN.replay(tables).metrics


def test_a_replay_leaves_nothing_behind_in_the_join() -> None:
    tables = {"asks": ROWS, "bids": ROWS}
    once, again = JOIN.replay(tables), JOIN.replay(tables)
    assert once.metrics == again.metrics
    assert once.result.equals(again.result)


# --- What a replay gives


def test_a_result_holds_a_struct_for_each_stream_the_newest_time_and_the_weight() -> None:
    asks = pa.table({"t": [4, 1], "id": [1, 2], "price": ["a", None]})
    bids = pa.table({"id": [2], "t": [3]})
    result = JOIN.replay({"bids": bids, "asks": asks}).result
    assert result.column_names == ["asks", "bids", "time", "weight"]
    assert result.to_pylist() == [
        {
            "asks": {"t": 1, "id": 2, "price": None},
            "bids": {"id": 2, "t": 3},
            "time": 3,
            "weight": 1.0,
        }
    ]


def test_whole_rows_come_out_as_they_went_in() -> None:
    fields = [
        pa.field("t", pa.int32(), nullable=False),
        pa.field("id", pa.dictionary(pa.int8(), pa.string())),
        pa.field("tags", pa.list_(pa.string()), metadata={"unit": "none"}),
    ]
    words = pa.array(["x", "y"]).dictionary_encode().cast(fields[1].type)
    arrays = [pa.array([1, 2], pa.int32()), words, pa.array([["p"], None])]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"made": "here"}))
    result = JOIN.replay({"asks": [table.slice(0, 1), table.slice(1)], "bids": table}).result
    assert result.schema.field("asks").type == pa.struct(fields)
    for name in ("asks", "bids"):
        rows = pa.Table.from_struct_array(result[name].combine_chunks())
        assert canonical_rows(rows) == canonical_rows(table)


SECOND, MICRO, NANO = pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")


@pytest.mark.parametrize(
    ("asks", "bids", "expected"),
    [
        (pa.int64(), pa.int64(), pa.int64()),
        (pa.int8(), pa.uint32(), pa.int64()),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.float64(), pa.float64(), pa.float64()),
        (SECOND, pa.timestamp("ms"), MICRO),
        (MICRO, NANO, NANO),
        (pa.timestamp("s", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ns", "UTC"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
    ],
    ids=str,
)
def test_the_time_of_a_result_is_of_the_finest_of_the_streams_types(
    asks: pa.DataType, bids: pa.DataType, expected: pa.DataType
) -> None:
    clock = pa.types.is_timestamp(expected)
    each = ps.Stream(time="t", window="1 day" if clock else 9)
    join = ps.Join(streams={"asks": each, "bids": each}, on=ps.Equal("id"))
    tables = {
        name: pa.table({"t": pa.array([number]).cast(SECOND if clock else kind), "id": [1]})
        for name, kind, number in (("asks", asks, 1), ("bids", bids, 3))
    }
    for name, kind in (("asks", asks), ("bids", bids)):
        tables[name] = tables[name].set_column(0, "t", tables[name]["t"].cast(kind))
    time = join.replay(tables).result["time"].combine_chunks()
    assert time.type == expected
    assert time.equals(tables["bids"]["t"].combine_chunks().cast(expected))


def test_a_time_column_of_nulls_takes_the_type_of_the_others() -> None:
    each = ps.Stream(time="t", window="1 day")
    join = ps.Join(streams={"asks": each, "bids": each}, on=ps.Equal("id"))
    asks = pa.table({"t": pa.nulls(1), "id": [1]})
    bids = pa.table({"t": pa.array([3], NANO), "id": [1]})
    assert join.replay({"asks": asks, "bids": bids}).result.schema.field("time").type == NANO


def test_times_of_different_units_are_compared_exactly() -> None:
    each = ps.Stream(time="t", window="1 microsecond")
    join = ps.Join(streams={"asks": each, "bids": each}, on=ps.Equal("id"))
    asks = pa.table({"t": pa.array([1], SECOND), "id": [1]})
    for nanoseconds, emitted in ((10**9 + 1000, 1), (10**9 + 1001, 0)):
        bids = pa.table({"t": pa.array([nanoseconds], NANO), "id": [1]})
        assert join.replay({"asks": asks, "bids": bids}).metrics.emitted == emitted


def test_a_window_finer_than_its_time_reaches_as_far_as_whole_units_do() -> None:
    each = ps.Stream(time="t", window=2.9)
    join = ps.Join(streams={"asks": each, "bids": each}, on=ps.Equal("id"))
    rows = pa.table({"t": [0], "id": [1]})
    for time, emitted in ((2, 1), (3, 0)):
        bids = pa.table({"t": [time], "id": [1]})
        assert join.replay({"asks": rows, "bids": bids}).metrics.emitted == emitted


@pytest.mark.parametrize("join", [JOIN, replace(JOIN, budget=None)], ids=["budget", "exact"])
def test_every_weight_is_one(join: ps.Join) -> None:
    result = join.replay({"asks": ROWS, "bids": ROWS}).result
    assert set(result["weight"].to_pylist()) == {1.0}


def test_a_replay_is_frozen() -> None:
    done = JOIN.replay({"asks": ROWS, "bids": ROWS})
    with pytest.raises(FrozenInstanceError):
        done.result = ROWS  # type: ignore[misc]  # that it must not be set is what is tested
    with pytest.raises(FrozenInstanceError):
        done.metrics.emitted = 0  # type: ignore[misc]  # as above


@pytest.mark.parametrize("sequence", [list, tuple])
def test_micro_batches_may_be_of_different_number(sequence: type[list[pa.Table]]) -> None:
    parts = sequence([ROWS.slice(0, 1), ROWS.slice(1)])
    whole = JOIN.replay({"asks": ROWS, "bids": ROWS})
    cut = JOIN.replay({"asks": parts, "bids": ROWS})
    assert canonical_rows(cut.result) == canonical_rows(whole.result)


@pytest.mark.parametrize("shards", [1, 2])
def test_metrics_are_told_after_every_micro_batch(shards: int) -> None:
    tables = {"asks": [ROWS.slice(0, 1), ROWS.slice(1, 1), ROWS.slice(2)], "bids": [ROWS]}
    told: list[ps.Metrics] = []
    replay = JOIN.replay(tables, shards, callback=told.append)
    assert [metrics.streams["asks"].arrived for metrics in told] == [1, 2, 3]
    assert told[-1] == replay.metrics
    assert replay.result == JOIN.replay(tables, shards).result


def test_chunks_and_slices_of_a_table_make_no_difference() -> None:
    chunked = pa.concat_tables([ROWS.slice(2), ROWS.slice(0, 2)])
    padded = pa.concat_tables([ROWS, ROWS]).combine_chunks().slice(3)
    whole = JOIN.replay({"asks": ROWS, "bids": ROWS})
    for table in (chunked, padded):
        result = JOIN.replay({"asks": table, "bids": table}).result
        assert canonical_rows(result) == canonical_rows(whole.result)


# --- What a replay refuses


def refusal(*args: object, **settings: object) -> str:
    replay: Callable[..., object] = JOIN.replay  # open to what a type checker would refuse
    with pytest.raises(ps.PenstockError) as caught:
        replay(*args, **settings)
    return str(caught.value)


def test_a_missing_table_is_named() -> None:
    words = refusal({"asks": ROWS})
    assert 'stream "bids" must be given a table; got tables for "asks"' in words


def test_a_table_of_no_stream_is_named_and_recognised() -> None:
    words = refusal({"asks": ROWS, "bids": ROWS, "bid": ROWS})
    assert '"bid" must be a stream of the join; its streams are "asks", "bids"' in words
    assert 'did you mean "bids"?' in words


@pytest.mark.parametrize("wrong", [{"t": [1]}, None, "table", ROWS.to_batches()[0]])
def test_what_is_no_table_is_refused_with_its_stream(wrong: object) -> None:
    for given in (wrong, [ROWS, wrong]):
        words = refusal({"asks": ROWS, "bids": given})
        assert 'table of stream "bids" must be a pyarrow.Table, or a list of them' in words
        assert f"got '{type(wrong).__name__}'" in words


@pytest.mark.parametrize("wrong", [[ROWS, ROWS], ROWS, None], ids=["list", "table", "None"])
def test_tables_without_names_are_refused(wrong: object) -> None:
    assert "tables" in refusal(wrong)


def test_micro_batches_of_different_schemas_are_refused_with_their_stream() -> None:
    words = refusal(
        {
            "asks": ROWS,
            "bids": [ROWS, ROWS.cast(pa.schema([("t", pa.float64()), ("id", pa.int64())]))],
        }
    )
    assert 'tables of stream "bids" must have one schema' in words
    assert "t: int64" in words
    assert "t: double" in words


def test_no_micro_batch_at_all_is_refused_with_its_stream() -> None:
    words = refusal({"asks": ROWS, "bids": []})
    assert 'tables of stream "bids" must not be empty; got an empty list' in words
    assert "pass a table without rows" in words


@pytest.mark.parametrize("shards", [0, -1, True, "2", 1.5, None], ids=repr)
def test_a_number_of_shards_that_is_none_is_refused(shards: object) -> None:
    words = refusal({"asks": ROWS, "bids": ROWS}, shards=shards)
    assert f"shards must be a whole number of 1 or more; got {shards!r}" in words


PAYLOADS = {
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 3, pa.binary(16))),
    "string_view": pa.array(["a", None, "b"], pa.string_view()),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]),
    "list_view": pa.array([[1], None, []], pa.list_view(pa.int64())),
}


@pytest.mark.parametrize("kind", PAYLOADS)
def test_a_column_of_a_rare_type_is_carried_or_refused_in_words(kind: str) -> None:
    asks = ROWS.append_column("note", PAYLOADS[kind])
    try:
        result = JOIN.replay({"asks": asks, "bids": ROWS}).result
    except ps.SchemaError as error:
        assert 'column "note" of stream "asks"' in str(error)  # noqa: PT017 -- either is right
    else:
        assert result.schema.field("asks").type.field("note").type == PAYLOADS[kind].type
        assert result.num_rows == 5
