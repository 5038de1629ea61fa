"""What users say of their streams: used if it is good, refused in their own words if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.strategies import strategies_for
from penstock.testing import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.predicates import Predicate

NAN, INFINITY = float("nan"), float("inf")

# The same classes, open to what a type checker would refuse.
max_subset: Callable[..., ps.MaxSubset] = ps.MaxSubset
budget: Callable[..., ps.Budget] = ps.Budget

CURVE_HINT = 'write curve={"stream": [results in the first part of its window, in the second, ...]}'
FREQUENCIES_HINT = 'write frequencies={"stream": {value: share, ...}}'


def refusal(call: Callable[..., object], **settings: object) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        call(**settings)
    return str(caught.value)


# --- The goal


@pytest.mark.parametrize("curve", [{}, [1, 2], 7, "abc"], ids=repr)
def test_curves_are_given_by_stream(curve: object) -> None:
    words = refusal(max_subset, curve=curve)
    expected = f"curve must be a curve for each stream by name; got {curve!r}; {CURVE_HINT}"
    assert words == expected


@pytest.mark.parametrize(
    "curve",
    [[], [1, -1], [1, NAN], [INFINITY], ["a"], [True], [None], [[1]], 5, "abc", {1: 2}, None],
    ids=repr,
)
def test_a_curve_is_a_list_of_numbers(curve: object) -> None:
    words = refusal(max_subset, curve={"asks": curve})
    requirement = "1 to 4096 numbers of 0 or more"
    assert words == f'curve of stream "asks" must be {requirement}; got {curve!r}; {CURVE_HINT}'


def test_a_curve_is_not_endless() -> None:
    assert "1 to 4096 numbers" in refusal(max_subset, curve={"asks": [1] * 4097})
    assert ps.MaxSubset(curve={"asks": [1] * 4096}).parts == 4096


@pytest.mark.parametrize(
    "curve",
    [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1, 2], np.float32), pa.array([1.0, 2.0])],
    ids=["list", "tuple", "array", "float32", "Arrow"],
)
def test_a_curve_may_be_any_kind_of_list(curve: object) -> None:
    goal = max_subset(curve={"asks": curve})
    assert goal.curve == {"asks": (1.0, 2.0)}
    assert goal.parts == 2
    assert goal == ps.MaxSubset(curve={"asks": [1, 2]})
    assert hash(goal) == hash(ps.MaxSubset(curve={"asks": [1, 2]}))


def test_what_was_given_can_be_changed_afterwards_to_no_effect() -> None:
    curve, frequencies = {"asks": [1, 2]}, {"asks": {"x": 0.5}}
    goal = ps.MaxSubset(curve=curve, frequencies=frequencies)
    curve["asks"].append(3)
    curve["bids"] = [4]
    frequencies["asks"]["x"] = 0.7
    assert goal == ps.MaxSubset(curve={"asks": [1, 2]}, frequencies={"asks": {"x": 0.5}})


@pytest.mark.parametrize("frequencies", [{}, [1, 2], 7, "abc"], ids=repr)
def test_frequencies_are_given_by_stream(frequencies: object) -> None:
    words = refusal(max_subset, frequencies=frequencies)
    requirement = "shares of values for each stream by name"
    assert words == f"frequencies must be {requirement}; got {frequencies!r}; {FREQUENCIES_HINT}"


@pytest.mark.parametrize("shares", [{}, [0.5], 0.5, "abc", None], ids=repr)
def test_frequencies_are_shares_by_value(shares: object) -> None:
    words = refusal(max_subset, frequencies={"asks": shares})
    owner = 'frequencies of stream "asks"'
    assert words == f"{owner} must be a share for each value; got {shares!r}; {FREQUENCIES_HINT}"


@pytest.mark.parametrize("share", [-0.1, 1.5, 3, NAN, INFINITY, "x", True, None], ids=repr)
def test_a_share_is_from_0_to_1(share: object) -> None:
    words = refusal(max_subset, frequencies={"asks": {"good": 0.5, "bad": share}})
    owner = "frequencies of stream \"asks\", of 'bad',"
    assert words == f"{owner} must be from 0 to 1; got {share!r}; divide by their sum"


@pytest.mark.parametrize("parts", [0, -1, 4097, 1.5, "3", True, None], ids=repr)
def test_parts_are_a_number_that_can_be_ranked(parts: object) -> None:
    words = refusal(max_subset, parts=parts)
    requirement = "a whole number from 1 to 4096"
    expected = f"parts of MaxSubset must be {requirement}; got {parts!r}; 32 is a good number"
    assert words == expected


@pytest.mark.parametrize("half_life", [0, -1.0, INFINITY, NAN, "2", True, None], ids=repr)
def test_a_half_life_is_a_number_of_windows(half_life: object) -> None:
    words = refusal(max_subset, half_life=half_life)
    owner = "half_life of MaxSubset must be a number of windows above 0"
    assert words.startswith(f"{owner}; got {half_life!r}; ")
    assert "windows ago counts half" in words


@pytest.mark.parametrize("monitor", [-0.1, 0.51, 1, NAN, INFINITY, "5%", True], ids=repr)
def test_at_most_half_of_the_rows_are_monitored(monitor: object) -> None:
    words = refusal(budget, rows=10, monitor=monitor)
    owner = "monitor of Budget must be a fraction from 0 to 0.5"
    assert words == f"{owner}; got {monitor!r}; give 0.05 for 5 %, 0 for none, None for the default"


@pytest.mark.parametrize(("monitor", "rows"), [(None, 5), (0, 0), (0.5, 50), (0.129, 12)])
def test_so_many_rows_are_monitored(monitor: float | None, rows: int) -> None:
    assert ps.Budget(rows=100, monitor=monitor).monitored(100) == rows


def test_another_name_for_fifo() -> None:
    goal = ps.MaxSubset(strategy="recent")
    assert strategies_for(goal) == strategies_for(ps.MaxSubset(strategy="fifo"))
    recent, fifo = (
        join_of(ps.MaxSubset(strategy=name)).replay(TABLES) for name in ("recent", "fifo")
    )
    assert recent.metrics == fifo.metrics
    assert recent.metrics.strategy == "fifo"
    assert canonical_rows(recent.result) == canonical_rows(fifo.result)


# --- The join

TABLE = pa.table(
    {
        "t": list(range(600)),
        "id": [i % 7 for i in range(600)],
        "name": [f"n{i % 3}" for i in range(600)],
        "price": [i % 5 / 2 for i in range(600)],
    }
)
TABLES = {"asks": TABLE, "bids": TABLE}


def join_of(
    goal: ps.MaxSubset, on: Predicate | None = None, monitor: float | None = None
) -> ps.Join:
    each = ps.Stream(time="t", window=50)
    return ps.Join(
        streams={"asks": each, "bids": each},
        on=on or ps.Equal("id"),
        goal=goal,
        budget=ps.Budget(rows=20, monitor=monitor),
    )


@pytest.mark.parametrize("known", ["curve", "frequencies"])
def test_a_stream_that_the_join_does_not_have_is_refused(known: str) -> None:
    given = {"curve": {"askes": [1, 2]}, "frequencies": {"askes": {1: 0.5}}}[known]
    words = refusal(join_of, goal=max_subset(**{known: given}))
    assert known in words
    assert "'askes'" in words
    assert '"asks"' in words


@pytest.mark.parametrize(
    ("on", "value", "columns"),
    [
        (ps.Equal("id"), "x", "id (int64)"),
        (ps.Equal("id"), 1.5, "id (int64)"),
        (ps.Equal("id"), 2**70, "id (int64)"),
        (ps.Equal("id"), (1, 2), "id (int64)"),
        (ps.Equal("name"), 7, "name (string)"),
        (ps.Equal("price"), "cheap", "price (double)"),
        (ps.Equal("id", "name"), 1, "id, name (int64, string)"),
        (ps.Equal("id", "name"), ("n1", 1), "id, name (int64, string)"),
        (ps.Equal("id", "name"), (1, "n1", 2), "id, name (int64, string)"),
    ],
    ids=repr,
)
def test_values_of_frequencies_are_like_those_of_the_stream(
    on: Predicate, value: object, columns: str
) -> None:
    join = join_of(max_subset(strategy="prob", frequencies={"asks": {value: 0.5}}), on)
    words = refusal(join.replay, tables=TABLES)
    assert words == (
        f'frequencies of stream "asks" must be of values like those of {columns}; got {value!r}; '
        "give a share for each value of the predicate's columns"
    )


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        (["id"], 5),
        (["id"], (5,)),
        (["name"], "n2"),
        (["price"], 1.5),
        (["price"], 1),
        (["id", "name"], (5, "n2")),
    ],
    ids=repr,
)
def test_the_values_that_are_said_to_be_frequent_are_kept(
    columns: list[str], value: object
) -> None:
    wanted = value if isinstance(value, tuple) else (value,)

    def found(goal: ps.MaxSubset) -> int:
        result = join_of(goal, ps.Equal(*columns)).replay(TABLES).result
        rows = result["asks"].to_pylist()
        return sum(tuple(row[name] for name in columns) == wanted for row in rows)

    shares = {"asks": {value: 0.5}, "bids": {value: 0.5}}
    known = max_subset(strategy="prob", frequencies=shares)
    assert found(known) > found(ps.MaxSubset(strategy="fifo"))


WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32())
DECIMALS = (pa.decimal32(9, 2), pa.decimal128(12, 3), pa.decimal256(18, 0))
FLOATS = (pa.float16(), pa.float32(), pa.float64())
ON_ONE = (ps.Equal("n"), ps.Compare("=", asks="n", bids="n"))


def _numbers(kind: pa.DataType, other: pa.DataType | None = None) -> dict[str, pa.Table]:
    """Return two streams with the same whole numbers, of any type of number."""
    draw = np.random.default_rng(8)
    rows = 600
    tables = {}
    for name, type_ in zip(("asks", "bids"), (kind, other or kind), strict=True):
        numbers = draw.integers(0, 33, rows)
        half = pa.types.is_float16(type_)  # for which Arrow takes no plain numbers
        listed = list(numbers.astype(np.float16)) if half else numbers.tolist()
        tables[name] = pa.table({"t": np.arange(rows), "n": pa.array(listed, type_)})
    return tables


def _outcome(on: Predicate, tables: dict[str, pa.Table], known: dict[object, float]) -> object:
    goal = max_subset(strategy="prob", frequencies={"asks": known, "bids": known})
    # Draws follow from the content of a row, so from its type: nothing is drawn here.
    replay = join_of(goal, on, monitor=0).replay(tables)
    times = [replay.result[name].combine_chunks().field("t").to_pylist() for name in tables]
    return replay.metrics.emitted, sorted(zip(*times, strict=True))


# An odd number of values, of which one is not in the streams.
_SHARES: dict[object, float] = {
    **{value: 0.1 if value < 7 else 0.01 for value in range(34)},
    100: 0.04,
}


@pytest.mark.parametrize("on", ON_ONE, ids=["Equal", "Compare"])
@pytest.mark.parametrize("kind", [*WHOLE, *FLOATS, *DECIMALS], ids=str)
def test_known_frequencies_say_the_same_of_every_type_of_number(
    on: Predicate, kind: pa.DataType
) -> None:
    assert _outcome(on, _numbers(kind), _SHARES) == _outcome(on, _numbers(pa.int64()), _SHARES)


@pytest.mark.parametrize("on", ON_ONE, ids=["Equal", "Compare"])
def test_known_frequencies_matter(on: Predicate) -> None:
    whole = _numbers(pa.int64())
    assert _outcome(on, whole, _SHARES) != _outcome(on, whole, {100: 1.0})


@pytest.mark.parametrize(
    ("kind", "other"),
    [(pa.int32(), pa.float64()), (pa.float32(), pa.decimal128(9, 2)), (pa.int16(), DECIMALS[0])],
    ids=str,
)
def test_known_frequencies_of_two_types_of_numbers_that_are_compared(
    kind: pa.DataType, other: pa.DataType
) -> None:
    on = ps.Compare("=", asks="n", bids="n")
    expected = _outcome(on, _numbers(pa.int64()), _SHARES)
    assert _outcome(on, _numbers(kind, other), _SHARES) == expected
    assert _outcome(on, _numbers(other, kind), _SHARES) == expected


@pytest.mark.parametrize("on", ON_ONE, ids=["Equal", "Compare"])
def test_a_null_matches_nothing_however_frequent_it_is(on: Predicate) -> None:
    tables = _numbers(pa.int64())
    assert _outcome(on, tables, _SHARES | {None: 0.9}) == _outcome(on, tables, _SHARES)
    assert _outcome(on, tables, {None: 0.9})


@pytest.mark.parametrize("on", ON_ONE, ids=["Equal", "Compare"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.float32(), NAN),
        (pa.float32(), 1e300),
        (pa.float64(), "1"),
        (pa.int32(), 1.5),
        (pa.int16(), 2**20),
        (DECIMALS[0], 1.5),
        (DECIMALS[1], "cheap"),
    ],
    ids=str,
)
def test_a_number_that_the_type_does_not_have_is_refused(
    on: Predicate, kind: pa.DataType, value: object
) -> None:
    goal = max_subset(strategy="prob", frequencies={"asks": {value: 0.5}})
    words = refusal(join_of(goal, on).replay, tables=_numbers(kind))
    assert words.startswith(
        f'frequencies of stream "asks" must be of values like those of n ({kind}'
    )


def test_a_tenth_is_a_tenth_in_every_type() -> None:
    on = ps.Compare("=", asks="n", bids="n")
    tables = _numbers(pa.float32())
    goal = max_subset(strategy="prob", frequencies={"asks": {0.1: 0.5}, "bids": {0.1: 0.5}})
    assert join_of(goal, on).replay(tables).metrics.emitted
