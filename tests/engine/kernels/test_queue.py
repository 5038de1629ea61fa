from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from penstock.engine.kernels.layout import NOTHING
from penstock.strategies import Oldest
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_structures import NaiveQueue, Place

if TYPE_CHECKING:
    from penstock.engine.store import Store
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("kernels.queue")
retention = all_of("retention.queue")

EVERYTHING = 1 << 30


@given(pick=choices())
@examples(100)
def test_queues_are_sorted_lists(pick: Pick) -> None:
    store, queues, came = make_store(order=Oldest()), [NaiveQueue(), NaiveQueue()], 0
    for _ in range(pick(1, 5)):
        coming = [sorted(pick(0, 9) for _ in range(pick(0, 5))) for _ in queues]
        places = store.make_places([np.array(times, np.int64) for times in coming])
        waiting = [
            (s, int(place), queues[s].add(time))
            for s in range(2)
            for place, time in zip(places[s], coming[s], strict=True)
        ]
        for s, at, place in sorted(waiting, key=lambda each: each[2].time):
            before = queues[s].oldest(place)
            assert retention.oldest(store.memory, s, at) == (NOTHING if before is None else before)
            if pick(0, 3):
                take_in(store, s, at, place, came)
                came += 1
            else:
                store.memory.queue[store.memory.streams["base"][s] + at] = NOTHING
                queues[s].places.remove(place)
            if not pick(0, 2):
                let_go(store, s, queues[s], pick)
            check(store, queues)
        if not pick(0, 2):
            pack_all(store)
        check(store, queues)


def take_in(store: Store, s: int, at: int, place: Place, row: int) -> None:
    memory = store.memory
    memory.rows[row]["time"], memory.rows[row]["place"] = place.time, at
    memory.rows[row]["monitored"] = NOTHING
    memory.queue[memory.streams["base"][s] + at] = row
    memory.streams["head"][s] = min(memory.streams["head"][s], at)
    retention.enter(memory, row, s, 0)
    place.row = row


def let_go(store: Store, s: int, queue: NaiveQueue, pick: Pick) -> None:
    if queue.rows:
        row = queue.rows[pick(0, len(queue.rows) - 1)]
        memory = store.memory
        memory.queue[memory.streams["base"][s] + memory.rows[row]["place"]] = NOTHING
        queue.places = [place for place in queue.places if place.row != row]


def pack_all(store: Store) -> None:
    queue = np.full(256, NOTHING, np.int32)
    for s in range(2):
        fast.pack(store.memory, s, queue, 128 * s)
        held = int(store.memory.streams["tail"][s])
        assert np.all(queue[128 * s : 128 * s + held] >= 0)
        store.retention.queue_moved(store.memory, s)
    store.memory = store.memory._replace(queue=queue)


def check(store: Store, queues: list[NaiveQueue]) -> None:
    memory = store.memory
    for s, queue in enumerate(queues):
        base, head, tail = (int(memory.streams[name][s]) for name in ("base", "head", "tail"))
        walked = [int(row) for row in memory.queue[base + head : base + tail] if row >= 0]
        assert walked == queue.rows
        assert all(memory.queue[base + memory.rows[row]["place"]] == row for row in walked)
        first = queue.oldest()
        assert retention.oldest(memory, s, EVERYTHING) == (NOTHING if first is None else first)


def test_a_queue_without_room_moves_and_keeps_its_rows() -> None:
    store = make_store(order=Oldest())
    queue = NaiveQueue()
    for row, start in enumerate(range(0, 600, 60)):
        times = np.arange(start, start + 60)
        (places, _) = store.make_places([times, np.zeros(0, np.int64)])
        for place in places[1:]:
            store.memory.queue[store.memory.streams["base"][0] + place] = NOTHING
        take_in(store, 0, int(places[0]), queue.add(start), row)
    check(store, [queue, NaiveQueue()])
    assert store.memory.queue.size < 300  # gaps do not add up
