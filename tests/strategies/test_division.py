"""Memory between the streams: against brute force."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.age_curve import AgeCurve
from penstock.strategies.division import divide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Floats = npt.NDArray[np.float64]


@st.composite
def outputs(draw: st.DrawFn, streams: int) -> list[Callable[[Floats], Floats]]:
    """What AGE makes of memory, for windows of different rates, lengths and curves."""
    made: list[Callable[[Floats], Floats]] = []
    for _ in range(streams):
        curve = AgeCurve(draw(st.lists(st.integers(0, 9), min_size=1, max_size=6)))
        rate, window = draw(st.integers(1, 9)), draw(st.integers(1, 20))
        made.append(partial(curve.output, rate=rate, window=window))
    return made


def brute_force(rows: float, outputs: Sequence[Callable[[Floats], Floats]], pieces: int) -> float:
    """The most that any division into so many pieces gives."""
    gains = [output(rows * np.arange(pieces + 1) / pieces) for output in outputs]
    return max(
        sum(float(gain[k]) for gain, k in zip(gains, parts, strict=True))
        for parts in product(range(pieces + 1), repeat=len(outputs))
        if sum(parts) == pieces
    )


def check(rows: float, outputs: Sequence[Callable[[Floats], Floats]], *, pieces: int) -> None:
    parts = divide(rows, outputs)
    assert sum(parts) == pytest.approx(rows)
    assert min(parts) >= 0
    made = sum(float(out(np.array(part))) for out, part in zip(outputs, parts, strict=True))
    most = brute_force(rows, outputs, pieces)
    whole = sum(float(out(np.array(rows))) for out in outputs)
    # What it costs to be away from equal parts, and to prefer them, is a millionth.
    assert made >= most - 1e-5 * max(whole, 1e-9)


@given(outputs(2), st.integers(1, 200))
def test_two_streams_against_brute_force(
    outputs: list[Callable[[Floats], Floats]], rows: int
) -> None:
    check(rows, outputs, pieces=200)


@given(outputs(3), st.integers(1, 300))
def test_three_streams_against_brute_force(
    outputs: list[Callable[[Floats], Floats]], rows: int
) -> None:
    check(rows, outputs, pieces=25)  # of 200: each of its divisions is one of ours


def test_of_equally_good_divisions_it_takes_the_even_one() -> None:
    def flat(rows: Floats) -> Floats:
        return np.zeros(rows.shape)

    assert divide(90, [flat, flat]) == (45.0, 45.0)
    assert divide(100, [flat] * 4) == (25.0,) * 4
    assert divide(100, [flat, flat, flat]) == pytest.approx((33.3, 33.3, 33.3), abs=0.5)


def test_a_window_that_gives_nothing_gets_nothing_that_others_need() -> None:
    nothing, something = AgeCurve([0]), AgeCurve([1])
    parts = divide(
        100,
        [
            partial(nothing.output, rate=1, window=100),
            partial(something.output, rate=10, window=100),
        ],
    )
    assert parts == (0.0, 100.0)


def test_one_stream_gets_it_all() -> None:
    assert divide(7, [lambda rows: rows]) == (7.0,)
