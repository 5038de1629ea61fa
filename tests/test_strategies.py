"""The table of strategies, and what each of them keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.goals import Goal
from penstock.strategies import STRATEGIES, Arriving, Evict, Settings, Strategy, strategy_for
from penstock.testing import canonical_rows
from tests.conformance.checks import goal_of, is_sample

if TYPE_CHECKING:
    import numpy.typing as npt


EACH = ps.Stream(time="t", window=1000)
# Samples have one fraction for all streams, and no shares.
WITH_SHARES = [name for name in STRATEGIES if not is_sample(name)]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_entered_under_its_own_name(name: str) -> None:
    assert STRATEGIES[name].name == name
    assert STRATEGIES[name].serves


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_names_its_source_and_shows_an_example(name: str) -> None:
    documented = STRATEGIES[name].__doc__ or ""
    assert "References\n" in documented
    assert ">>> " in documented


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("streams", [2, 3, 5])
def test_shares_are_of_the_whole_budget(name: str, streams: int) -> None:
    settings = STRATEGIES[name]().decide(streams)
    assert len(settings.shares) == streams
    assert sum(settings.shares) == pytest.approx(1)
    assert min(settings.shares) >= 0
    assert settings == STRATEGIES[name]().decide(streams)


@pytest.mark.parametrize("name", STRATEGIES)
def test_priorities_are_given_where_they_are_asked_for(name: str) -> None:
    lots = np.array([0.5, 0.25])
    arriving = Arriving(
        stream=0, times=np.array([1, 2]), draws=lambda: lots, importance=np.array([3.0, 1.0])
    )
    priorities = STRATEGIES[name]().priorities(arriving)
    by_priority = STRATEGIES[name]().decide(2).evict in (Evict.LOWEST, Evict.BY_RESIDENCE)
    assert (priorities is not None) == by_priority
    if priorities is not None:
        assert priorities.shape == (2,)


@pytest.mark.parametrize("goal", [ps.MaxSubset(), ps.Sample()], ids=repr)
def test_a_goal_without_a_strategy_has_one_chosen(goal: Goal) -> None:
    assert isinstance(goal, strategy_for(goal).serves)


def test_a_sample_is_uniform_where_numbers_of_matches_are_known_of_the_stream_that_matters() -> (
    None
):
    known = {"orders": "items"}
    assert strategy_for(ps.Sample(of="orders", matches=known)).name == "uniform"
    assert strategy_for(ps.Sample(of="items")).name == "cluster"
    assert strategy_for(ps.Sample()).name == "cluster"


def test_a_named_strategy_is_the_one_that_is_used() -> None:
    for name, kind in STRATEGIES.items():
        assert type(strategy_for(goal_of(name))) is kind


def refusal(goal: Goal) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        ps.Join(
            streams={"a": EACH, "b": EACH},
            on=ps.Equal("id"),
            goal=goal,
            budget=ps.Budget(rows=2),
        )
    return str(caught.value)


def test_a_goal_that_no_strategy_serves_is_refused_by_name() -> None:
    class MaxSpeed(Goal):
        pass

    goal = MaxSpeed()
    words = refusal(goal)
    assert "goal must be one that a strategy serves; got" in words
    assert "served so far: MaxSubset(), MaxImportance(), Sample()" in words


@pytest.mark.parametrize(
    ("goal", "close"),
    [(ps.MaxSubset(strategy="randon"), "random"), (ps.Sample(strategy="clusters"), "cluster")],
    ids=repr,
)
def test_an_unknown_strategy_is_refused_and_recognised(goal: Goal, close: str) -> None:
    kind = type(goal)
    names = [name for name, each in STRATEGIES.items() if kind in each.serves]
    names += ["recent", "size"] if kind is ps.MaxSubset else []  # what papers call fifo and prob
    known = ", ".join(f'"{name}"' for name in names)
    words = refusal(goal)
    assert f"strategy of {kind.__name__} must be one of {known}; got {goal.strategy!r}" in words
    assert f'did you mean "{close}"?' in words


@pytest.mark.parametrize(
    "goal", [ps.MaxSubset(strategy="uniform"), ps.Sample(strategy="fifo")], ids=repr
)
def test_a_strategy_of_another_goal_is_refused(goal: Goal) -> None:
    assert f"strategy of {type(goal).__name__} must be one of" in refusal(goal)


def test_a_strategy_of_ones_own_needs_only_to_decide() -> None:
    class Keep(Strategy):
        name = "keep"
        serves = (ps.MaxSubset,)

        def decide(self, streams: int) -> Settings:
            return Settings(Evict.OLDEST, (1.0 / streams,) * streams)

    arriving = Arriving(stream=0, times=np.array([1]), draws=lambda: np.array([0.5]))
    assert Keep().priorities(arriving) is None


# --- What they keep


def kept(strategy: str, batches: list[list[int]], *, rows: int, seed: int = 0) -> list[int]:
    """Give the times of left rows that are still there when a right row comes that joins all."""
    join = ps.Join(
        streams={"left": EACH, "right": EACH},
        on=ps.Equal("id"),
        goal=goal_of(strategy),
        budget=ps.Budget(rows=rows),
        seed=seed,
    )
    left = [pa.table({"t": times, "id": [1] * len(times)}) for times in [*batches, []]]
    left = [table.cast(left[0].schema) for table in left]
    right = [table.slice(0, 0) for table in left[:-1]]
    result = join.replay(
        {"left": left, "right": [*right, pa.table({"t": [500], "id": [1]})]}
    ).result
    times: list[int] = result["left"].combine_chunks().field("t").to_pylist()
    return sorted(times)


def test_fifo_keeps_the_newest_by_time() -> None:
    assert kept("fifo", [list(range(10))], rows=4) == [6, 7, 8, 9]


def test_fifo_goes_by_times_and_not_by_the_order_of_delivery() -> None:
    assert kept("fifo", [[9, 2, 7, 1, 8, 3]], rows=3) == [7, 8, 9]


def test_random_keeps_every_row_equally_often() -> None:
    rows, room, seeds = 20, 5, 400
    counts: npt.NDArray[np.int64] = np.zeros(rows, np.int64)
    for seed in range(seeds):
        times = kept("random", [list(range(rows))], rows=room, seed=seed)
        assert len(times) == room
        counts[times] += 1
    # Each row is kept by a quarter of the seeds: 100 times, with a deviation of about 8.7.
    assert counts.sum() == room * seeds
    assert np.all(np.abs(counts - 100) < 45)


def test_random_does_not_go_by_the_order_of_delivery() -> None:
    assert kept("random", [[9, 2, 7, 1, 8, 3]], rows=3) == kept(
        "random", [[1, 2, 3, 7, 8, 9]], rows=3
    )


def test_random_draws_for_each_of_equal_rows() -> None:
    # If equal rows drew alike, all of one time would stay or all would go.
    times = kept("random", [[1] * 10 + [2] * 10], rows=10)
    assert 0 < times.count(1) < 10


# `uniform` does not give all matches of the tuples that it keeps.
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "uniform"])
def test_what_one_stream_leaves_unused_the_other_may_use(name: str) -> None:
    assert len(kept(name, [list(range(10))], rows=8)) == 8


@pytest.mark.parametrize("name", WITH_SHARES)
def test_a_stream_is_brought_back_to_its_share_when_the_other_needs_room(name: str) -> None:
    join = ps.Join(
        streams={"left": EACH, "right": EACH},
        on=ps.Equal("id"),
        goal=goal_of(name),
        budget=ps.Budget(rows=10),
    )
    early = pa.table({"t": range(50), "id": range(50)})
    late = pa.table({"t": range(50, 100), "id": range(50)})
    streams = join.replay({"left": early, "right": late}).metrics.streams
    assert streams["left"].held_most == 10
    assert [stream.held for stream in streams.values()] == [5, 5]


@pytest.mark.parametrize("name", STRATEGIES)
def test_more_room_is_never_less_of_the_answer(name: str) -> None:
    draw = np.random.default_rng(0)
    each = ps.Stream(time="t", window=30)
    tables = {
        side: pa.table({"t": np.sort(draw.integers(0, 200, 150)), "id": draw.integers(0, 9, 150)})
        for side in ("left", "right")
    }
    emitted = []
    for rows in (2, 10, 20, 40, 1000):
        join = ps.Join(
            streams=dict.fromkeys(tables, each),
            on=ps.Equal("id"),
            goal=goal_of(name),
            budget=ps.Budget(rows=rows),
        )
        emitted.append(join.replay(tables).metrics.emitted)
    assert emitted == sorted(emitted)
    exact = ps.Join(streams=dict.fromkeys(tables, each), on=ps.Equal("id")).replay(tables)
    assert emitted[-1] == len(canonical_rows(exact.result))
