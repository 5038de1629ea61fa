from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from penstock.engine.kernels.layout import NOTHING
from penstock.strategies import LowestRating
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_structures import NaiveHeap

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("retention.heap")


@given(pick=choices())
@examples(100)
def test_a_heap_is_a_list_of_which_the_least_is_wanted(pick: Pick) -> None:
    memory = make_store(order=LowestRating()).memory
    heaps = [NaiveHeap(), NaiveHeap()]
    for row in range(pick(1, 40)):
        s = pick(0, 1)
        rows = heaps[s].rows
        if rows and not pick(0, 2):
            gone = list(rows)[pick(0, len(rows) - 1)]
            fast.remove(memory, s, gone)
            del rows[gone]
        # Few keys, so that arrival numbers decide; these are not in the order of the rows.
        rows[row] = (pick(0, 3) / 4, (row * 29) % 64)
        memory.retained.heap.keys[row], memory.rows[row]["arrival_number"] = rows[row]
        fast.push(memory, s, row)
        if not pick(0, 4):
            moved = list(rows)[pick(0, len(rows) - 1)]
            rows[moved] = (pick(0, 3) / 4, rows[moved][1])
            memory.retained.heap.keys[moved] = rows[moved][0]
            fast.move(memory, s, moved)
        for stream, heap in enumerate(heaps):
            check(memory, stream, heap)


def test_a_heap_gives_up_its_rows_in_order() -> None:
    memory = make_store(order=LowestRating()).memory
    keys = [0.5, 0.1, 0.5, 0.9, 0.1, 0.5, 0.0]
    for row, key in enumerate(keys):
        memory.retained.heap.keys[row], memory.rows[row]["arrival_number"] = key, row
        fast.push(memory, 0, row)
    given_up = []
    while fast.lowest(memory, 0) != NOTHING:
        given_up.append(int(fast.lowest(memory, 0)))
        fast.remove(memory, 0, given_up[-1])
    assert given_up == [6, 1, 4, 0, 2, 5, 3]


@given(pick=choices())
@examples(50)
def test_a_heap_that_is_ordered_again_is_the_same_list(pick: Pick) -> None:
    """Monitored rows get other keys too, and stay out of the heap."""
    memory = make_store(order=LowestRating()).memory
    heap = NaiveHeap()
    rows = np.arange(pick(0, 30))
    keys = np.array([pick(0, 3) / 4 for _ in rows])
    memory.rows["arrival_number"][: rows.size] = rows[::-1]
    memory.rows["monitored"][: rows.size] = [pick(-1, 0) for _ in rows]
    fast.rebuild(memory, 1, rows, keys)
    for row in rows.tolist():
        if memory.rows[row]["monitored"] == NOTHING:
            heap.rows[row] = (float(keys[row]), int(memory.rows[row]["arrival_number"]))
    check(memory, 1, heap)
    assert memory.retained.heap.keys[: rows.size].tolist() == keys.tolist()


@pytest.mark.parametrize("favours_held", [False, True])
def test_an_arrival_goes_if_it_is_rated_lower_than_the_lowest(favours_held: bool) -> None:
    store = make_store(order=LowestRating())
    store.retention.apply(store.memory, LowestRating(favours_held), ())
    store.memory.retained.heap.keys[3] = 0.5
    assert fast.is_lower(store.memory, 0.4, 3)
    assert fast.is_lower(store.memory, 0.5, 3) == favours_held
    assert not fast.is_lower(store.memory, 0.6, 3)


def check(memory: Memory, line: int, heap: NaiveHeap) -> None:
    arrays = memory.retained.heap
    size = len(heap.rows)
    assert arrays.sizes[line] == size
    assert set(arrays.lines[line, :size].tolist()) == set(heap.rows)
    for at in range(size):
        assert arrays.places[arrays.lines[line, at]] == at
    lowest = heap.lowest()
    assert fast.lowest(memory, line) == (NOTHING if lowest is None else lowest)
