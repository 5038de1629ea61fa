"""Operators at hand: only the last one saved counts, and they do not pile up."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.spark import resident
from penstock.spark.resident import Kept, keep, take

EACH = ps.Stream(time="t", window=5)
JOIN = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("t"))
PLAN = bind(JOIN, dict.fromkeys("ab", pa.schema([("t", pa.int64())])))


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "_kept", {})


def kept(head: bytes, batch: int) -> Kept:
    return Kept(Operator(PLAN), head, batch)


def test_what_was_saved_last_is_at_hand_once() -> None:
    one = kept(b"one", 1)
    keep("join", 0, one)
    assert take("join", 0, b"one") is one.operator
    # A micro-batch that fails leaves an operator that nobody may use.
    assert take("join", 0, b"one") is None


def test_what_another_worker_has_overtaken_is_not_used() -> None:
    keep("join", 0, kept(b"one", 1))
    assert take("join", 0, b"two") is None
    assert take("join", 0, b"one") is None


def test_another_join_or_shard_is_another_operator() -> None:
    keep("join", 0, kept(b"one", 1))
    assert take("join", 1, b"one") is None
    assert take("other", 0, b"one") is None
    assert take("join", 0, b"one") is not None


def test_those_of_two_micro_batches_ago_are_let_go() -> None:
    for shard, batch in ((0, 1), (1, 2), (2, 3)):
        keep("join", shard, kept(b"head", batch))
    assert [shard for _, shard in resident._kept] == [1, 2]


def test_those_of_joins_that_have_ended_are_let_go() -> None:
    for number in range(6):
        for shard in range(2):
            keep(f"join {number}", shard, kept(b"head", 9))
    assert {join for join, _ in resident._kept} == {"join 2", "join 3", "join 4", "join 5"}
    assert len(resident._kept) == 8
