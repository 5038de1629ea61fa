from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import operator
from penstock.engine.kernels.results import make_results
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save
from penstock.statistics.selectivity import probe_order
from tests.engine.cases import KINDS, Case, Size, make_case, seeded
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


def _pairs(
    case: Case, room: int, *, saving: bool = False
) -> tuple[list[list[tuple[int, int]]], int]:
    """Return how many rows each stream's rows have faced and found, and how much was compared."""
    plan = bind(case.join, case.schemas)
    stored: dict[str, bytes] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "make_results", partial(make_results, size=room))
        made = Operator(plan)
        for batch in case.batches:
            made.process(batch)
            if saving:
                changes = save(made)
                stored = {name: stored[name] for name in stored.keys() - set(changes.removed)}
                stored |= changes.written
                made = restore(plan, stored)
    return made.store.memory.pairs.tolist(), made.metrics().compared


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("kind", ["equal whole", "equal text", "within whole", "compare <"])
def test_an_arrival_whose_results_do_not_fit_leaves_no_trace(kind: str, streams: int) -> None:
    size = Size(batches=3, rows=12, times=6, window=12, full=True)
    case = make_case(seeded(3), KINDS[kind], streams=streams, size=size)
    expected = _pairs(case, room=1 << 14)
    assert np.array(expected[0]).sum() > 100
    # With room for one result nearly every arrival is given back, several times at first. An
    # operator that was restored begins with little room again.
    assert _pairs(case, room=1) == expected
    assert _pairs(case, room=1, saving=True) == expected
