from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.budget import Budget
from penstock.errors import SpecificationError
from penstock.goals import Goal, MaxImportance, MaxSubset, Sample
from penstock.predicates import Band, Compare, Equal, Predicate, Within
from penstock.spec import Specification, Stream
from penstock.strategies import Fifo, Ijoin, Uniform

if TYPE_CHECKING:
    from collections.abc import Callable

# The same classes, without types, so that wrong arguments pass the type checker.
stream: Callable[..., Stream] = Stream
budget: Callable[..., Budget] = Budget
specification: Callable[..., Specification] = Specification

DAY = Stream(time="at", window="1 day")
TWO = {"auctions": DAY, "bids": DAY}
KEY = Equal("id")


class Join(Specification):
    """Like the public class: it adds behaviour, but no field."""


READABLE = {
    made.__name__: made
    for made in (
        *(Band, Compare, Equal, Within, Decimal),
        *(Budget, MaxImportance, MaxSubset, Sample, Specification, Stream, Join),
        *(Fifo, Ijoin, Uniform),
    )
} | {"datetime": dt}


def refusal(make: Callable[..., object], *args: object, **kwargs: object) -> str:
    with pytest.raises(SpecificationError) as caught:
        make(*args, **kwargs)
    return str(caught.value)


# --- Stream


def test_a_stream_keeps_its_settings() -> None:
    said = Stream(time="at", window="7 days", lateness="5 s", max_ahead=dt.timedelta(1))
    assert (said.time, said.window, said.lateness) == ("at", "7 days", "5 s")
    assert said.max_ahead == dt.timedelta(1)
    assert (DAY.lateness, DAY.max_ahead) == (0, None)
    with pytest.raises(FrozenInstanceError):
        said.window = "1 day"  # type: ignore[misc]


def test_a_numpy_float_becomes_a_plain_one() -> None:
    assert repr(Stream(time="at", window=np.float64(2.5))) == (
        "Stream(time='at', window=2.5, lateness=0, max_ahead=None, idle=None)"
    )


@pytest.mark.parametrize("time", ["", None, 3])
def test_a_stream_has_a_time_column(time: object) -> None:
    assert refusal(stream, time=time, window="1 day") == (
        f"time of Stream must be the name of a column; got {time!r}; "
        'write time="..." with the column that holds the time'
    )


@pytest.mark.parametrize("setting", ["window", "lateness", "max_ahead"])
@pytest.mark.parametrize("value", ["soon", -1, math.nan, True])
def test_durations_are_checked(setting: str, value: object) -> None:
    message = refusal(stream, **{"time": "at", "window": "1 day", setting: value})
    assert message.startswith(
        f'{setting} of Stream(time="at") must be a duration of zero or more; got {value!r}; '
    )


def test_a_duration_that_must_be_there_is_not_none() -> None:
    message = refusal(stream, time="at", window="1 day", lateness=None)
    assert "lateness of Stream" in message
    assert "got None" in message


def test_a_stream_of_a_join_has_a_window() -> None:
    assert refusal(specification, streams={"asks": DAY, "bids": stream(time="at")}, on=KEY) == (
        'window of stream "bids" must be given: for how long its rows can join; got None; '
        'write "bids": Stream(time="at", window="10 minutes"), say'
    )


def test_one_stream_does_not_mix_kinds_of_duration() -> None:
    assert refusal(stream, time="at", window="1 day", lateness=5) == (
        'durations of a stream must be all clock durations, such as "10 minutes", or all plain '
        "numbers; "
        "got {'window of Stream(time=\"at\")': '1 day', 'lateness of Stream(time=\"at\")': 5}; "
        "streams are joined on one kind of time, so use one kind for all"
    )


# --- Budget


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        ("64MB", 64 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("512kB", 512_000),
        ("512 KiB", 2**19),
        (" 2 mib ", 2**21),
        ("1TB", 10**12),
        ("1TiB", 2**40),
        ("3GB", 3 * 10**9),
        ("10 B", 10),
        ("1.0009kB", 1_000),
        (4_096, 4_096),
    ],
)
def test_memory_is_read_as_bytes(memory: str | int, size: int) -> None:
    assert Budget(memory=memory).memory_bytes == size


