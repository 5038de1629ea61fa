"""A row leaves memory."""

from __future__ import annotations

from penstock.engine.kernels import grid, heap, residence
from penstock.engine.kernels.clock import latest
from penstock.engine.kernels.index import unlink
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import (
    EVICT_BY_LOT,
    EVICT_BY_RESIDENCE,
    EVICT_BY_SCORE,
    EVICT_LOWEST,
    NOTHING,
    REF_BITS,
    WATCHED,
    Memory,
)
from penstock.engine.kernels.watch import retire


@inner
def _note_end(memory: Memory, stream: int, since: float) -> None:
    """Note for how much of its window a row stayed in memory."""
    record = memory.streams[stream]
    record["ended"] += 1
    if record["window"] > 0:
        lived = min(max((latest(memory) - since) / record["window"], 0.0), 1.0)
        record["lived"] += lived
        record["lived_squares"] += lived * lived


@inner
def remove(memory: Memory, row: int) -> None:
    """Take a row out of every structure."""
    rows = memory.rows
    rule = memory.rule[0]
    streams = memory.streams
    stream = wide(rows[row]["stream"])
    unlink(memory, row, stream)
    memory.queue[streams[stream]["base"] + rows[row]["place"]] = NOTHING
    if rows[row]["heap"] <= WATCHED:
        retire(memory, WATCHED - rows[row]["heap"])
    elif rule["evict"] == EVICT_LOWEST or rule["evict"] == EVICT_BY_LOT:
        heap.remove(memory, stream, row, streams[stream]["held"] - streams[stream]["watched"])
    elif rule["evict"] == EVICT_BY_SCORE:
        grid.leave(memory, row, stream)
    elif rule["evict"] == EVICT_BY_RESIDENCE:
        residence.leave(memory, row, stream)
    _note_end(memory, stream, rows[row]["time"])
    memory.dead[stream, rows[row]["ref"] >> REF_BITS] += 1
    rows[row]["ref"] = NOTHING
    rows[row]["next"] = rule["free_row"]
    rule["free_row"] = row
    rule["held"] -= 1
    streams[stream]["held"] -= 1


@inner
def evict(memory: Memory, row: int) -> None:
    """Remove a row before its time."""
    memory.streams[memory.rows[row]["stream"]]["evicted"] += 1
    remove(memory, row)
