"""The join whose saved state is damaged, its micro-batches, and the damage."""

from __future__ import annotations

import pyarrow as pa

import penstock as ps

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("text", pa.string())])
JOIN = ps.Join(
    streams={n: ps.Stream(time="t", window=50) for n in ("a", "b")},
    on=ps.Equal("k"),
    goal=ps.MaxSubset(strategy="random"),
    budget=ps.Budget(rows=60),
)


def make_batches(count: int) -> dict[str, list[pa.Table]]:
    """Make micro-batches, each of which joins rows of those before."""

    def rows(name: str, first: int) -> pa.Table:
        t = range(first, first + 20)
        text = [f"{name}{i}" for i in t]
        return pa.table({"t": t, "k": [i % 5 for i in t], "text": text}).cast(SCHEMA)

    return {name: [rows(name, 20 * batch) for batch in range(count)] for name in ("a", "b")}


def flip_byte(data: bytes, place: int) -> bytes:
    """Return the data with one bit of a byte changed."""
    damaged = bytearray(data)
    damaged[place] ^= 0x10
    return bytes(damaged)
