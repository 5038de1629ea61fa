from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.selectivity import probe_order
from tests.engine.support import examples
from tests.oracles import naive_order

pytestmark = pytest.mark.nojit

COUNTS = st.integers(0, 5) | st.integers(0, 2**34)


@given(data=st.data(), streams=st.integers(2, 4))
@examples(100)
def test_windows_are_probed_in_the_order_of_the_naive_twin(
    data: st.DataObject, streams: int
) -> None:
    line = st.lists(COUNTS, min_size=streams, max_size=streams)
    square = st.lists(line, min_size=streams, max_size=streams)
    faced, shares, held = data.draw(square), data.draw(square), data.draw(line)
    found = [
        [f * s // (2**34 + 1) for f, s in zip(*rows, strict=True)]
        for rows in zip(faced, shares, strict=True)
    ]
    order = probe_order(np.array(faced), np.array(found), np.array(held))
    assert order.tolist() == naive_order.probe_order(faced, found, held)


def test_before_anything_is_known_the_smallest_window_comes_first() -> None:
    nothing = np.zeros((3, 3), np.int64)
    assert probe_order(nothing, nothing, np.array([9, 5, 7])).tolist() == [[1, 2], [2, 0], [1, 0]]


def test_windows_that_are_alike_are_probed_in_the_order_of_the_join() -> None:
    same = np.full((3, 3), 10)
    assert probe_order(same, same, np.array([4, 4, 4])).tolist() == [[1, 2], [0, 2], [0, 1]]


def test_a_window_that_was_never_faced_is_taken_to_match_like_the_average() -> None:
    faced = np.array([[0, 100, 0], [0, 0, 0], [0, 100, 0]])
    found = np.array([[0, 60, 0], [0, 0, 0], [0, 20, 0]])
    # The average is 0.4: window 2 (never faced) is expected to match 4, window 1 matches 6.
    assert probe_order(faced, found, np.array([10, 10, 10]))[0].tolist() == [2, 1]
