"""What must hold inside an operator between two batches, looked at from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.layout import COUNT, HEAD, NOTHING, REF_BITS, REF_MASK
from penstock.engine.retention.grid import CELL, EARLIER, LATER
from penstock.engine.retention.residence_priority import RIPE, UNMATCHED, YOUNG
from penstock.engine.retention.retained import Graded, Ordered, Residing, Sampled

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory
    from penstock.engine.operator import Operator


def assert_sound(operator: Operator) -> None:
    """Check that all structures hold the same rows, each in its order."""
    memory = operator.store.memory
    queued = [_queued(memory, s) for s in range(memory.streams.size)]
    everything = sorted(row for rows in queued for row in rows)
    assert len(set(everything)) == len(everything) == operator.store.held
    assert [len(rows) for rows in queued] == memory.streams["held"].tolist()
    if memory.rule["has_costs"][0]:
        assert memory.costs[everything].sum() == memory.rule["taken"][0] <= memory.rule["limit"][0]
        assert memory.streams["taken"].sum() == memory.rule["taken"][0]
    else:
        assert operator.store.held <= memory.rule["limit"][0]
    free = _free(memory)
    assert sorted(everything + free) == list(range(int(memory.rule["fresh_row"][0])))
    assert _chained(memory) == everything
    _check_monitored(memory, everything)
    kind = type(memory.retained)
    for s, rows in enumerate(queued):
        free_to_go = [row for row in rows if memory.rows[row]["monitored"] == NOTHING]
        assert len(rows) - len(free_to_go) == memory.streams["monitored"][s]
        if kind in (Ordered, Sampled):
            _check_heap(memory, s, free_to_go)
        if kind is Sampled:
            _check_odds(memory, rows)
        if kind is Graded:
            _check_cells(memory, s, free_to_go)
        if kind is Residing:
            _check_residence(memory, s, free_to_go)
    for s, rows in enumerate(queued):
        _check_payload(operator, s, rows)


def _queued(memory: Memory, s: int) -> list[int]:
    base, head, tail = (int(memory.streams[name][s]) for name in ("base", "head", "tail"))
    places = memory.queue[base + head : base + tail].tolist()
    assert min(places, default=0) >= NOTHING  # none is still to come
    rows = [row for row in places if row != NOTHING]
    assert all(memory.queue[base + memory.rows[row]["place"]] == row for row in rows)
    assert all(memory.rows[row]["stream"] == s for row in rows)
    order = [(memory.rows[row]["time"], memory.rows[row]["arrival_number"]) for row in rows]
    assert order == sorted(order)
    return rows


def _free(memory: Memory) -> list[int]:
    rows, row = [], int(memory.rule["free_row"][0])
    while row != NOTHING:
        rows.append(row)
        assert memory.rows[row]["ref"] == NOTHING
        row = int(memory.rows[row]["next"])
    return rows


def _chained(memory: Memory) -> list[int]:
    found = []
    for slot in range(len(memory.slots)):
        if memory.slots[slot, COUNT] == 0:
            continue
        members = []
        for s in range(memory.streams.size):
            row = int(memory.slots[slot, HEAD + s])
            while row != NOTHING:
                assert (memory.rows[row]["slot"], memory.rows[row]["stream"]) == (slot, s)
                members.append(row)
                row = int(memory.rows[row]["next"])
        assert len(members) == memory.slots[slot, COUNT]
        found += members
    return sorted(found)


def _check_heap(memory: Memory, line: int, rows: list[int]) -> None:
    arrays = memory.retained.heap
    assert arrays.sizes[line] == len(rows)
    heap = arrays.lines[line, : len(rows)].tolist()
    assert sorted(heap) == sorted(rows)
    order = [(arrays.keys[row], memory.rows[row]["arrival_number"]) for row in heap]
    assert [arrays.places[row] for row in heap] == list(range(len(heap)))
    for at in range(1, len(heap)):
        assert order[(at - 1) // 2] < order[at]


def _check_residence(memory: Memory, s: int, rows: list[int]) -> None:
    """Check that each row is among the mature or among the others; the first are in order."""
    arrays, heaps = memory.retained.ijoin, memory.retained.heap
    line = s + memory.streams.size
    standing = {row: int(arrays.merits[row]["standing"]) for row in rows}
    ripe = [row for row in rows if standing[row] == RIPE]
    young = [row for row in rows if standing[row] == YOUNG]
    for row in rows:
        assert (standing[row] == UNMATCHED) == (arrays.merits[row]["matches"] == 0)
    _check_heap(memory, s, ripe)
    if arrays.residences[s]["is_ordered"]:
        _check_heap(memory, line, young)
    else:
        assert heaps.sizes[line] == len(young)
        listed = heaps.lines[line, : len(young)].tolist()
        assert sorted(listed) == sorted(young)
        assert [heaps.places[row] for row in listed] == list(range(len(young)))


def _check_odds(memory: Memory, rows: list[int]) -> None:
    """Check that a row has a match to wait for, or is in the sample with all its matches."""
    settings = memory.retained.sample.settings[0]
    for row in rows:
        odds = memory.retained.sample.odds[row]
        assert odds["size"] > 0
        if settings["by_match"]:
            assert odds["seen"] < odds["next"]
        else:
            # Equal only if a row of another batch, of its time and key, has drawn the same.
            ratio = -memory.retained.heap.keys[row]
            assert ratio <= min(odds["least"], settings["fraction"])


def _check_monitored(memory: Memory, rows: list[int]) -> None:
    monitored = memory.monitored[: int(memory.rule["monitored"][0])]
    assert monitored.size <= memory.rule["quota"][0]
    assert set(monitored["row"].tolist()) <= set(rows)
    assert len(set(monitored["row"].tolist())) == monitored.size
    for at, entry in enumerate(monitored):
        assert memory.rows[entry["row"]]["monitored"] == at
        assert entry["draw"] < entry["chance"] <= 1


def _check_cells(memory: Memory, s: int, rows: list[int]) -> None:
    found = []
    arrays = memory.retained.grid
    grid = arrays.grids[s]
    for cell in range(int(grid["cells"])):
        members = []
        row = int(arrays.cells[s, cell, 1])
        before = NOTHING
        while row != NOTHING:
            assert arrays.links[row, CELL] == cell
            assert arrays.links[row, EARLIER] == before
            members.append(row)
            before, row = row, int(arrays.links[row, LATER])
        assert arrays.cells[s, cell, 0] == before
        order = [(memory.rows[row]["time"], memory.rows[row]["arrival_number"]) for row in members]
        assert order == sorted(order)
        if members:
            assert grid["cursor"] <= arrays.ranks[s, cell]
        found += members
    assert sorted(found) == sorted(rows)


def _check_payload(operator: Operator, s: int, rows: list[int]) -> None:
    memory, payload, side = operator.store.memory, operator.payloads[s], operator.plan.sides[s]
    assert payload.batch.num_rows == 0
    for number, window in payload.sub_windows.items():
        live = int(payload.live(number).sum())
        assert live == payload.count_live(number) > 0
        assert 2 * live > window.rows.size  # what is mostly gaps has been moved together
        assert window.rows.size == window.table.num_rows == window.arrival_numbers.size
    assert sum(map(payload.count_live, payload.sub_windows)) == len(rows)
    refs = memory.rows["ref"][rows].astype(np.int64)
    times, good = operator.plan.time.read(payload.gather(refs).column(side.time))
    assert good.all()
    assert times.tolist() == memory.rows["time"][rows].tolist()
    for row, ref in zip(rows, refs.tolist(), strict=True):
        window = payload.sub_windows[ref >> REF_BITS]
        assert window.rows[ref & REF_MASK] == row
        assert window.arrival_numbers[ref & REF_MASK] == memory.rows[row]["arrival_number"]
