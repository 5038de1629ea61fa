"""The clock of a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory


@inner
def latest(memory: Memory) -> float:
    """Return the greatest clock of all streams."""
    now = memory.streams[0]["clock"]
    for stream in range(1, memory.streams.size):
        now = max(now, memory.streams[stream]["clock"])
    return now
