from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError
from penstock.predicates import Band, Compare, Equal, Predicate, Similar, Within

if TYPE_CHECKING:
    from collections.abc import Callable

# The same classes, open to what a type checker would refuse.
equal: Callable[..., Equal] = Equal
within: Callable[..., Within] = Within
band: Callable[..., Band] = Band
compare: Callable[..., Compare] = Compare
similar: Callable[..., Similar] = Similar

READABLE = {each.__name__: each for each in (Band, Compare, Decimal, Equal, Similar, Within)}

EXAMPLES: list[tuple[Predicate, str]] = [
    (Equal("auction_id"), "Equal('auction_id')"),
    (Equal("site", "day"), "Equal('site', 'day')"),
    (Equal(auctions="id", bids="auction_id"), "Equal(auctions='id', bids='auction_id')"),
    (Equal(a=["x", "y"], b=("z", "y")), "Equal(a=('x', 'y'), b=('z', 'y'))"),
    (Within(5, a="x", b="y", c="z"), "Within(5, a='x', b='y', c='z')"),
    (Within(Decimal("0.5"), a="x", b="y"), "Within(Decimal('0.5'), a='x', b='y')"),
    (Within(np.float64(0.25), a="x", b="y"), "Within(0.25, a='x', b='y')"),
    (Band(low=-1, high=2.5, a="x", b="y"), "Band(low=-1, high=2.5, a='x', b='y')"),
    (Compare("<", a="x", b="y"), "Compare('<', a='x', b='y')"),
    (Similar(1, a="v", b="w"), "Similar(1, metric='euclidean', a='v', b='w')"),
    (
        Similar(0.5, metric="cosine", dimensions=3, a="v", b="w"),
        "Similar(0.5, metric='cosine', dimensions=3, a='v', b='w')",
    ),
    (
        Compare("<", **{"from": "x", "my stream": "y"}),
        "Compare('<', **{'from': 'x', 'my stream': 'y'})",
    ),
]


@pytest.mark.parametrize(("predicate", "text"), EXAMPLES)
def test_repr_is_the_python_that_makes_it(predicate: Predicate, text: str) -> None:
    assert repr(predicate) == text
    assert eval(text, READABLE) == predicate  # noqa: S307


@pytest.mark.parametrize("predicate", [predicate for predicate, _ in EXAMPLES])
def test_predicates_are_values(predicate: Predicate) -> None:
    for twin in (pickle.loads(pickle.dumps(predicate)), copy.deepcopy(predicate)):  # noqa: S301
        assert twin == predicate
        assert hash(twin) == hash(predicate)
    with pytest.raises(FrozenInstanceError):
        predicate.by_stream = ()  # type: ignore[misc]


def test_different_predicates_differ() -> None:
    assert len({predicate for predicate, _ in EXAMPLES}) == len(EXAMPLES)
    assert Compare("<", a="x", b="y") != Compare("<", b="y", a="x")
    alike: list[Predicate] = [Compare("=", a="x", b="y"), Equal(a="x", b="y")]
    assert alike[0] != alike[1]


def test_equal_keeps_what_was_said() -> None:
    alike = Equal("site", "day")
    assert alike.columns == ("site", "day")
    assert alike.by_stream == ()
    assert alike.streams is None
    assert alike.columns_of("anything") == ("site", "day")
    named = Equal(auctions="id", bids="auction_id")
    assert named.columns == ()
    assert named.by_stream == (("auctions", ("id",)), ("bids", ("auction_id",)))
    assert named.streams == ("auctions", "bids")
    assert named.columns_of("bids") == ("auction_id",)


def test_settings_are_kept() -> None:
    assert Within(5, a="x", b="y").distance == 5
    assert (Band(low=1, high=2, a="x", b="y").low, Band(low=1, high=2, a="x", b="y").high) == (1, 2)
    chained = Compare(">=", c="x", a="y", b="z")
    assert chained.operator == ">="
    assert chained.streams == ("c", "a", "b")
    assert chained.columns_of("a") == ("y",)


def test_streams_may_be_called_like_settings() -> None:
    names = ("self", "distance", "operator", "columns", "by_stream")
    columns = dict.fromkeys(names, "x")
    for predicate in (
        equal(**columns),
        within(1, **columns),
        band(low=0, high=1, **columns),
        compare("<", **columns),
    ):
        assert predicate.streams == names
        assert eval(repr(predicate), READABLE) == predicate  # noqa: S307
    for predicate in (within(1, low="x", high="y"), compare("<", low="x", high="y")):
        assert predicate.streams == ("low", "high")


