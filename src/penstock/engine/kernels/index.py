"""The index of rows by key: an open-addressing hash table of slots.

A slot has the head of a chain of rows for each stream. A slot without rows stays in the table
until the next `rebuild`. So a slot that was found stays valid for a whole call of the loop, and a
key that comes back finds its old slot.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.kernels.jit import inner, kernel
from penstock.engine.kernels.layout import COUNT, HEAD, KEY_WORD, NOTHING, SUB, Memory

# SplitMix64's constants. Unsigned: a signed product that overflows is undefined.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_SUB = np.uint64(21)
_HALF = np.uint64(32)
_29 = np.uint64(29)
_POSITIVE = np.uint64(0x3FFFFFFFFFFFFFFF)


@inner
def mix(key_word: int | np.int64, sub: int | np.int64) -> np.int64:
    """Hash a key word to 62 bits (non-negative)."""
    h = np.uint64(key_word) ^ (np.uint64(sub) << _SUB)
    h = (h ^ (h >> _HALF)) * _FIRST
    h = (h ^ (h >> _29)) * _SECOND
    return np.int64((h ^ (h >> _HALF)) & _POSITIVE)


@inner
def find(memory: Memory, key_word: int | np.int64, sub: int | np.int64) -> int:
    """Return the slot of a key, or NOTHING."""
    table = memory.table
    slots = memory.slots
    hashed = mix(key_word, sub)
    mask = table.size - 1
    at = hashed & mask
    tag = hashed >> 31
    while True:
        entry = table[at]
        if entry == 0:
            return NOTHING
        if entry >> 31 == tag:
            slot = (entry & 0x7FFFFFFF) - 1
            if slots[slot, KEY_WORD] == key_word and slots[slot, SUB] == sub:
                return slot
        at = (at + 1) & mask


@inner
def _enter(memory: Memory, key_word: int | np.int64, sub: int | np.int64, slot: int) -> None:
    """Add a slot that is not in the table."""
    table = memory.table
    hashed = mix(key_word, sub)
    mask = table.size - 1
    at = hashed & mask
    while table[at] != 0:
        at = (at + 1) & mask
    table[at] = ((hashed >> 31) << 31) | (slot + 1)


@inner
def find_or_create(memory: Memory, key_word: int | np.int64, sub: int | np.int64) -> int:
    """Return the slot of a key, a new one if it has none. There must be a free slot."""
    slot = find(memory, key_word, sub)
    if slot != NOTHING:
        return slot
    slots = memory.slots
    rule = memory.rule[0]
    rule["spare_slots"] -= 1
    slot = rule["free_slot"]
    if slot != NOTHING:
        rule["free_slot"] = slots[slot, KEY_WORD]
    else:
        slot = rule["fresh_slot"]
        rule["fresh_slot"] = slot + 1
    slots[slot, KEY_WORD] = key_word
    slots[slot, SUB] = sub
    slots[slot, COUNT] = 0
    for s in range(slots.shape[1] - HEAD):
        slots[slot, HEAD + s] = NOTHING
    _enter(memory, key_word, sub, slot)
    return slot


@kernel
def rebuild(memory: Memory) -> None:
    """Free the slots without rows, and put the others into an empty table."""
    slots = memory.slots
    memory.table[:] = 0
    free = NOTHING
    used = 0
    for slot in range(memory.rule[0]["fresh_slot"] - 1, -1, -1):
        if slots[slot, COUNT] > 0:
            _enter(memory, slots[slot, KEY_WORD], slots[slot, SUB], slot)
            used += 1
        else:
            slots[slot, COUNT] = 0
            slots[slot, KEY_WORD] = free
            free = slot
    memory.rule[0]["free_slot"] = free
    memory.rule[0]["spare_slots"] = slots.shape[0] - used


@inner
def link(memory: Memory, row: int, slot: int, stream: int) -> None:
    """Insert a row at the head of its chain."""
    rows = memory.rows
    slots = memory.slots
    head = slots[slot, HEAD + stream]
    rows[row]["next"] = head
    rows[row]["prev"] = NOTHING
    rows[row]["slot"] = slot
    if head != NOTHING:
        rows[head]["prev"] = row
    slots[slot, HEAD + stream] = row
    slots[slot, COUNT] += 1


@inner
def unlink(memory: Memory, row: int, stream: int) -> None:
    """Remove a row from its chain."""
    rows = memory.rows
    slots = memory.slots
    slot = rows[row]["slot"]
    after = rows[row]["next"]
    before = rows[row]["prev"]
    if after != NOTHING:
        rows[after]["prev"] = before
    if before != NOTHING:
        rows[before]["next"] = after
    else:
        slots[slot, HEAD + stream] = after
    slots[slot, COUNT] -= 1
