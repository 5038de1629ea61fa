"""`goal=Sample(...)`: what is refused, in what words, and what a result looks like."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.strategies import Uniform

EACH = ps.Stream(time="t", window=10)
TWO = {"orders": EACH, "items": EACH}
AMPLE = ps.Budget(rows=100)
ROWS = pa.table({"t": [1, 2, 3], "id": [1, 1, 2], "n": [1, 0, 2], "text": ["a", "b", "c"]})


def sampled(
    goal: ps.Sample,
    *,
    streams: dict[str, ps.Stream] | None = None,
    budget: ps.Budget | None = ps.Budget(rows=2),  # noqa: B008 -- frozen
    on: Any = ps.Equal("id"),  # noqa: ANN401, B008 -- any predicate; frozen
) -> ps.Join:
    return ps.Join(streams=streams or TWO, on=on, goal=goal, budget=budget)


def refusal(**said: Any) -> str:  # noqa: ANN401 -- whatever a user may say
    """Return the words with which a sample is refused."""
    budget = said.pop("budget", ps.Budget(rows=2))
    streams = said.pop("streams", TWO)
    with pytest.raises(ps.SpecificationError) as caught:
        sampled(ps.Sample(**said), streams=streams, budget=budget)
    return str(caught.value)


# --- What is refused


def test_a_sample_needs_a_budget() -> None:
    assert refusal(budget=None) == (
        "budget must be given with goal=Sample(); got None; give Budget(rows=...) or "
        "Budget(cpu=...): the sample is as large as it allows"
    )


def test_a_sample_is_of_a_join_of_two() -> None:
    assert refusal(streams={**TWO, "payments": EACH}, budget=ps.Budget(rows=9)) == (
        "streams of a join with goal=Sample() must be two; got 3; join two of them, and sample that"
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"of": "order"},
            'of of Sample must be for streams among "orders", "items"; got \'order\'',
        ),
        ({"of": ""}, "of of Sample must be the name of a stream; got ''; leave it out"),
        ({"of": 3}, "of of Sample must be the name of a stream; got 3"),
        (
            {"strategy": "uniform", "matches": {"order": "n"}},
            'matches of Sample must be for streams among "orders", "items"; got \'order\'',
        ),
        ({"matches": {}}, "matches must be a column for each stream by name; got {}"),
        ({"matches": "n"}, "matches must be a column for each stream by name; got 'n'; write"),
        (
            {"matches": {"orders": 5}},
            'matches of stream "orders" must be the name of a column; got 5; write matches={"',
        ),
        ({"fraction": 0}, "fraction of Sample must be above 0 and at most 1; got 0; leave it out"),
        ({"fraction": 1.5}, "fraction of Sample must be above 0 and at most 1; got 1.5"),
        ({"fraction": float("nan")}, "fraction of Sample must be above 0 and at most 1; got nan"),
        ({"fraction": True}, "fraction of Sample must be above 0 and at most 1; got True"),
        ({"fraction": "half"}, "fraction of Sample must be above 0 and at most 1; got 'half'"),
        ({"parts": 0}, "parts of Sample must be a whole number from 1 to 4096; got 0"),
        ({"half_life": 0}, "half_life of Sample must be a number of windows above 0; got 0"),
        (
            {"strategy": "eq-cluster", "frequencies": {"items": {1: 1.0}}},
            "frequencies of Sample must be for a strategy that uses it; got 'eq-cluster'",
        ),
        (
            {"strategy": "pps-cluster", "curve": {"items": [1.0]}},
            "curve of Sample must be for a strategy that uses it; got 'pps-cluster'",
        ),
        ({"budget": ps.Budget(rows=1)}, "rows of the budget must be at least 2, one for each"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], words: str) -> None:
    assert words in refusal(**said)


@pytest.mark.parametrize("rounding", ["sideways", "", None, 3])
def test_numbers_of_matches_are_rounded_in_one_of_four_ways(rounding: Any) -> None:  # noqa: ANN401
    with pytest.raises(ps.SpecificationError) as caught:
        Uniform(rounding=rounding)
    assert str(caught.value) == (
        'rounding of Uniform must be one of "bound", "up", "down", "random"; '
        f"got {rounding!r}; leave it out"
    )


@pytest.mark.parametrize("strategy", ["eq-cluster", "pps-cluster", "cluster"])
def test_numbers_of_matches_are_for_a_strategy_that_uses_them(strategy: str) -> None:
    assert refusal(strategy=strategy, matches={"orders": "n"}) == (
        f"matches of Sample must be for a strategy that uses it; got '{strategy}'; leave matches "
        f"out, or choose another strategy"
    )


@pytest.mark.parametrize("strategy", ["eq-cluster", "pps-cluster", "cluster", None])
def test_a_sample_of_clusters_monitors_no_rows(strategy: str | None) -> None:
    words = refusal(strategy=strategy, budget=ps.Budget(rows=9, monitor=0.1))
    name = strategy or "cluster"
    assert f'monitor of the budget must be left out with strategy "{name}"; got 0.1' in words
    assert "samples of clusters need no monitored rows" in words
    none = ps.Budget(rows=9, monitor=0)
    assert sampled(ps.Sample(strategy=strategy), budget=none).budget == none


def test_uniform_may_be_told_how_many_to_monitor() -> None:
    budget = ps.Budget(rows=9, monitor=0.1)
    assert sampled(ps.Sample(strategy="uniform"), budget=budget).budget == budget


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("m", 'stream "orders" must have a column "m"; it has "t", "id", "n", "text"'),
        (
            "text",
            'column "text" of stream "orders", with numbers of matches, must be a number; got \'',
        ),
    ],
)
def test_numbers_of_matches_must_be_a_column_of_numbers(column: str, words: str) -> None:
    join = sampled(ps.Sample(strategy="uniform", matches={"orders": column}))
    with pytest.raises(ps.SchemaError) as caught:
        join.replay({"orders": ROWS, "items": ROWS})
    assert words in str(caught.value)


def test_memory_must_do_for_a_row_of_each_stream() -> None:
    join = sampled(ps.Sample(), budget=ps.Budget(memory=600))
    with pytest.raises(ps.SpecificationError) as caught:
        join.replay({"orders": ROWS, "items": ROWS})
    assert "memory of the budget must be at least 720 bytes: one row for each stream" in str(
        caught.value
    )


# --- What comes out


@pytest.mark.parametrize("strategy", ["uniform", "eq-cluster", "pps-cluster", "cluster", None])
def test_a_result_has_a_weight_and_a_cluster(strategy: str | None) -> None:
    join = sampled(ps.Sample(strategy=strategy), budget=AMPLE)
    result = join.replay({"orders": ROWS, "items": ROWS}).result
    assert result.schema.names == ["orders", "items", "time", "weight", "cluster"]
    assert result.schema.field("cluster").type == pa.int64()
    assert result["weight"].to_pylist() == [1.0] * 5


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64()], ids=str)
def test_numbers_of_matches_may_be_of_any_type(kind: pa.DataType) -> None:
    orders = ROWS.set_column(2, "n", pa.array([2, 1, 1], kind))
    join = sampled(ps.Sample(strategy="uniform", matches={"orders": "n"}), budget=AMPLE)
    assert join.replay({"orders": orders, "items": ROWS}).metrics.emitted == 5


def test_numbers_of_matches_that_are_null_negative_or_nan_are_none() -> None:
    """Such rows leave as soon as not all results are wanted."""
    times = list(range(40))
    numbers = [None, -3.0, float("nan"), 0.0] * 10
    orders = pa.table({"t": times, "id": times, "n": pa.array(numbers, pa.float64())})
    items = pa.table({"t": times, "id": times})
    goal = ps.Sample(strategy="uniform", matches={"orders": "n"}, fraction=0.5)
    streams = {"orders": EACH, "items": ps.Stream(time="t", window=0)}
    metrics = (
        sampled(goal, streams=streams, budget=AMPLE)
        .replay({"orders": orders, "items": items})
        .metrics
    )
    assert metrics.streams["orders"].dropped >= 20
    assert metrics.emitted == 0
