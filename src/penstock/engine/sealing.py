"""Chunks of saved state: a format and a checksum before the data."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from penstock.errors import StateError

FORMAT = 14

_CHECKSUM_BYTES = 4
_START = 1 + _CHECKSUM_BYTES


class Seal(NamedTuple):
    """What tells a chunk of saved state from any other."""

    checksum: int
    size: int
    gone: int = 0  # rows of the row group that had left memory


def seal_up(data: bytes) -> bytes:
    """Return data as a chunk: its format and a checksum before it."""
    return bytes([FORMAT]) + zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little") + data


def seal_of(chunk: bytes, gone: int = 0) -> Seal:
    """Return the seal of a chunk."""
    return Seal(int.from_bytes(chunk[1:_START], "little"), len(chunk), gone)


def unseal(chunk: bytes | None, name: str, seal: Seal | None = None) -> bytes:
    """Return the data of a chunk.

    Raises
    ------
    StateError
        If it is missing, of another format, damaged, or not the one of its seal.
    """
    if chunk is None:
        raise StateError(
            f'chunk "{name}" of the saved state must be there; it is missing; restore the whole '
            f"state, or start without it"
        )
    if not chunk or chunk[0] != FORMAT:
        version = chunk[0] if chunk else "none"
        raise StateError(
            f'chunk "{name}" of the saved state must be of format {FORMAT}; got format {version}; '
            f"run the version of Penstock that wrote it, or start without it"
        )
    data = bytes(chunk[_START:])
    if len(chunk) < _START or zlib.crc32(data) != int.from_bytes(chunk[1:_START], "little"):
        raise StateError(
            f'chunk "{name}" of the saved state must be intact; its checksum is wrong; restore it '
            f"from a copy, or start without the saved state"
        )
    if seal is not None and seal_of(chunk, seal.gone) != seal:
        raise StateError(
            f'chunk "{name}" of the saved state must be the one that was saved with the rest; it '
            f"is from another time; restore the whole state, or start without it"
        )
    return data
