"""The index of rows by value: chains of value buckets and time slices.

A slot stores no bucket, and needs none: a row's value says which bucket it is in. So rows of other
buckets in the same chain cost one comparison each. Neighbouring buckets are neighbours in memory.
The time slices that a probe can reach, 64 at most, have different chains.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.kernels.index import link, mix
from penstock.engine.kernels.jit import inner, kernel, wide
from penstock.engine.kernels.layout import COMPARE, COUNT, HEAD, NOTHING, Memory

# Buckets that are adjacent in memory: a probe reads two or three, mostly in one or two cache lines.
_TOGETHER_BITS = 4
_TOGETHER = 15


@inner
def bucket_of(memory: Memory, value: float) -> np.int64:
    """Return the number of a value's bucket, in the order of values; 0 if there is only one."""
    rule = memory.rule[0]
    if rule["kind"] == COMPARE:
        return np.int64(0)
    if rule["last_bucket"] > 0:
        if value > rule["edge"]:
            return rule["last_bucket"]
        if value < -rule["edge"]:
            return -rule["last_bucket"]
        return np.int64(np.floor(value * rule["inverse"]))
    return np.int64(value) >> rule["shift"]


@inner
def sub_of(memory: Memory, time: float) -> np.int64:
    """Return the number of the time slice of a time; 0 if there is only one."""
    span = memory.span[0]
    if span == 0:
        return np.int64(0)
    return np.int64(time // span)


@inner
def slot_of(memory: Memory, bucket: int | np.int64, sub: int | np.int64) -> int:
    """Return the slot of a bucket and time slice; the number of slots is a power of two."""
    if memory.rule[0]["kind"] == COMPARE:
        return sub & (memory.slots.shape[0] - 1)
    group = mix(bucket >> _TOGETHER_BITS, wide(0))
    return ((group << _TOGETHER_BITS) + (bucket & _TOGETHER)) & (memory.slots.shape[0] - 1)


@kernel
def relink(memory: Memory) -> None:
    """Put every row into its chain again, after the number of slots has changed."""
    rows = memory.rows
    slots = memory.slots
    for slot in range(slots.shape[0]):
        slots[slot, COUNT] = 0
        for column in range(HEAD, slots.shape[1]):
            slots[slot, column] = NOTHING
    for row in range(memory.rule[0]["fresh_row"]):
        if rows[row]["ref"] != NOTHING:
            bucket = bucket_of(memory, rows[row]["value"])
            slot = slot_of(memory, bucket, sub_of(memory, rows[row]["time"]))
            link(memory, row, slot, wide(rows[row]["stream"]))
