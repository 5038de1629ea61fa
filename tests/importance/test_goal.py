"""`MaxImportance`: what may be said of it, kept unchanged, and read back."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.importance import result_importance
from penstock.spec import Specification
from penstock.strategies import Ijoin, Worth
from tests.importance.support import (
    AMOUNTS,
    CATEGORIES,
    INFINITY,
    NAN,
    VALUES,
    Times,
    goal,
    histogram,
    lookup,
    made,
    refusal,
    twice,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# The same classes, open to what a type checker would refuse.
worth: Callable[..., Worth] = Worth
ijoin: Callable[..., Ijoin] = Ijoin

CLOCK = [(None, 1), ("2026-01-01 18:00", 2), (dt.datetime(2026, 1, 2), 3)]  # noqa: DTZ001


SAID = [
    "votes",
    5,
    0.25,
    CATEGORIES,
    ps.Lookup("x", {1: 2, None: 3.5}),
    ps.Histogram("votes", [1, 2.5], [0, 1, 2]),
    Times(2),
    CLOCK,
    [(5, "votes"), (6.5, CATEGORIES)],
    [(None, 1), (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 2)],
    {"a": "votes", "b": [(None, 1), (3, CATEGORIES)]},
]
READABLE = {name: getattr(ps, name) for name in ps.__all__} | {
    "datetime": dt,
    "Times": Times,
    "Worth": Worth,
}


@pytest.mark.parametrize("said", SAID, ids=str)
def test_a_goal_reads_back_and_is_a_value(said: object) -> None:
    whole = goal(of=said, result="product", strategy=Worth(fairness=0.5))
    for twin in (
        eval(repr(whole), READABLE),  # noqa: S307 -- our own words
        pickle.loads(pickle.dumps(whole)),  # noqa: S301 -- our own bytes
        copy.deepcopy(whole),
        goal(of=copy.deepcopy(said), result="product", strategy=Worth(fairness=0.5)),
    ):
        assert twin == whole
        assert hash(twin) == hash(whole)
        assert repr(twin) == repr(whole)
        importance = twin.importance_of("a")
        assert importance == whole.importance_of("a")
        assert hash(importance) == hash(whole.importance_of("a"))
        assert pickle.loads(pickle.dumps(importance)) == importance  # noqa: S301 -- our own bytes


@given(
    table=st.dictionaries(st.one_of(VALUES, st.text()), AMOUNTS, min_size=1),
    default=st.none() | AMOUNTS,
    breaks=st.lists(st.floats(-100, 100), min_size=2, max_size=2, unique=True).map(sorted),
)
def test_definitions_read_back(
    table: dict[Any, float], default: float | None, breaks: list[float]
) -> None:
    for said in (ps.Lookup("x", table, default), ps.Histogram("x", breaks, [1, 2, 3])):
        twin = eval(repr(said), READABLE)  # noqa: S307 -- our own words
        assert (twin, hash(twin), repr(twin)) == (said, hash(said), repr(said))


def test_a_function_is_known_by_its_name() -> None:
    assert repr(goal(of=twice)) == f"MaxImportance(strategy=None, of={twice.__module__}.twice)"
    assert (
        repr(goal(of={"a": Times(2)})) == "MaxImportance(strategy=None, of={'a': Times(factor=2)})"
    )
    assert goal(of=twice) == goal(of=twice)
    assert goal(of=twice) != goal(of=len)
    assert pickle.loads(pickle.dumps(made(np.abs))) == made(np.abs)  # noqa: S301 -- our own bytes


def test_numbers_of_numpy_become_plain_ones() -> None:
    said = lookup(np.str_("x"), {np.int64(1): np.float32(0.5), np.str_("a"): np.int8(2)})
    assert repr(said) == "Lookup('x', {1: 0.5, 'a': 2})"
    assert (
        repr(histogram("x", np.array([1.5]), pa.array([1, 2]))) == "Histogram('x', (1.5,), (1, 2))"
    )
    assert repr(goal(of=np.str_("x"), parts=np.int64(8))) == (
        "MaxImportance(strategy=None, parts=8, of='x')"
    )
    assert repr(worth(fairness=np.float64(0.5))) == "Worth(fairness=0.5)"
    told = ijoin(recompute="k-successive", every=np.int64(7), penalty=np.float32(0.5))
    assert (told.every, told.penalty) == (7, 0.5)
    assert (type(told.every), type(told.penalty)) == (int, float)


def test_a_time_of_pandas_becomes_a_plain_one() -> None:
    pandas = pytest.importorskip("pandas")
    assert made([(pandas.Timestamp("2026-01-01 18:00"), 1)]).schedule[0][0] == dt.datetime(  # noqa: DTZ001
        2026, 1, 1, 18
    )
    assert "Timestamp" not in repr(goal(of=[(pandas.Timestamp("2026-01-01", tz="UTC"), 1)]))


def test_what_was_given_can_be_changed_afterwards_to_no_effect() -> None:
    table: dict[str, float] = {"a": 1}
    schedule: list[Any] = [(None, ps.Lookup("x", table)), (5, 2)]
    said = {"a": schedule, "b": 1}
    whole = goal(of=said)
    table["a"] = 7
    schedule.append((6, 3))
    said["c"] = 2
    assert whole == goal(of={"a": [(None, ps.Lookup("x", {"a": 1})), (5, 2)], "b": 1})
    with pytest.raises(FrozenInstanceError):
        CATEGORIES.column = "x"  # type: ignore[misc]


def test_goals_that_say_the_same_in_another_order_are_equal() -> None:
    one, other = goal(of={"a": 1, "b": 2}), goal(of={"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)


def test_the_defaults_are_the_papers_in_proportion_to_its_window() -> None:
    said = Ijoin()
    assert said.maturity * 25 == pytest.approx(2)
    assert said.unproductivity * 25 == pytest.approx(3)
    assert said.recompute == "successive"
    assert ps.MaxImportance(of="x").result == "min"


SHARES = [
    (worth, {}, "fairness"),
    (ijoin, {}, "maturity"),
    (ijoin, {}, "unproductivity"),
    (ijoin, {"recompute": "adaptive"}, "tolerance"),
]


@pytest.mark.parametrize(("kind", "others", "name"), SHARES, ids=[each[2] for each in SHARES])
@pytest.mark.parametrize("value", [-0.1, 1.1, NAN, True, "1", None])
def test_shares_are_from_0_to_1(
    kind: Callable[..., Any], others: dict[str, str], name: str, value: object
) -> None:
    assert refusal(kind, **others, **{name: value}).startswith(
        f"{name} of {kind.__name__} must be from 0 to 1; got {value!r}; "
    )
    assert getattr(kind(**others, **{name: 1}), name) == 1


@pytest.mark.parametrize("name", ["penalty", "decay"])
@pytest.mark.parametrize("value", [-0.1, INFINITY, NAN, True, "1", None])
def test_rates_are_0_or_more(name: str, value: object) -> None:
    assert refusal(ijoin, **{name: value}).startswith(
        f"{name} of Ijoin must be a finite number of 0 or more; got {value!r}; "
    )
    assert getattr(ijoin(**{name: 1_000}), name) == 1_000


@pytest.mark.parametrize("every", [0, -1, 1.5, True, None])
def test_priorities_are_computed_every_so_many_rows(every: object) -> None:
    assert refusal(ijoin, recompute="k-successive", every=every) == (
        f"every of Ijoin must be a whole number of 1 or more; got {every!r}; "
        "1 computes priorities for every row that goes"
    )


@pytest.mark.parametrize("recompute", ["always", "", None])
def test_priorities_are_computed_in_one_of_four_ways(recompute: object) -> None:
    assert refusal(ijoin, recompute=recompute) == (
        'recompute of Ijoin must be one of "successive", "k-successive", "adaptive", '
        f'"adaptive-below"; got {recompute!r}; leave it out'
    )


@pytest.mark.parametrize(
    ("name", "value", "schemes"),
    [
        ("every", 7, ["k-successive"]),
        ("tolerance", 0.25, ["adaptive", "adaptive-below"]),
        ("initial", "urgency", ["k-successive", "adaptive", "adaptive-below"]),
        ("initial", 0, ["k-successive", "adaptive", "adaptive-below"]),
    ],
)
def test_a_parameter_of_one_way_of_computing_is_for_that_way(
    name: str, value: float | str, schemes: list[str]
) -> None:
    words = " or ".join(f'recompute="{each}"' for each in schemes)
    assert refusal(ijoin, **{name: value}) == (
        f"{name} of Ijoin must be for {words}; got 'successive'; "
        f'leave it out, or add recompute="{schemes[0]}"'
    )
    for scheme in schemes:
        assert getattr(ijoin(recompute=scheme, **{name: value}), name) == value


@pytest.mark.parametrize("initial", ["", -1, NAN, True, ["urgency"]])
def test_initial_priorities_are_a_column_or_a_number(initial: object) -> None:
    assert refusal(ijoin, recompute="k-successive", initial=initial) == (
        "initial of Ijoin must be the name of a column, or a finite number of 0 or more; "
        f"got {initial!r}; leave it out for a row's importance"
    )


def test_importance_by_stream_is_of_one_stream_or_more() -> None:
    assert refusal(goal, of={}) == (
        "of of MaxImportance must be a definition, or one for each stream by name; got {}; "
        'write of={"stream": "column", ...}, or one definition for all streams'
    )
    assert refusal(goal, of={"cnn": -1}).startswith('importance of stream "cnn" must be a finite')
    assert refusal(goal, of=-1).startswith("importance must be a finite number")


DAY = ps.Stream(time="at", window="1 day")


def join_of(of: object, **settings: object) -> Specification:
    streams = {"cnn": DAY, "bbc": DAY}
    return Specification(streams=streams, on=ps.Equal("word"), goal=goal(of=of, **settings))


def test_importance_is_of_the_streams_of_the_join() -> None:
    assert join_of({"cnn": 5, "bbc": "votes"}).goal == goal(of={"cnn": 5, "bbc": "votes"})
    assert refusal(join_of, {"politics": 90, "sports": 40}) == (
        'of of MaxImportance must be for streams among "cnn", "bbc"; got \'politics\'; '
        'rename it; for the importance of a value write Lookup("column", {...})'
    )
    assert refusal(join_of, {"cnn": 5}) == (
        "of of MaxImportance must be for all streams of the join; got ['cnn']; "
        'add "bbc"; 1 makes all rows of a stream equally important'
    )
    assert 'for streams among "cnn", "bbc"; got' in refusal(join_of, "x", curve={"nbc": [1]})


def test_an_exact_join_may_have_importance() -> None:
    assert join_of("votes").budget is None


@pytest.mark.parametrize("kind", ["mean", "", None, ["min"]])
def test_the_importance_of_a_result_is_made_in_one_of_four_ways(kind: object) -> None:
    assert refusal(goal, of="x", result=kind) == (
        'result of MaxImportance must be one of "min", "product", "sum", "max"; '
        f"got {kind!r}; leave it out for the importance of the least important member"
    )
    assert "importance of a result must be one of" in refusal(result_importance, kind, [])
