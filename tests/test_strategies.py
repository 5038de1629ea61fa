"""The table of strategies, and what each of them keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.decision_state import to_arrays
from penstock.goals import Goal
from penstock.strategies import (
    STRATEGIES,
    WORK_STRATEGIES,
    Admit,
    Age,
    Decision,
    Fifo,
    Ijoin,
    LowestRating,
    LowestScore,
    MaxSubsetOfValues,
    Needs,
    Oldest,
    Prob,
    ResidencePriority,
    Resource,
    Retain,
    Rows,
    SampleThreshold,
    Strategy,
    StreamView,
    View,
    strategies_for,
)
from penstock.testing import canonical_rows
from tests.conformance.checks import goal_of, is_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def first_view(name: str, streams: int) -> View:
    """Return what a strategy is given before the first row."""
    each = tuple(StreamView(f"s{s}", 10.0, 1.0, share=1.0 / streams) for s in range(streams))
    return View(each, room=100, goal=goal_of(name))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("streams", [2, 3, 5])
def test_shares_are_of_the_whole_budget(name: str, streams: int) -> None:
    decision = STRATEGIES[name]().decide(first_view(name, streams))
    shares = decision.retain.shares
    if shares is not None:
        assert len(shares) == streams
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
    assert not decision.sheds_arrivals


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_view_leads_to_the_same_decision(name: str) -> None:
    view = first_view(name, 2)
    one, other = (to_arrays(STRATEGIES[name]().decide(view)) for _ in range(2))
    assert one.keys() == other.keys()
    for key, array in one.items():
        np.testing.assert_array_equal(array, other[key])


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_that_is_asked_again_and_told_nothing_decides_nothing_else(name: str) -> None:
    view = first_view(name, 2)
    decision = STRATEGIES[name]().decide(view)
    again = STRATEGIES[name]().decide(replace(view, previous=decision))
    assert type(again.retain.order) is type(decision.retain.order)
    assert again.emit == decision.emit


@pytest.mark.parametrize("name", STRATEGIES)
def test_ratings_are_given_where_the_order_goes_by_them(name: str) -> None:
    rows = Rows.arriving(0, 2, draws=lambda: np.array([0.5, 0.25]), importance=np.array([3.0, 1.0]))
    rows = replace(rows, matches_per_time=np.array([np.nan, 2.0]))
    view = first_view(name, 2)
    order = STRATEGIES[name]().decide(view).retain.order
    ratings = STRATEGIES[name]().rate(view, rows)
    if isinstance(order, LowestRating | ResidencePriority):
        assert ratings is not None
    if isinstance(order, Oldest):
        assert ratings is None
    if isinstance(order, LowestScore):
        assert (ratings is None) == (order.grades_per_octave == 0)
    if isinstance(order, SampleThreshold) and (order.by_match or order.by_size):
        assert ratings is not None
    if ratings is not None:
        assert ratings.shape == (2,)
        assert not np.isnan(ratings).any()


@pytest.mark.parametrize("goal", [ps.MaxSubset(), ps.Sample()], ids=repr)
def test_a_goal_without_a_strategy_has_one_chosen(goal: Goal) -> None:
    assert isinstance(goal, strategies_for(goal)[0].serves)


def test_a_sample_is_uniform_where_numbers_of_matches_are_known_of_the_stream_that_matters() -> (
    None
):
    known = {"orders": "items"}
    assert strategies_for(ps.Sample(of="orders", matches=known))[0].name == "uniform"
    assert strategies_for(ps.Sample(of="items"))[0].name == "cluster"
    assert strategies_for(ps.Sample())[0].name == "cluster"


def test_a_named_strategy_is_the_one_that_is_used() -> None:
    for name, kind in STRATEGIES.items():
        assert type(strategies_for(goal_of(name))[0]) is kind


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


by_importance = partial(ps.MaxImportance, of="price")


@pytest.mark.parametrize("goal", [ps.MaxSubset(), by_importance(), ps.Sample()], ids=repr)
def test_a_goal_knows_the_names_of_its_strategies(goal: Goal) -> None:
    names = [name for name, kind in STRATEGIES.items() if isinstance(goal, kind.serves)]
    # What papers call fifo and prob.
    names += [alias for alias, name in (("recent", "fifo"), ("size", "prob")) if name in names]
    assert goal.strategy_names == tuple(names)
    for name in names:
        assert strategies_for(replace(goal, strategy=name))


@pytest.mark.parametrize(
    ("goal", "name", "close"),
    [
        (ps.MaxSubset, "fifoo", "fifo"),
        (ps.MaxSubset, "randon", "random"),
        (ps.Sample, "clusters", "cluster"),
        (by_importance, "Worth", "worth"),
    ],
)
def test_an_unknown_strategy_is_refused_when_the_goal_is_made(
    goal: Callable[..., Goal], name: str, close: str
) -> None:
    owner, names = type(goal()).__name__, goal().strategy_names
    assert names is not None
    for said, where in (
        (name, ""),
        ({"memory": name}, ' for "memory"'),
        ({"cpu": name}, ' for "cpu"'),
    ):
        served = names if "memory" in where else names + goal().work_strategy_names
        known = ", ".join(f'"{each}"' for each in served)
        with pytest.raises(ps.SpecificationError) as caught:
            goal(strategy=said)
        assert str(caught.value) == (
            f"strategy of {owner}{where} must be one of {known}; got {name!r}; "
            f'did you mean "{close}"?'
        )


@pytest.mark.parametrize(("goal", "name"), [(ps.MaxSubset, "uniform"), (ps.Sample, "fifo")])
def test_a_strategy_of_another_goal_is_refused(goal: Callable[..., Goal], name: str) -> None:
    with pytest.raises(ps.SpecificationError, match=f"strategy of {goal.__name__} must be one of"):
        goal(strategy=name)


# --- Objects


@dataclass(frozen=True)
class Keep(Strategy):
    """Evicts the oldest row, as fifo does."""

    name: ClassVar[str] = "keep"

    def decide(self, view: View) -> Decision:
        return view.previous or Decision()


@dataclass(frozen=True)
class Half(Strategy):
    """Admits half of the rows."""

    name: ClassVar[str] = "half"
    spends: ClassVar[Resource] = Resource.CPU

    def decide(self, view: View) -> Decision:
        return view.previous or Decision(admit=Admit(0.5))


class Rated(Strategy):
    """Returns from `rate` what it is given here."""

    name = "rated"

    def __init__(self, ratings: Callable[[int], object], *, by_key: bool) -> None:
        self.ratings = ratings
        # For a strategy that needs frequencies, rows are rated in another place.
        self.needs = Needs(frequencies=by_key, rates=by_key)  # type: ignore[misc]

    def decide(self, view: View) -> Decision:
        return view.previous or Decision(retain=Retain(LowestRating()))

    def rate(self, view: View, rows: Rows) -> npt.NDArray[np.float64]:
        return self.ratings(rows.ages.size)  # type: ignore[return-value]


def own(strategy: object, rows: int = 20) -> ps.Join:
    return ps.Join(
        streams={"a": EACH, "b": EACH},
        on=ps.Equal("id"),
        goal=ps.MaxSubset(strategy=strategy),  # type: ignore[arg-type]
        budget=ps.Budget(rows=rows),
    )


SOME = pa.table({"t": range(600), "id": [i % 7 for i in range(600)]})
SOME_OF_BOTH = {"a": SOME, "b": SOME}


def test_a_strategy_of_ones_own_needs_only_to_decide() -> None:
    assert Keep().rate(first_view("fifo", 2), Rows.arriving(0, 1)) is None
    mine, fifo = (own(each).replay(SOME_OF_BOTH) for each in (Keep(), "fifo"))
    assert canonical_rows(mine.result) == canonical_rows(fifo.result)
    assert replace(mine.metrics, strategy="fifo") == fifo.metrics
    assert mine.metrics.strategy == "keep"


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_name_and_an_object_are_the_same(name: str) -> None:
    kind = STRATEGIES[name]
    goal = goal_of(name)
    assert strategies_for(goal) == strategies_for(replace(goal, strategy=kind()))
    assert strategies_for(replace(goal, strategy={"memory": kind()})) == (kind(),)


def test_an_object_of_another_goal_is_refused() -> None:
    assert refusal(ps.MaxSubset(strategy=Ijoin(maturity=0.2))) == (
        f"strategy of MaxSubset must be one that serves it; got {Ijoin(maturity=0.2)!r}; "
        "ijoin serves MaxImportance(...)"
    )


def test_a_class_is_refused_with_what_to_write() -> None:
    with pytest.raises(ps.SpecificationError) as caught:
        ps.MaxSubset(strategy=Keep)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "strategy of MaxSubset must be a name or a strategy object; got 'Keep'; "
        "write Keep(), with its parameters"
    )


def test_an_object_that_only_looks_like_a_strategy_is_refused() -> None:
    class Impostor:
        name: ClassVar[str] = "impostor"

        def __repr__(self) -> str:
            return "Impostor()"

    assert refusal(ps.MaxSubset(strategy=Impostor())) == (
        "strategy of MaxSubset must be a name or a strategy; got Impostor(); "
        "derive it from penstock.strategies.Strategy (docs/extending.md)"
    )


# --- One for memory and one for CPU


def test_one_strategy_for_memory_and_one_for_cpu() -> None:
    goal = ps.MaxSubset(strategy={"cpu": Half(), "memory": "random"})
    assert [each.name for each in strategies_for(goal)] == ["random", "half"]
    metrics = own(goal.strategy).replay(SOME_OF_BOTH).metrics
    assert metrics.strategy == "random + half"
    assert metrics.held_most <= 20
    for stream in metrics.streams.values():
        # 600 rows, of which each is admitted with a chance of a half: a deviation of 12.
        assert 240 < stream.not_admitted < 360
        assert stream.dropped + stream.evicted > 0


def test_the_strategy_for_memory_may_be_left_out() -> None:
    found = strategies_for(ps.MaxSubset(strategy={"cpu": Half()}))
    assert [each.name for each in found] == ["best", "half"]
    assert strategies_for(ps.MaxSubset(strategy={"memory": "fifo"})) == (Fifo(),)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"memory": Half()},
            "strategy[\"memory\"] of MaxSubset must be one that saves memory; got 'half'; name one",
        ),
        (
            {"cpu": "fifo"},
            "strategy[\"cpu\"] of MaxSubset must be one that saves cpu; got 'fifo'; name one that",
        ),
    ],
    ids=str,
)
def test_a_strategy_for_the_wrong_resource_is_refused(said: Mapping[str, Any], words: str) -> None:
    assert words in refusal(ps.MaxSubset(strategy=said))


def test_an_unknown_resource_is_refused() -> None:
    with pytest.raises(ps.SpecificationError) as caught:
        ps.MaxSubset(strategy={"disk": "fifo"})
    assert str(caught.value) == (
        "strategy of MaxSubset must be for memory and cpu; got 'disk'; "
        'write strategy={"memory": ..., "cpu": ...}'
    )


# --- What a strategy may not do


def replay_error(strategy: Strategy) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        own(strategy).replay(SOME_OF_BOTH)
    return str(caught.value)


def test_the_kind_of_order_may_not_change() -> None:
    class Fickle(Strategy):
        name = "fickle"

        def decide(self, view: View) -> Decision:
            order = Oldest() if view.previous is None else LowestRating()
            return Decision(retain=Retain(order))

    assert replay_error(Fickle()) == (
        "order of Retain, decided by \"fickle\", must be Oldest, as at first; got 'LowestRating'; "
        "decide on one order for the whole join; its numbers may change"
    )


def test_the_numbers_of_an_order_may_change() -> None:
    class Leaning(Strategy):
        name = "leaning"

        def decide(self, view: View) -> Decision:
            if view.previous is None:
                return Decision()
            return Decision(retain=Retain(Oldest(), (0.9, 0.1)))

    streams = own(Leaning()).replay(SOME_OF_BOTH).metrics.streams
    assert [stream.held for stream in streams.values()] == [18, 2]


@pytest.mark.parametrize("by_key", [False, True], ids=["by batch", "by piece"])
@pytest.mark.parametrize(
    ("ratings", "found"),
    [
        (lambda count: np.zeros(count + 1), "'float64 of shape ({1 more},)'"),
        (lambda count: np.zeros(max(count - 1, 0)), "'float64 of shape ({1 less},)'"),
        (lambda count: np.zeros((count, 1)), "'float64 of shape ({as many}, 1)'"),
        (lambda count: np.full(count, np.nan), "'NaN'"),
        (lambda count: np.array(["a"] * count), "'<U1 of shape ({as many},)'"),
        (lambda count: 1.0, "'float64 of shape ()'"),
    ],
    ids=["longer", "shorter", "table", "NaN", "text", "number"],
)
def test_ratings_are_a_number_for_each_row(
    ratings: Callable[[int], object], found: str, *, by_key: bool
) -> None:
    words = replay_error(Rated(ratings, by_key=by_key))
    said = re.match(r'ratings by strategy "rated" must be (\d+) numbers, one for each row; ', words)
    assert said is not None
    count = int(said[1])
    numbers = {"{1 more}": count + 1, "{1 less}": count - 1, "{as many}": count}
    for word, number in numbers.items():
        found = found.replace(word, str(number))
    assert words[said.end() :] == (f"got {found}; return an array as long as rows.ages from rate()")


@pytest.mark.parametrize("by_key", [False, True], ids=["by batch", "by piece"])
def test_ratings_may_be_whole_numbers_or_infinite(*, by_key: bool) -> None:
    for ratings in (
        np.arange,
        lambda count: [0] * count,
        lambda count: np.full(count, np.inf),
    ):
        assert own(Rated(ratings, by_key=by_key)).replay(SOME_OF_BOTH).metrics.held_most == 20


# --- What they keep


def kept(strategy: str, batches: list[list[int]], *, rows: int, seed: int = 0) -> list[int]:
    """Return the times of left rows that are still there when a right row comes that joins all."""
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


# `uniform` does not give all matches of the rows that it keeps.
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


# --- What two strategies need together


def test_models_that_are_tried_come_with_the_models() -> None:
    one, other = Prob(), Age()
    with_models = Needs(frequencies=True, models=(one,), tried=(one, other))
    for needs in (Needs(draws=True) | with_models, with_models | Needs(draws=True)):
        assert needs == replace(with_models, draws=True)
    # One strategy's models are not mixed with what another one tries.
    second = Needs(curves=True, models=(other,), tried=(other, one))
    both = second | with_models
    assert (both.models, both.tried) == ((other,), (other, one))


@pytest.mark.parametrize(
    ("one", "other", "parts", "key_sample"),
    [
        (Needs(rates=True, parts=8), Needs(rates=True, parts=16, key_sample=9000), 16, 9000),
        (Needs(rates=True, parts=16, key_sample=9000), Needs(rates=True, parts=8), 16, 9000),
        (Needs(rates=True, parts=8), Needs(curves=True), None, 4096),  # one wants the goal's
        # Nothing is observed for `Needs()`, so it has no say.
        (Needs(), Needs(frequencies=True, parts=1, key_sample=1024), 1, 1024),
        (Needs(frequencies=True, parts=1, key_sample=1024), Needs(), 1, 1024),
        (Needs(), Needs(lags=3), None, 4096),
    ],
)
def test_parts_and_keys_are_enough_for_both(
    one: Needs, other: Needs, parts: int | None, key_sample: int
) -> None:
    both = one | other
    assert (both.parts, both.key_sample) == (parts, key_sample)


# --- Strategies that save CPU


@pytest.mark.parametrize("name", WORK_STRATEGIES)
def test_a_strategy_for_cpu_has_its_name_in_the_table_and_in_the_goal(name: str) -> None:
    kind = WORK_STRATEGIES[name]
    assert kind.name == name
    assert kind.spends is Resource.CPU
    assert name in ps.MaxSubset.work_strategy_names
    assert "References" in (kind.__doc__ or "")
    assert name not in STRATEGIES


def test_all_names_of_the_goal_are_in_the_table() -> None:
    assert set(ps.MaxSubset.work_strategy_names) == set(WORK_STRATEGIES)


def test_before_anything_is_known_all_steps_are_taken() -> None:
    streams = tuple(StreamView(name, 1.0, 1.0) for name in "ab")
    for kind in WORK_STRATEGIES.values():
        assert not kind().decide(View(streams, None, ps.MaxSubset())).sheds_arrivals


def test_a_boundary_is_a_way_to_shed_by_lot() -> None:
    with pytest.raises(ps.SpecificationError, match="boundary of MaxSubsetOfValues must be a way"):
        MaxSubsetOfValues(boundary="none")  # type: ignore[arg-type]
    assert MaxSubsetOfValues(boundary="coin-flip").boundary == "coin-flip"


def test_an_object_for_cpu_may_be_given() -> None:
    goal = ps.MaxSubset(strategy=MaxSubsetOfValues(boundary="coin-flip"))
    found = strategies_for(goal, ps.Budget(cpu=0.5))
    assert found == (MaxSubsetOfValues(boundary="coin-flip"),)
    both = strategies_for(ps.MaxSubset(strategy="probe-no-insert"), ps.Budget(cpu=0.5, rows=10))
    assert [each.name for each in both] == ["best", "probe-no-insert"]
    both = strategies_for(ps.MaxSubset(strategy="fifo"), ps.Budget(cpu=0.5, rows=10))
    assert [each.name for each in both] == ["fifo", "by-partner"]