def test_a_budget_of_rows_has_no_bytes() -> None:
    assert Budget(rows=7).memory_bytes is None


@pytest.mark.parametrize("rows", [0, -1, 2**63, True, 1.0, "5"])
def test_rows_are_a_positive_whole_number(rows: object) -> None:
    assert refusal(budget, rows=rows) == (
        f"rows of Budget must be a whole number from 1 to 2**63 - 1; got {rows!r}; "
        "give the number of rows that the join may hold"
    )


@pytest.mark.parametrize(
    "memory",
    ["", "64", "64m", "MB", "-1MB", "0MB", "0.5B", "1e3MB", 0, -1, True, 1e9, 2**63, "9999999 TiB"],
)
def test_memory_is_an_amount(memory: object) -> None:
    assert refusal(budget, memory=memory) == (
        f"memory of Budget must be an amount of memory, from 1 to 2**63 - 1 bytes; "
        f'got {memory!r}; write "64MB", "1.5GiB" or a whole number of bytes'
    )


@pytest.mark.parametrize("cpu", [1, 1.0, 0.01, "50%", "12.5 %", "100%"])
def test_cpu_is_accepted_as_a_value(cpu: float | str) -> None:
    assert Budget(cpu=cpu).cpu == cpu
    assert Budget(rows=5, cpu=cpu).rows == 5


@pytest.mark.parametrize("cpu", [0, -0.5, 1.5, math.nan, math.inf, True, "half", "0%", "101%", []])
def test_cpu_is_a_fraction(cpu: object) -> None:
    assert refusal(budget, cpu=cpu) == (
        f"cpu of Budget must be a fraction above 0 and at most 1; got {cpu!r}; "
        'write 0.5 or "50%" for half of the time'
    )


def test_a_budget_is_of_rows_or_of_memory() -> None:
    assert refusal(budget, rows=5, memory="1MB") == (
        "Budget must be in rows or in memory; got Budget(rows=5, memory='1MB', cpu=None); "
        "choose one of rows and memory"
    )
    assert refusal(budget) == (
        "Budget must be given rows, memory or cpu; got Budget(rows=None, memory=None, cpu=None); "
        "leave `budget` out for the exact join"
    )


@pytest.mark.parametrize(
    ("given", "write"),
    [
        ("100MB", 'Budget(memory="100MB")'),
        (5_000, "Budget(rows=5000)"),
    ],
)
def test_a_budget_without_a_name_is_refused_with_what_to_write(given: object, write: str) -> None:
    assert refusal(Budget, given) == (f"Budget must be given by name; got {given!r}; write {write}")


# --- goals


@pytest.mark.parametrize("strategy", ["", 3, True, MaxSubset, object()])
@pytest.mark.parametrize("goal", [MaxSubset, Sample])
def test_a_strategy_is_a_name_or_an_object(goal: Callable[..., Goal], strategy: object) -> None:
    word = type(goal()).__name__
    assert refusal(goal, strategy=strategy) == (
        f"strategy of {word} must be a name or a strategy object; got {strategy!r}; "
        "leave it out to have one picked"
    )


def test_a_class_is_not_a_strategy() -> None:
    assert refusal(MaxSubset, strategy=Fifo) == (
        "strategy of MaxSubset must be a name or a strategy object; got 'Fifo'; "
        "write Fifo(), with its parameters"
    )
    assert refusal(MaxSubset, strategy={"cpu": Fifo}) == (
        "strategy of MaxSubset for \"cpu\" must be a name or a strategy object; got 'Fifo'; "
        "write Fifo(), with its parameters"
    )


def test_there_is_one_strategy_for_memory_and_one_for_cpu() -> None:
    said: dict[str, str | Fifo] = {"memory": "fifo", "cpu": Fifo()}
    goal = MaxSubset(strategy=said)
    assert goal == MaxSubset(strategy={"cpu": Fifo(), "memory": "fifo"})
    assert hash(goal) == hash(MaxSubset(strategy={"cpu": Fifo(), "memory": "fifo"}))
    said["memory"] = "random"
    assert goal.strategy == {"memory": "fifo", "cpu": Fifo()}
    assert refusal(MaxSubset, strategy={"disk": "fifo"}) == (
        "strategy of MaxSubset must be for memory and cpu; got 'disk'; "
        'write strategy={"memory": ..., "cpu": ...}'
    )
    assert refusal(MaxSubset, strategy={"memory": ""}).startswith(
        "strategy of MaxSubset for \"memory\" must be a name or a strategy object; got ''; "
    )


