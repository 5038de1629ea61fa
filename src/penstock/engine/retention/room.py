"""Rows are taken into memory, and leave it when there is no room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.costs import cost_of, taken_by
from penstock.engine.kernels.insertion import insert
from penstock.engine.kernels.jit import NO, inner, wide
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.kernels.monitoring import is_chosen
from penstock.engine.kernels.removal import evict
from penstock.engine.retention import dispatch, thinning
from penstock.engine.retention.retained import KeepAll, Sampled

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.results import Results


@inner
def most_over_share(memory: Memory, newcomer: int, cost: int) -> int:
    """Return the stream that claims most above its share, the arrival counted with its own.

    It has rows that may go, unless it is the arrival's. Without an arrival (NOTHING) it is NOTHING
    if no stream has such rows.
    """
    streams = memory.streams
    limit = memory.rule[0]["limit"]
    most = newcomer
    excess = 0.0
    if newcomer != NOTHING:
        taken = taken_by(memory, streams[newcomer])
        excess = taken + cost - limit * streams[newcomer]["share"]
    for stream in range(streams.size):
        over = taken_by(memory, streams[stream]) - limit * streams[stream]["share"]
        if stream == newcomer or streams[stream]["held"] == streams[stream]["monitored"]:
            continue
        if most == NOTHING or over > excess:
            most = stream
            excess = over
    return most


@inner
def _make_room(memory: Memory, arrival: np.void, monitored: bool) -> bool:  # noqa: FBT001
    """Evict rows until there is room; return False if the arrival is itself the one to go.

    One that is to be monitored does not go while there is another that may.
    """
    rule = memory.rule[0]
    newcomer = wide(arrival["stream"])
    cost = cost_of(memory, arrival)
    if cost > rule["limit"]:
        return False  # or all would leave for nothing
    while taken_by(memory, rule) + cost > rule["limit"]:
        stream = most_over_share(memory, newcomer, cost)
        before = memory.queue.size
        if stream == newcomer and not monitored:
            before = wide(arrival["place"])
        victim = dispatch.first_to_go(memory, stream, before)
        if victim == NOTHING and monitored:
            stream = most_over_share(memory, wide(NOTHING), wide(0))
            if stream != NOTHING:
                victim = dispatch.first_to_go(memory, stream, before)
        if victim == NOTHING:
            return False
        may_yield = stream == newcomer and not monitored
        if may_yield and dispatch.yields(memory, arrival, stream, victim):
            return False
        evict(memory, victim)
    return True


@inner
def _put_in(memory: Memory, arrival: np.void, slot: int, number: int) -> bool:
    """Insert a row where all are kept."""
    insert(memory, arrival, slot, number, NO, 0.0)
    return True


@by_retention({KeepAll: _put_in, Sampled: thinning.draw_in})
def take_in(memory: Memory, arrival: np.void, slot: int, number: int) -> bool:
    """Insert a row, if need be after others have left for it; return whether it was inserted."""
    monitored = is_chosen(memory, arrival["draw"])
    if not _make_room(memory, arrival, monitored):
        return False
    insert(memory, arrival, slot, number, monitored, arrival["rating"])
    return True


@by_retention({Sampled: thinning.sift})
def keep_drawn(memory: Memory, results: Results, start: int) -> None:
    """Leave of the latest results those that were drawn."""
