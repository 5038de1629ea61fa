"""Prefetch into the processor's cache what the next arrivals will need.

A window of a million rows is in main memory, and each step from slot to row to row waits for it.
For one arrival these waits follow one another. Those of different arrivals are independent, and
the processor overlaps them. So the loop first reads what a few dozen arrivals will need, and then
finds it in the cache. Reading changes nothing: a row that has changed since is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.index import find
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import HEAD, NOTHING, Memory
from penstock.engine.retention.prefetch import prefetch_leaving

if TYPE_CHECKING:
    from penstock.engine.arrays import Array
    from penstock.engine.kernels.results import Results

# Rows of a chain that are prefetched after its first.
_FURTHER = 4


@inner
def prefetch(memory: Memory, arrivals: Array, start: int, stop: int, results: Results) -> None:
    """Find the slots of the next arrivals' keys, and read the rows that they will touch."""
    _read_rows(memory.of_any_kind, arrivals, start, stop, results)
    read = 0
    for s in range(memory.streams.size):
        # As many rows leave a window in the long run as come into it.
        coming = 0
        for i in range(start, stop):
            coming += arrivals[i]["stream"] == s
        read += prefetch_leaving(memory, s, coming)
    results.read[0] += read


@inner
def _read_rows(memory: Memory, arrivals: Array, start: int, stop: int, results: Results) -> None:
    """Find the slots of keys, and read the rows that arrivals will find."""
    rows = memory.rows
    slots = memory.slots
    prefetched = results.prefetched
    cursor = results.cursor
    count = stop - start
    read = 0
    for i in range(count):
        prefetched[i] = find(memory, arrivals[start + i]["key_word"], wide(0))
    for i in range(count):
        slot = prefetched[i]
        cursor[i] = NOTHING
        if slot != NOTHING:
            stream = arrivals[start + i]["stream"]
            cursor[i] = slots[slot, HEAD + memory.order[stream, 0]]
            own = slots[slot, HEAD + stream]
            if own != NOTHING:
                read += rows[own]["prev"]
    for _ in range(_FURTHER + 1):
        for i in range(count):
            if cursor[i] != NOTHING:
                cursor[i] = rows[cursor[i]]["next"]
    results.read[0] += read
