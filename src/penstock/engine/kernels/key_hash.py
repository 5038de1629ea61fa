"""Hashes of bytes, and an intern table that numbers byte strings without collisions.

A *key word* is the 64-bit number that stands for a key in the kernels. It is not a hash: it is the
key's own value if that has at most 64 bits, and its number in the intern table otherwise. Hashes
only say where to look in a table, which shard a row goes to, and what is drawn for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from penstock.engine.arrays import Bytes, Floats, Integers, Mask


# SplitMix64's constants. Unsigned throughout: a signed product that overflows is undefined.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_THIRD = np.uint64(0x94D049BB133111EB)
_8, _11, _27, _30, _31, _32 = (np.uint64(n) for n in (8, 11, 27, 30, 31, 32))
# 2**-53: turns the 53 upper bits of a hash into a fraction.
_UNIT = 2.0**-53


@njit(cache=True)
def combine_hash(word: np.int64, salt: np.int64) -> np.int64:
    """Combine a word with a hash: SplitMix64's finaliser of word ^ salt * golden ratio."""
    h = np.uint64(word) ^ (np.uint64(salt) * _FIRST)
    h = (h ^ (h >> _30)) * _SECOND
    h = (h ^ (h >> _27)) * _THIRD
    return np.int64(h ^ (h >> _31))


@njit(cache=True)
def hash_bytes(data: Bytes, start: int, stop: int) -> np.int64:
    """Hash data[start:stop]."""
    h = np.uint64(stop - start)
    word = np.uint64(0)
    filled = 0
    for i in range(start, stop):
        word = (word << _8) | np.uint64(data[i])
        filled += 1
        if filled == 8:
            h = (h ^ word) * _SECOND
            h ^= h >> _32
            word = np.uint64(0)
            filled = 0
    return combine_hash(np.int64(word), np.int64(h))


@njit(cache=True)
def hash_each(data: Bytes, offsets: Integers, out: Integers) -> None:
    """Hash each of the byte strings that the offsets delimit."""
    for i in range(out.size):
        out[i] = hash_bytes(data, offsets[i], offsets[i + 1])


@njit(cache=True)
def combine_hash_each(hashes: Integers, words: Integers) -> None:
    """Combine each hash with one word."""
    for i in range(hashes.size):
        hashes[i] = combine_hash(words[i], hashes[i])


@njit(cache=True)
def draw_each(
    start: np.int64, times: Integers, keys: Integers, numbers: Integers, out: Floats
) -> None:
    """Draw a number in [0, 1) for each row: by the bits of its time, its key and its number.

    `start` is a hash of what is the same for all. One pass, as each would fetch the rows again.
    """
    for i in range(out.size):
        hashed = combine_hash(times[i], start)
        hashed = combine_hash(keys[i], hashed)
        hashed = combine_hash(numbers[i], hashed)
        out[i] = np.float64(np.uint64(hashed) >> _11) * _UNIT


@njit(cache=True)
def hash_lists(hashes: Integers, offsets: Integers, out: Integers) -> None:
    """Hash each list of hashes that the offsets delimit."""
    for i in range(out.size):
        h = np.int64(offsets[i + 1] - offsets[i])
        for j in range(offsets[i], offsets[i + 1]):
            h = combine_hash(hashes[j], h)
        out[i] = h


@njit(cache=True)
def append_words(out: Bytes, at: Integers, words: Integers) -> None:
    """Write each word (8 bytes) at its row's position, and advance the position."""
    for i in range(at.size):
        word = words[i]
        for k in range(8):
            out[at[i] + k] = (word >> np.int64(8 * k)) & np.int64(0xFF)
        at[i] += 8


@njit(cache=True)
def append_bytes(out: Bytes, at: Integers, data: Bytes, offsets: Integers) -> None:
    """Write each byte string at its row's position, and advance the position."""
    for i in range(at.size):
        n = offsets[i + 1] - offsets[i]
        out[at[i] : at[i] + n] = data[offsets[i] : offsets[i + 1]]
        at[i] += n


class Interned(NamedTuple):
    """The byte strings that have a number: an open-addressing hash table over a heap of bytes."""

    table: Integers  # 0, or entry + 1
    hashes: Integers
    starts: Integers
    stops: Integers
    numbers: Integers
    heap: Bytes
    counts: Integers  # entries in use, bytes in use, next number


@njit(cache=True)
def intern(
    interned: Interned,
    data: Bytes,
    offsets: Integers,
    good: Mask,
    out: Integers,
    hashes: Integers,
) -> None:
    """Number each byte string, and hash it; one that is not in the table gets a new number.

    Two strings have the same number if, and only if, they are the same bytes. There must be room
    in the table for all of them.
    """
    mask = interned.table.size - 1
    for i in range(out.size):
        if not good[i]:
            out[i] = 0
            hashes[i] = 0
            continue
        start = offsets[i]
        length = offsets[i + 1] - start
        hashed = hash_bytes(data, start, offsets[i + 1])
        hashes[i] = hashed
        at = hashed & mask
        while True:
            entry = interned.table[at] - 1
            if entry < 0:
                break
            if (
                interned.hashes[entry] == hashed
                and interned.stops[entry] - interned.starts[entry] == length
            ):
                there = interned.starts[entry]
                same = True
                for k in range(length):
                    if interned.heap[there + k] != data[start + k]:
                        same = False
                        break
                if same:
                    break
            at = (at + 1) & mask
        if entry < 0:
            entry = interned.counts[0]
            there = interned.counts[1]
            interned.table[at] = entry + 1
            interned.hashes[entry] = hashed
            interned.starts[entry] = there
            interned.stops[entry] = there + length
            interned.numbers[entry] = interned.counts[2]
            interned.heap[there : there + length] = data[start : start + length]
            interned.counts[0] = entry + 1
            interned.counts[1] = there + length
            interned.counts[2] += 1
        out[i] = interned.numbers[entry]


@njit(cache=True)
def copy_entries(old: Interned, new: Interned, keep: Mask) -> None:
    """Copy the entries to keep, with their numbers, into an empty table."""
    mask = new.table.size - 1
    entry = 0
    there = 0
    for i in range(old.counts[0]):
        if not keep[i]:
            continue
        at = old.hashes[i] & mask
        while new.table[at] != 0:
            at = (at + 1) & mask
        length = old.stops[i] - old.starts[i]
        new.table[at] = entry + 1
        new.hashes[entry] = old.hashes[i]
        new.starts[entry] = there
        new.stops[entry] = there + length
        new.numbers[entry] = old.numbers[i]
        new.heap[there : there + length] = old.heap[old.starts[i] : old.stops[i]]
        entry += 1
        there += length
    new.counts[0] = entry
    new.counts[1] = there
    new.counts[2] = old.counts[2]
