"""Hypothesis strategies for columns: keys, values, payloads, and matching bounds."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

NAN, INFINITY = float("nan"), float("inf")


@dataclass(frozen=True)
class Family:
    """Types that can be joined with each other, and the few values that they have.

    Attributes
    ----------
    types
        Arrow types; each stream may have another one.
    values
        Few enough that many are equal, the usual ones first; then the odd ones, null among them.
    """

    name: str
    types: tuple[pa.DataType, ...]
    values: tuple[Any, ...]

    def __repr__(self) -> str:
        return self.name

    @property
    def sample(self) -> SearchStrategy[Any]:
        """Draw a value: twice as often one of the first three."""
        return st.sampled_from((*self.values, *self.values[:3]))


def _decimals(*texts: str) -> tuple[Decimal | None, ...]:
    return (*map(Decimal, texts), None)


KEYS = (
    Family("whole", (pa.int64(), pa.int8(), pa.uint32()), (0, 1, 2, 127, None)),
    Family("unsigned", (pa.uint64(),), (0, 2**63, 2**64 - 1, None)),
    Family("float", (pa.float64(), pa.float32()), (0.0, -0.0, 0.5, INFINITY, NAN, None)),
    Family(
        "text",
        (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())),
        ("", "a", "ä", "a\0", None),
    ),
    Family("bytes", (pa.binary(), pa.large_binary()), (b"", b"\0", b"a", None)),
    Family(
        "decimal",
        (pa.decimal128(8, 2), pa.decimal128(30, 4), pa.decimal256(50, 2)),
        _decimals("0", "1.5", "-1.25"),
    ),
    Family("boolean", (pa.bool_(),), (False, True, None)),
    Family("date", (pa.date32(),), (dt.date(1969, 12, 31), dt.date(2026, 1, 1), None)),
)

# Multiples of a quarter: no sum or difference of them is ever rounded, in any of the types.
QUARTERS = st.integers(-10, 10).map(lambda quarters: Decimal(quarters) / 4)
_WHOLE = (0, 1, 2, -1, -2, 100, None)
_FLOATS = (0.0, 0.25, 1.0, -0.0, -1.5, INFINITY, -INFINITY, NAN, None)
VALUES = (
    Family("whole", (pa.int64(), pa.int16()), _WHOLE),
    Family("float", (pa.float64(), pa.float32()), _FLOATS),
    Family("tenths", (pa.float64(),), (0.1, 0.2, 0.3, 0.30000000000000004, 0.7, -0.1, NAN, None)),
    Family("decimal", (pa.decimal128(9, 2), pa.decimal128(12, 4)), _decimals("-1.25", "0", "0.5")),
    Family("decimal or whole", (pa.decimal128(9, 2), pa.int32()), _decimals("0", "1", "2", "-1")),
    Family("float or whole", (pa.float64(), pa.int64()), (0, 1, 2, -1, -2, None)),
)


# Of two dimensions; then of others, and with numbers at no distance from anything. Differences of
# the first are the sides of right-angled triangles, so that distances are whole numbers.
VECTORS = (
    Family(
        "vectors",
        (pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32())),
        (
            [0.0, 0.0],
            [3.0, 4.0],
            [0.1, 0.2],
            [3.0, 0.0],
            [-0.0, 1e-30],
            [-1e30, 1e30],
            [1.0],
            [],
            [1.0, 2.0, 3.0],
            [None, 1.0],
            [NAN, 1.0],
            [1.0, INFINITY],
            None,
        ),
    ),
)


def bounds(family: Family) -> SearchStrategy[Any]:
    """Draw distances and bounds of the kinds that a user may write."""
    if family.name == "tenths":
        return st.sampled_from([-0.2, -0.1, 0.0, 0.1, 0.2, 0.30000000000000004, 1])
    ways: list[Callable[[Decimal], Any]] = [float, int, Decimal]
    return st.builds(lambda way, quarter: way(quarter), st.sampled_from(ways), QUARTERS)


PAYLOADS = (
    Family("text", (pa.string(), pa.large_string()), (None, "", "naïve", "x" * 40)),
    Family("bytes", (pa.binary(), pa.binary(2)), (None, b"ab", b"\0\0")),
    Family("dictionary", (pa.dictionary(pa.int32(), pa.string()),), (None, "p", "q")),
    Family("decimal", (pa.decimal128(20, 3), pa.decimal256(40, 3)), _decimals("0.125", "-9")),
    Family("float", (pa.float64(), pa.float32()), (None, NAN, 0.5, -0.0)),
    Family("boolean", (pa.bool_(),), (None, True, False)),
    Family("nothing", (pa.null(),), (None,)),
    Family("list", (pa.list_(pa.int64()), pa.large_list(pa.int8())), (None, [], [1, None], [2])),
    Family("fixed list", (pa.list_(pa.string(), 2),), (None, ["a", None], ["b", "c"])),
    Family(
        "struct",
        (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.struct([("z", pa.string())])))]),),
        (None, {"x": 1, "y": None}, {"x": None, "y": [{"z": "deep"}, None]}, {"x": 2, "y": []}),
    ),
    Family("map", (pa.map_(pa.string(), pa.int64()),), (None, [], [("k", 1), ("l", None)])),
    Family("time", (pa.timestamp("ns", "UTC"), pa.duration("ms")), (None, 0, 10**9)),
)
