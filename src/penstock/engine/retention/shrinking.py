"""Rows leave until there is as little in memory as a smaller budget allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_retention
from penstock.engine.kernels.costs import taken_by
from penstock.engine.kernels.jit import inner, kernel, wide
from penstock.engine.kernels.layout import NOTHING
from penstock.engine.kernels.removal import evict
from penstock.engine.retention import dispatch, sample, thinning
from penstock.engine.retention.retained import Sampled
from penstock.engine.retention.room import most_over_share

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory


@inner
def _thin(memory: Memory) -> bool:
    """Let the sampling fraction fall, until some row leaves; return whether there was one."""
    row = sample.first_to_go(memory)
    if row == NOTHING:
        return False
    thinning.lower(memory, row)
    return True


@by_retention({Sampled: _thin})
def _let_one_go(memory: Memory) -> bool:
    """Evict the row that leaves first; return whether there was one that may."""
    stream = most_over_share(memory, wide(NOTHING), wide(0))
    if stream == NOTHING:
        return False
    row = wide(dispatch.first_to_go(memory, stream, wide(memory.queue.size)))
    if row == NOTHING:
        return False
    evict(memory, row)
    return True


@kernel
def shrink(memory: Memory) -> bool:
    """Let rows leave by the order that they are kept in, until the others fit into the limit.

    Returns False if they do not: all that are left are monitored.
    """
    while taken_by(memory, memory.rule[0]) > memory.rule[0]["limit"]:
        if not _let_one_go(memory):
            return False
    return True