def test_importance_is_of_something() -> None:
    assert MaxImportance(of="price", strategy="greedy").of == "price"
    with pytest.raises(TypeError, match="'of'"):
        MaxImportance()  # type: ignore[call-arg]


def test_the_base_is_no_goal() -> None:
    assert refusal(Goal) == (
        "goal must be a particular one; got Goal(strategy=None); "
        "write MaxSubset(), MaxImportance(of=...) or Sample()"
    )


# --- Specification


def test_a_specification_keeps_its_settings() -> None:
    said = Specification(streams=TWO, on=KEY)
    assert said.names == ("auctions", "bids")
    assert said.streams == TWO
    assert said.streams["bids"] is DAY
    assert len(said.streams) == 2
    assert "asks" not in said.streams
    assert (said.on, said.goal, said.budget, said.seed) == (KEY, MaxSubset(), None, 0)
    with pytest.raises(KeyError, match="asks"):
        said.streams["asks"]
    with pytest.raises(FrozenInstanceError):
        said.seed = 1  # type: ignore[misc]


def test_the_streams_are_copied_and_cannot_be_changed() -> None:
    mine = dict(TWO)
    said = Specification(streams=mine, on=KEY)
    mine["clicks"] = DAY
    assert said.names == tuple(said.streams) == ("auctions", "bids")
    with pytest.raises(TypeError, match="item assignment"):
        said.streams["clicks"] = DAY  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        said.streams.pairs = ()  # type: ignore[attr-defined]


def test_specifications_are_values() -> None:
    said = Join(streams=TWO, on=KEY, budget=Budget(rows=9), seed=3)
    for twin in (
        pickle.loads(pickle.dumps(said)),  # noqa: S301
        copy.deepcopy(said),
        Join(streams=dict(TWO), on=Equal("id"), budget=Budget(rows=9), seed=3),
        replace(replace(said, seed=4), seed=3),
    ):
        assert type(twin) is Join
        assert twin == said
        assert hash(twin) == hash(said)
        assert hash(twin.streams) == hash(said.streams)


def test_different_specifications_differ() -> None:
    said = Specification(streams=TWO, on=KEY)
    backwards = dict(reversed(TWO.items()))
    assert said != Specification(streams=backwards, on=KEY), "columns come in another order"
    assert said != Join(streams=TWO, on=KEY)
    assert said != replace(said, seed=1)
    limited = replace(said, budget=Budget(rows=2))
    assert said != limited
    assert limited != replace(limited, goal=Sample())


def test_repr_has_the_name_of_the_class() -> None:
    assert repr(Join(streams=TWO, on=KEY)) == (
        f"Join(streams={TWO!r}, on=Equal('id'), goal=MaxSubset(strategy=None), budget=None, "
        "seed=0, align=None, spool='10GB')"
    )


@pytest.mark.parametrize("streams", [{}, {"a": DAY}, [DAY, DAY], None, "ab"])
def test_a_join_has_at_least_two_streams(streams: object) -> None:
    assert refusal(specification, streams=streams, on=KEY) == (
        f"streams must be a mapping of at least two names to streams; got {streams!r}; "
        'write streams={"name": Stream(...), "other": Stream(...)}'
    )


@pytest.mark.parametrize("name", ["", 3, None])
def test_names_are_strings(name: object) -> None:
    assert refusal(specification, streams={"a": DAY, name: DAY}, on=KEY) == (
        f"name of a stream must be a string that is not empty; got {name!r}; "
        'write streams={"name": Stream(...), ...}'
    )


@pytest.mark.parametrize("name", ["time", "weight", "cluster", "importance", "Time"])
def test_names_are_not_those_of_other_columns(name: str) -> None:
    assert refusal(specification, streams={"a": DAY, name: DAY}, on=KEY) == (
        "name of a stream must be none of time, weight, cluster, importance, columns of the "
        f"result; got {name!r}; choose another name"
    )


