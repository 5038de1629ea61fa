"""A row leaves memory."""

from __future__ import annotations

from penstock.engine.kernels.clock import latest
from penstock.engine.kernels.index import unlink
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import NOTHING, REF_BITS, Memory
from penstock.engine.kernels.monitoring import retire
from penstock.engine.retention import dispatch


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
def _unlink(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of its chain and its queue."""
    unlink(memory, row, stream)
    memory.queue[memory.streams[stream]["base"] + memory.rows[row]["place"]] = NOTHING


@inner
def _free(memory: Memory, row: int, stream: int) -> None:
    """Count a row as gone, and let another have its place."""
    rows = memory.rows
    rule = memory.rule[0]
    streams = memory.streams
    _note_end(memory, stream, rows[row]["time"])
    memory.dead[stream, rows[row]["ref"] >> REF_BITS] += 1
    rows[row]["ref"] = NOTHING
    rows[row]["next"] = rule["free_row"]
    rule["free_row"] = row
    rule["held"] -= 1
    streams[stream]["held"] -= 1
    if rule["has_costs"]:
        rule["taken"] -= memory.costs[row]
        streams[stream]["taken"] -= memory.costs[row]


@inner
def remove(memory: Memory, row: int) -> None:
    """Take a row out of every structure."""
    common = memory.of_any_kind
    stream = wide(memory.rows[row]["stream"])
    _unlink(common, row, stream)
    monitored = wide(memory.rows[row]["monitored"])
    if monitored != NOTHING:
        retire(common, monitored)
    else:
        dispatch.leave(memory, row, stream)
    _free(common, row, stream)


@inner
def evict(memory: Memory, row: int) -> None:
    """Remove a row before its time."""
    memory.streams[memory.rows[row]["stream"]]["evicted"] += 1
    remove(memory, row)
