"""Memories for tests of single kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import penstock as ps
from penstock.engine.lives import lives_of
from penstock.engine.plan import bind
from penstock.engine.retention.base import Retention
from penstock.engine.retention.table import retention_for
from penstock.engine.store import Store
from penstock.strategies import Oldest

if TYPE_CHECKING:
    from penstock.predicates import Predicate
    from penstock.strategies import Order


def make_store(
    *,
    on: Predicate | None = None,
    order: Order | None = None,
    value: pa.DataType | None = None,
    window: float = 10,
    floating_time: bool = False,
) -> Store:
    """Return the empty memory of a join of two streams, with room for a few rows.

    Without an order it is that of an exact join.
    """
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=window) for name in ("a", "b")},
        on=on or ps.Equal("k"),
    )
    time = pa.float64() if floating_time else pa.int64()
    schema = pa.schema([("t", time), ("k", value or pa.int64())])
    plan = bind(join, {"a": schema, "b": schema})
    lives = lives_of(plan, None)
    kind = Retention if order is None else retention_for(order)
    store = Store(plan, lives, kind(order or Oldest(), lives.parts))
    store.reserve(64, None)
    return store
