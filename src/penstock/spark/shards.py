"""Keys of shards, which put each shard into a partition of its own."""

from __future__ import annotations

from functools import cache

_BITS = 0xFFFF_FFFF
# The seed that Spark uses, for `hash` and for the partition of a row.
_SEED = 42


@cache
def shard_keys(shards: int) -> tuple[int, ...]:
    """Return a key for each shard, which Spark's hash sends to a partition of its own.

    With keys 0, 1, 2 ... two would land in the same partition, and a core would idle. The keys
    depend on the number of shards only, and shard 0 always has key 0. So whatever the settings at
    a restart, shard 0 finds the state of the run before, and notices what has changed.

    >>> shard_keys(4), {partition(key, 4) for key in shard_keys(4)}
    ((0, 2, 6, 12), {0, 1, 2, 3})
    """
    keys = [0]
    taken = {partition(0, shards)}
    key = 0
    while len(keys) < shards:
        key += 1
        if partition(key, shards) not in taken:
            taken.add(partition(key, shards))
            keys.append(key)
    return tuple(keys)


def partition(key: int, partitions: int) -> int:
    """Return the partition to which Spark sends a key, a whole number of 32 bits."""
    return _murmur3(key) % partitions


def _murmur3(word: int) -> int:
    """Compute MurmurHash3 (x86, 32 bits) of one word, signed, as Spark's `hash` does.

    >>> _murmur3(1)  # SELECT hash(1)
    -559580957
    """
    word = (word * 0xCC9E2D51) & _BITS
    word = (_rotated(word, 15) * 0x1B873593) & _BITS
    mixed = (_rotated(_SEED ^ word, 13) * 5 + 0xE6546B64) & _BITS
    mixed ^= 4  # the length in bytes
    mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) & _BITS
    mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) & _BITS
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _BITS
