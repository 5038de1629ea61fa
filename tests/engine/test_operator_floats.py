"""Naive == fast where values or times are floating-point numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from tests.engine.cases import KINDS, Size, make_case, seeded
from tests.engine.support import assert_twins, choices, examples

if TYPE_CHECKING:
    from penstock.predicates import Predicate
    from tests.engine.support import Pick

STRATEGIES = (None, "fifo", "random")
FLOAT = [name for name, kind in KINDS.items() if kind.is_floating]


@pytest.mark.nojit
@pytest.mark.parametrize("name", FLOAT)
@pytest.mark.parametrize("streams", [2, 3])
@given(pick=choices())
@examples(30)
def test_floating_values_join_as_their_naive_twin(name: str, streams: int, pick: Pick) -> None:
    strategy = STRATEGIES[pick(0, 2)]
    assert_twins(make_case(pick, KINDS[name], streams=streams, strategy=strategy))


@pytest.mark.parametrize("name", FLOAT)
def test_hundreds_of_floating_values_join_as_their_naive_twin(name: str) -> None:
    size = Size(batches=8, rows=40, times=30, window=40, budget=60, full=True)
    assert_twins(make_case(seeded(4), KINDS[name], strategy="random", size=size))


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["equal text", "within whole", "compare <"])
@given(pick=choices())
@examples(30)
def test_floating_times_join_as_their_naive_twin(name: str, pick: Pick) -> None:
    streams, strategy = pick(2, 3), STRATEGIES[pick(0, 2)]
    size = Size(window=100) if name == "compare <" else Size()  # beyond 16: sub-windows
    assert_twins(
        make_case(
            pick, KINDS[name], streams=streams, strategy=strategy, floating_time=True, size=size
        )
    )


@pytest.mark.parametrize("on", [ps.Equal("k"), ps.Compare("<=", a="k", b="k")])
@pytest.mark.parametrize("first", ["together", "older", "newer"])
@pytest.mark.parametrize(
    ("older", "newer", "window"),
    [
        (0.7, 3.7, 3.0),
        (2.9, 3.1, 0.2),
        (0.8, 0.9, 0.1),
        (-1000 - 2.0**-43, -(2.0**-44), 1000.0),  # rounded to exactly the window
    ],
)
def test_a_float_at_the_edge_of_its_window_joins_by_the_difference_of_doubles(
    older: float, newer: float, window: float, first: str, on: Predicate
) -> None:
    join = ps.Join(
        streams={"a": ps.Stream(time="t", window=window), "b": ps.Stream(time="t", window=10.0)},
        on=on,
    )
    a, b = (pa.table({"t": [time], "k": [1]}) for time in (older, newer))
    empty = a.slice(0, 0)
    batches = {
        "together": {"a": [a], "b": [b]},
        "older": {"a": [a, empty], "b": [empty, b]},
        "newer": {"a": [empty, a], "b": [b, empty]},
    }
    joined = newer - older <= window
    assert join.replay(batches[first]).metrics.emitted == joined