NAMES = st.lists(st.text(min_size=1), min_size=2, max_size=4, unique=True)
NUMBERS = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    columns = {name: draw(st.text(min_size=1)) for name in draw(NAMES)}
    kind = draw(st.sampled_from(["alike", "equal", "within", "band", "compare"]))
    if kind == "alike":
        return Equal(*draw(NAMES))
    if kind == "equal":
        width = draw(st.integers(1, 3))
        several = st.lists(st.text(min_size=1), min_size=width, max_size=width, unique=True)
        return equal(**{name: draw(several) for name in columns})
    if kind == "within":
        return within(abs(draw(NUMBERS)), **columns)
    if kind == "band":
        low, high = sorted([draw(NUMBERS), draw(NUMBERS)])
        columns = {name: column for name, column in columns.items() if name not in {"low", "high"}}
        return band(low=low, high=high, **(columns if len(columns) > 1 else {"a": "x", "b": "y"}))
    return compare(draw(st.sampled_from(["<", "<=", "=", "!=", ">", ">="])), **columns)


@given(predicate=predicates())
def test_repr_reads_back(predicate: Predicate) -> None:
    twin = eval(repr(predicate), READABLE)  # noqa: S307
    assert twin == predicate
    assert hash(twin) == hash(predicate)


def test_a_name_that_python_would_rewrite_reads_back() -> None:
    ligature = "\ufb01"  # as an identifier Python makes it "fi"
    predicate = equal(**{ligature: "x", "b": "y"})
    assert eval(repr(predicate), READABLE) == predicate  # noqa: S307


def refusal(make: Callable[..., object], *args: object, **kwargs: object) -> str:
    with pytest.raises(SpecificationError) as caught:
        make(*args, **kwargs)
    return str(caught.value)


ONE_FORM = (
    "columns of Equal must be given once, for all streams or for each by its name; "
    'got {}; write Equal("id") or Equal(auctions="id", bids="auction_id")'
)
GIVE_NAMES = 'give names of columns, as in "id" or ("id", "site")'


def test_equal_refuses_nothing_and_both_forms() -> None:
    assert refusal(equal) == ONE_FORM.format("()")
    assert refusal(equal, "id", bids="id") == ONE_FORM.format("('id', {'bids': 'id'})")


@pytest.mark.parametrize("columns", [("",), (1,), (["a", "b"],), ("a", None)])
def test_equal_refuses_what_is_no_column(columns: tuple[object, ...]) -> None:
    assert refusal(equal, *columns) == (
        f"columns of Equal must be one or more names of columns; got {columns!r}; {GIVE_NAMES}"
    )


@pytest.mark.parametrize(
    ("given_columns", "shown"),
    [((), "()"), ("", "('',)"), (3, "(3,)"), ({"a"}, "({'a'},)"), (["a", 3], "('a', 3)")],
)
def test_equal_refuses_what_is_no_column_of_a_stream(given_columns: object, shown: str) -> None:
    assert refusal(equal, asks="id", bids=given_columns) == (
        'columns of stream "bids" in Equal must be one or more names of columns; '
        f"got {shown}; {GIVE_NAMES}"
    )


def test_equal_refuses_a_column_twice() -> None:
    assert refusal(equal, "a", "a") == (
        "columns of Equal must be different columns; got ('a', 'a'); name each column once"
    )
    assert refusal(equal, asks=("a", "b"), bids=("a", "a")) == (
        "columns of stream \"bids\" in Equal must be different columns; got ('a', 'a'); "
        "name each column once"
    )


def test_equal_refuses_unequal_numbers_of_columns() -> None:
    assert refusal(equal, asks=("a", "b"), bids="a") == (
        "columns of Equal must be the same number for every stream; "
        "got {'asks': ('a', 'b'), 'bids': 'a'}; "
        "each column is compared with the one in the same place"
    )


@pytest.mark.parametrize(
    ("word", "make"),
    [
        ("Equal", equal),
        ("Within", partial(within, 1)),
        ("Band", partial(band, low=0, high=1)),
        ("Compare", partial(compare, "<")),
    ],
)
def test_one_stream_is_too_few(word: str, make: Callable[..., Predicate]) -> None:
    assert refusal(make, bids="id") == (
        f"columns of {word} must be given for at least two streams; got {{'bids': 'id'}}; "
        f'name each stream of the join, as in {word}(..., auctions="id", bids="id")'
    )


def test_no_stream_is_too_few() -> None:
    assert "given for at least two streams; got {}" in refusal(within, 1)


@pytest.mark.parametrize("column", ["", None, 3, ("x", "y")])
def test_numeric_predicates_take_one_column_of_each_stream(column: object) -> None:
    for word, message in (
        ("Within", refusal(within, 1, asks="x", bids=column)),
        ("Band", refusal(band, low=0, high=1, asks="x", bids=column)),
        ("Compare", refusal(compare, "<", asks="x", bids=column)),
    ):
        assert message == (
            f'column of stream "bids" in {word} must be the name of one column; '
            f"got {column!r}; {word} compares one column of each stream"
        )


