from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from penstock.engine.kernels import layout
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_structures import NaiveHeap

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("heap")


@given(pick=choices())
@examples(100)
def test_a_heap_is_a_list_of_which_the_least_is_wanted(pick: Pick) -> None:
    memory = make_store(evict=layout.EVICT_LOWEST).memory
    heaps = [NaiveHeap(), NaiveHeap()]
    for row in range(pick(1, 40)):
        s = pick(0, 1)
        rows = heaps[s].rows
        if rows and not pick(0, 2):
            gone = list(rows)[pick(0, len(rows) - 1)]
            fast.remove(memory, s, gone, len(rows))
            del rows[gone]
        # Few priorities, so that births decide; births not in the order of the rows.
        priority, birth = pick(0, 3) / 4, (row * 29) % 64
        memory.rows[row]["priority"], memory.rows[row]["birth"] = priority, birth
        fast.push(memory, s, row, len(rows))
        rows[row] = (priority, birth)
        for stream, heap in enumerate(heaps):
            check(memory, stream, heap)


def test_a_heap_gives_up_its_rows_in_order() -> None:
    memory = make_store(evict=layout.EVICT_LOWEST).memory
    priorities = [0.5, 0.1, 0.5, 0.9, 0.1, 0.5, 0.0]
    for row, priority in enumerate(priorities):
        memory.rows[row]["priority"], memory.rows[row]["birth"] = priority, row
        fast.push(memory, 0, row, row)
    order = []
    for size in range(len(priorities), 0, -1):
        order.append(int(memory.heaps[0, 0]))
        fast.remove(memory, 0, order[-1], size)
    assert order == [6, 1, 4, 0, 2, 5, 3]


def check(memory: Memory, stream: int, heap: NaiveHeap) -> None:
    size = len(heap.rows)
    assert set(memory.heaps[stream, :size].tolist()) == set(heap.rows)
    for at in range(size):
        assert memory.rows[memory.heaps[stream, at]]["heap"] == at
    if size:
        assert memory.heaps[stream, 0] == heap.lowest()
