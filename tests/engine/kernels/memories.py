"""Memories for tests of single kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import penstock as ps
from penstock.engine.kernels import layout
from penstock.engine.plan import bind
from penstock.engine.store import Store

if TYPE_CHECKING:
    from penstock.predicates import Predicate


def make_store(
    *,
    on: Predicate | None = None,
    evict: int = layout.EVICT_NOBODY,
    value: pa.DataType | None = None,
    window: float = 10,
    floating_time: bool = False,
) -> Store:
    """Give the empty memory of a join of two streams, with room for a few rows."""
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=window) for name in ("a", "b")},
        on=on or ps.Equal("k"),
    )
    time = pa.float64() if floating_time else pa.int64()
    schema = pa.schema([("t", time), ("k", value or pa.int64())])
    plan = bind(join, {"a": schema, "b": schema})
    store = Store(plan, evict, grid_shape(plan, None))
    store.reserve(64, None)
    return store