def test_names_differ_in_more_than_case() -> None:
    assert refusal(specification, streams={"bids": DAY, "Bids": DAY}, on=KEY) == (
        "names of streams must be different from each other in more than case; "
        "got ('bids', 'Bids'); "
        "rename one: Spark ignores case, so they are the same name"
    )


@pytest.mark.parametrize("value", ["at", {"time": "at", "window": "1 day"}, Stream, None])
def test_streams_are_streams(value: object) -> None:
    assert refusal(specification, streams={"asks": DAY, "bids": value}, on=KEY) == (
        f'stream "bids" must be a Stream; got {value!r}; '
        'write "bids": Stream(time="...", window="...")'
    )


def test_a_join_does_not_mix_kinds_of_duration() -> None:
    counted = Stream(time="position", window=5)
    assert refusal(specification, streams={"asks": DAY, "bids": counted}, on=KEY) == (
        'durations of a join must be all clock durations, such as "10 minutes", or all plain '
        "numbers; got {'window of stream \"asks\"': '1 day', 'window of stream \"bids\"': 5}; "
        "streams are joined on one kind of time, so use one kind for all"
    )
    ahead = Stream(time="position", window=0, max_ahead=2.5)
    message = refusal(specification, streams={"asks": ahead, "bids": DAY}, on=KEY)
    assert "{'max_ahead of stream \"asks\"': 2.5, 'window of stream \"bids\"': '1 day'}" in message


@pytest.mark.parametrize("window", ["1 day", dt.timedelta(1), "0 seconds", 5, 2.5])
def test_a_plain_zero_is_valid_with_both_kinds(window: str | float) -> None:
    both = {"a": Stream(time="t", window=window), "b": Stream(time="t", window=0, max_ahead=0.0)}
    assert Specification(streams=both, on=KEY).names == ("a", "b")


@pytest.mark.parametrize(
    ("on", "hint"),
    [
        ("id", 'write on=Equal("id")'),
        (Equal, "call it with its columns: on=Equal(...)"),
        (["id"], 'write on=Equal("..."), or use Within, Band, Compare or Similar'),
        (None, 'write on=Equal("..."), or use Within, Band, Compare or Similar'),
        (int, 'write on=Equal("..."), or use Within, Band, Compare or Similar'),
    ],
)
def test_on_is_a_predicate(on: object, hint: str) -> None:
    assert refusal(specification, streams=TWO, on=on) == (
        f"on must be a predicate; got {on!r}; {hint}"
    )


def test_the_predicate_names_the_streams_of_the_join() -> None:
    assert refusal(specification, streams=TWO, on=Equal(auction="id", bids="id")) == (
        'stream named in Equal must be one of "auctions", "bids"; got \'auction\'; '
        'did you mean "auctions"?'
    )
    assert refusal(specification, streams=TWO | {"c": DAY}, on=Equal(auctions="id", bids="id")) == (
        "streams named in Equal must be all the streams of the join; "
        "got ('auctions', 'bids'); add a column for \"c\""
    )


@pytest.mark.parametrize(
    ("goal", "hint"),
    [
        (MaxSubset, "call it: goal=MaxSubset()"),
        (MaxImportance, "call it: goal=MaxImportance(of=...)"),
        ("fifo", 'write goal=MaxSubset(strategy="fifo")'),
        (None, "write MaxSubset(), MaxImportance(of=...) or Sample()"),
        (int, "write MaxSubset(), MaxImportance(of=...) or Sample()"),
    ],
)
def test_the_goal_is_a_goal(goal: object, hint: str) -> None:
    assert refusal(specification, streams=TWO, on=KEY, goal=goal) == (
        f"goal must be a goal; got {goal!r}; {hint}"
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (5_000, "write budget=Budget(rows=5000)"),
        (0, 'write budget=Budget(rows=...) or Budget(memory="...")'),
        ("64MB", 'write budget=Budget(rows=...) or Budget(memory="...")'),
        (Budget, 'write budget=Budget(rows=...) or Budget(memory="...")'),
    ],
)
def test_the_budget_is_a_budget(value: object, hint: str) -> None:
    assert refusal(specification, streams=TWO, on=KEY, budget=value) == (
        f"budget must be a Budget or None; got {value!r}; {hint}"
    )