BEYOND = "give a number within the range of a float"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (math.nan, BEYOND),
        (math.inf, BEYOND),
        (10**400, BEYOND),
        (Decimal("NaN"), BEYOND),
        (Decimal("sNaN"), BEYOND),
        (Decimal("1e400"), BEYOND),
        (True, "give a number"),
        ("5", "give a number"),
        (None, "give a number"),
    ],
)
def test_bounds_are_finite_numbers(value: object, hint: str) -> None:
    shown = repr(value) if len(repr(value)) <= 200 else repr(value)[:197] + "..."
    for name, message in (
        ("distance of Within", refusal(within, value, a="x", b="y")),
        ("low of Band", refusal(band, low=value, high=1, a="x", b="y")),
        ("high of Band", refusal(band, low=1, high=value, a="x", b="y")),
    ):
        assert message == f"{name} must be a finite number; got {shown}; {hint}"


def test_similar_needs_a_metric_that_there_is() -> None:
    assert refusal(similar, 1, metric="cosin", a="v", b="v") == (
        'metric of Similar must be one of "euclidean", "cosine"; got \'cosin\'; '
        'did you mean "cosine"?'
    )
    assert refusal(similar, 1, metric=2, a="v", b="v") == (
        'metric of Similar must be one of "euclidean", "cosine"; got 2; '
        "use one of these, as a string"
    )


@pytest.mark.parametrize("dimensions", [0, -1, 2.0, True, "3"])
def test_dimensions_are_a_whole_number(dimensions: object) -> None:
    assert refusal(similar, 1, dimensions=dimensions, a="v", b="v") == (
        f"dimensions of Similar must be a whole number of 1 or more; got {dimensions!r}; "
        f"give how many numbers a vector has"
    )


def test_a_distance_of_vectors_is_zero_or_more() -> None:
    assert refusal(similar, -1, a="v", b="v") == (
        "distance of Similar must be zero or more; got -1; "
        "give the largest difference that still joins"
    )
    assert refusal(similar, math.nan, a="v", b="v").startswith(
        "distance of Similar must be a finite number; got nan"
    )
    assert refusal(similar, 1, a="v").startswith("columns of Similar must be given for at least")


def test_bounds_are_in_order() -> None:
    assert refusal(within, -0.5, a="x", b="y") == (
        "distance of Within must be zero or more; got -0.5; "
        "give the largest difference that still joins"
    )
    assert refusal(band, low=2, high=1, a="x", b="y") == (
        "low of Band must be at most 1; got 2; exchange the two bounds"
    )


@pytest.mark.parametrize(
    ("operator", "hint"),
    [
        ("==", 'use "="'),
        ("<>", 'use "!="'),
        ("=<", 'use "<="'),
        ("=>", 'use ">="'),
        ("~", "use one of these, as a string"),
        (None, "use one of these, as a string"),
        (["<"], "use one of these, as a string"),
    ],
)
def test_operators_are_known(operator: object, hint: str) -> None:
    assert refusal(compare, operator, a="x", b="y") == (
        'operator of Compare must be one of "<", "<=", "=", "!=", ">", ">="; '
        f"got {operator!r}; {hint}"
    )


def test_check_accepts_the_streams_that_are_named() -> None:
    Equal("id").check(["whatever", "else"])
    Equal(auctions="id", bids="auction_id").check(["bids", "auctions"])


@pytest.mark.parametrize(
    ("stream", "hint"),
    [
        ("bid", 'did you mean "bids"?'),
        ("BIDS", 'did you mean "bids"?'),
        ("clicks", "use the names that the join gives its streams"),
    ],
)
def test_unknown_streams_are_refused(stream: str, hint: str) -> None:
    predicate = compare("<", auctions="x", **{stream: "y"})
    assert refusal(predicate.check, ["auctions", "bids"]) == (
        f'stream named in Compare must be one of "auctions", "bids"; got {stream!r}; {hint}'
    )


def test_streams_left_out_are_refused() -> None:
    predicate = Within(1, a="x", c="z")
    assert refusal(predicate.check, ["a", "b", "c", "d"]) == (
        "streams named in Within must be all the streams of the join; got ('a', 'c'); "
        'add a column for "b", "d"'
    )


def test_columns_of_an_unknown_stream_are_refused() -> None:
    assert refusal(Equal(auctions="id", bids="id").columns_of, "auction") == (
        'stream named in Equal must be one of "auctions", "bids"; got \'auction\'; '
        'did you mean "auctions"?'
    )


def test_the_base_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Predicate()  # type: ignore[abstract]
