"""The hashes in unbounded whole numbers, cut to 64 bits where it matters."""

from __future__ import annotations

FIRST = 0x9E3779B97F4A7C15
SECOND = 0xBF58476D1CE4E5B9
THIRD = 0x94D049BB133111EB
MASK = 2**64 - 1


def signed(word: int) -> int:
    """Read 64 bits as a signed number."""
    word &= MASK
    return word - 2**64 if word >= 2**63 else word


def combine_hash(word: int, salt: int) -> int:
    """SplitMix64's finaliser of the word and a multiple of the salt."""
    h = (word ^ (salt * FIRST)) & MASK
    h = ((h ^ (h >> 30)) * SECOND) & MASK
    h = ((h ^ (h >> 27)) * THIRD) & MASK
    return signed(h ^ (h >> 31))


def absorb(h: int, word: int) -> int:
    """Take one word of eight bytes into a hash."""
    h = ((h ^ word) * SECOND) & MASK
    return h ^ (h >> 32)


def hash_bytes(data: bytes) -> int:
    """Hash a byte string: whole words of eight bytes, then what is left with the finaliser."""
    h = len(data)
    whole = len(data) // 8 * 8
    for i in range(0, whole, 8):
        h = absorb(h, int.from_bytes(data[i : i + 8], "big"))
    return combine_hash(int.from_bytes(data[whole:], "big"), h)


def colliding(first: bytes, second: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Make two different strings of 16 bytes that have the same hash.

    What the second half is mixed into is known, so it can undo any difference of the first half.
    """
    one, other = (absorb(16, int.from_bytes(half, "big")) for half in (first, second))
    undone = int.from_bytes(tail, "big") ^ one ^ other
    return first + tail, second + undone.to_bytes(8, "big")