def test_the_budget_has_a_row_for_each_stream() -> None:
    three = TWO | {"clicks": DAY}
    assert Specification(streams=three, on=KEY, budget=Budget(rows=3)).budget == Budget(rows=3)
    assert refusal(specification, streams=three, on=KEY, budget=Budget(rows=2)) == (
        "rows of the budget must be at least 3, one for each stream; got 2; give it more rows"
    )


def test_a_budget_of_cpu_is_not_for_importance() -> None:
    given = {"streams": TWO, "on": KEY, "budget": Budget(rows=9, cpu=0.5)}
    for goal in (MaxSubset(), Sample()):
        assert specification(**given, goal=goal).budget == given["budget"]
    assert "got MaxImportance(" in refusal(specification, **given, goal=MaxImportance(of="v"))


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.0, "1", None])
def test_the_seed_is_a_whole_number(seed: object) -> None:
    assert refusal(specification, streams=TWO, on=KEY, seed=seed) == (
        f"seed must be a whole number from 0 to 2**63 - 1; got {seed!r}; write seed=0, say"
    )


# --- repr

CLOCK = st.one_of(
    st.builds("{} {}".format, st.integers(0, 99), st.sampled_from(["days", "s", "ms"])),
    st.timedeltas(dt.timedelta(0), dt.timedelta(days=99)),
    st.just(0),
)
PLAIN = st.one_of(st.integers(0, 10**9), st.floats(0, 1e9))
NAMES = st.text(min_size=1).filter(
    lambda name: name.casefold() not in {"time", "weight", "cluster", "importance", "low", "high"}
)


@st.composite
def streams_of(draw: st.DrawFn) -> dict[str, Stream]:
    durations = draw(st.sampled_from([CLOCK, PLAIN]))
    made = st.builds(
        Stream,
        time=st.text(min_size=1),
        window=durations,
        lateness=durations,
        max_ahead=st.none() | durations,
    )
    names = draw(st.lists(NAMES, min_size=2, max_size=4, unique_by=str.casefold))
    return {name: draw(made) for name in names}


@st.composite
def specifications(draw: st.DrawFn) -> Specification:
    streams = draw(streams_of())
    columns = {name: draw(st.text(min_size=1)) for name in streams}
    predicates: list[Predicate] = [
        Equal("id"),
        Equal(**columns),
        Within(draw(st.floats(0, 9)), **columns),
        Band(low=Decimal("-0.5"), high=draw(st.integers(0, 9)), **columns),
        Compare(draw(st.sampled_from(["<", "!="])), **columns),
    ]

    def named(goal: type[Goal]) -> st.SearchStrategy[str | None]:
        return st.none() | st.sampled_from(goal.strategy_names or ())

    both: st.SearchStrategy[Any] = st.just({"memory": "fifo", "cpu": Fifo()})
    budgets = st.one_of(
        st.none(),
        st.builds(Budget, rows=st.integers(len(streams), 2**63 - 1)),
        st.builds(Budget, memory=st.integers(1, 2**40) | st.just("1.5GiB")),
    )
    budget = draw(budgets)
    goals: list[Goal] = [
        MaxSubset(strategy=draw(named(MaxSubset) | st.just(Fifo()) | both)),
        MaxImportance(
            of=draw(st.text(min_size=1)),
            strategy=draw(named(MaxImportance) | st.builds(Ijoin, maturity=st.floats(0, 1))),
        ),
    ]
    if len(streams) == 2 and budget is not None:
        of, column = draw(st.sampled_from(list(streams))), draw(st.text(min_size=1))
        roundings = st.sampled_from(["bound", "up", "down", "random"])
        strategy = draw(named(Sample) | st.builds(Uniform, rounding=roundings))
        goals.append(Sample(strategy=strategy, of=of, matches={of: column}))
    return draw(st.sampled_from([Specification, Join]))(
        streams=streams,
        on=draw(st.sampled_from(predicates)),
        goal=draw(st.sampled_from(goals)),
        budget=budget,
        seed=draw(st.integers(0, 2**63 - 1)),
    )


@given(said=specifications())
def test_repr_reads_back(said: Specification) -> None:
    twin = eval(repr(said), READABLE)  # noqa: S307
    assert type(twin) is type(said)
    assert twin == said
    assert hash(twin) == hash(said)
    assert twin.names == said.names
