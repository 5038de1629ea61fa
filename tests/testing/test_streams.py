from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock.errors import SpecificationError
from penstock.predicates import Equal
from penstock.spec import Specification, Stream
from penstock.testing import cut, cut_rows, market

JOIN = Specification(
    streams={"a": Stream(time="t", window=1), "b": Stream(time="t", window=1)}, on=Equal("t")
)


def test_rows_at_a_boundary_come_after_it() -> None:
    tables = {"a": pa.table({"t": [0, 2, 4]}), "b": pa.table({"t": [1.5, 2.0, 2.5]})}
    batches = cut(JOIN, tables, at=[2, 2.5])
    assert [batch["a"]["t"].to_pylist() for batch in batches] == [[0], [2], [4]]
    assert [batch["b"]["t"].to_pylist() for batch in batches] == [[1.5], [2.0], [2.5]]


def test_rows_keep_their_order_and_those_without_time_come_last() -> None:
    table = pa.table({"t": [5.0, None, 1.0, float("nan"), 0.0, 6.0], "n": range(6)})
    first, second = cut(JOIN, {"a": table, "b": table}, at=[3.0])
    assert first["a"]["n"].to_pylist() == [2, 4]
    assert second["a"]["n"].to_pylist() == [0, 1, 3, 5]


def test_no_boundary_gives_one_batch_and_two_at_one_place_an_empty_one() -> None:
    table = pa.table({"t": [1, 2]})
    tables = {"a": table, "b": table}
    assert cut(JOIN, tables, at=[]) == [tables]
    assert [batch["a"].num_rows for batch in cut(JOIN, tables, at=[2, 2])] == [1, 0, 1]


def test_timestamps_are_cut_at_datetimes() -> None:
    site = market(auctions=100, seed=1)
    join = Specification(
        streams={
            "auctions": Stream(time="opened_at", window="7 days"),
            "bids": Stream(time="at", window=0),
        },
        on=Equal(auctions="id", bids="auction_id"),
    )
    tables = {"auctions": site.auctions, "bids": site.bids}
    at = [datetime(2026, 1, day, tzinfo=UTC) for day in (10, 20, 30)]
    batches = cut(join, tables, at=at)
    for name, table in tables.items():
        assert pa.concat_tables(batch[name] for batch in batches).equals(table)
    assert (
        max(batches[0]["bids"]["at"].to_pylist())
        < at[0]
        <= min(batches[1]["bids"]["at"].to_pylist())
    )


def test_boundaries_must_ascend() -> None:
    table = pa.table({"t": [1, 2]})
    with pytest.raises(SpecificationError, match=r"at must be in ascending order; got \[3, 2\]"):
        cut(JOIN, {"a": table, "b": table}, at=[3, 2])


def test_cut_rows_gives_back_the_tables_in_pieces_of_their_own() -> None:
    tables = {"a": pa.table({"t": range(100)}), "b": pa.table({"t": range(30)})}
    batches = cut_rows(tables, batches=7, seed=1)
    assert len(batches) == 7
    for name, table in tables.items():
        assert pa.concat_tables(batch[name] for batch in batches).equals(table)
    assert batches == cut_rows(tables, batches=7, seed=1)
    assert batches != cut_rows(tables, batches=7, seed=2)
    # Out of step: somewhere one stream is ahead of the other by more than a batch.
    assert any(batch["a"].num_rows == 0 or batch["b"].num_rows == 0 for batch in batches) or any(
        abs(batch["a"].num_rows / 100 - batch["b"].num_rows / 30) > 0.1 for batch in batches
    )


def test_cut_rows_takes_empty_tables_and_a_single_batch() -> None:
    tables = {"a": pa.table({"t": []}), "b": pa.table({"t": [1, 2]})}
    assert cut_rows(tables, batches=1) == [tables]
    assert sum(batch["b"].num_rows for batch in cut_rows(tables, batches=5, seed=3)) == 2
    with pytest.raises(SpecificationError, match="batches must be a whole number, at least 1"):
        cut_rows(tables, batches=0)
