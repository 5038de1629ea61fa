"""The cache of operators: only the last one saved is used, and its size is bounded."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.spark import operator_cache
from penstock.spark.operator_cache import CachedOperator, put, take

EACH = ps.Stream(time="t", window=5)
JOIN = ps.Join(streams={"a": EACH, "b": EACH}, on=ps.Equal("t"))
PLAN = bind(JOIN, dict.fromkeys("ab", pa.schema([("t", pa.int64())])))


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_cache, "_cache", {})


def cached(head: bytes, batch: int) -> CachedOperator:
    return CachedOperator(Operator(PLAN), head, batch)


def test_the_operator_saved_last_can_be_taken_once() -> None:
    one = cached(b"one", 1)
    put("join", 0, one)
    assert take("join", 0, b"one") is one.operator
    # A micro-batch that fails leaves an operator that must not be used.
    assert take("join", 0, b"one") is None


def test_an_outdated_operator_is_not_used() -> None:
    put("join", 0, cached(b"one", 1))
    assert take("join", 0, b"two") is None
    assert take("join", 0, b"one") is None


def test_each_join_and_shard_has_its_own_operator() -> None:
    put("join", 0, cached(b"one", 1))
    assert take("join", 1, b"one") is None
    assert take("other", 0, b"one") is None
    assert take("join", 0, b"one") is not None


def test_operators_of_two_micro_batches_ago_are_evicted() -> None:
    for shard, batch in ((0, 1), (1, 2), (2, 3)):
        put("join", shard, cached(b"head", batch))
    assert [shard for _, shard in operator_cache._cache] == [1, 2]


def test_operators_of_joins_that_have_ended_are_evicted() -> None:
    for number in range(6):
        for shard in range(2):
            put(f"join {number}", shard, cached(b"head", 9))
    assert {join for join, _ in operator_cache._cache} == {"join 2", "join 3", "join 4", "join 5"}
    assert len(operator_cache._cache) == 8
