"""News to score, definitions to score them by, and how both are tried."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import strategies as st

import penstock as ps
from penstock.importance import importance_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.importance import Importance

NAN, INFINITY = float("nan"), float("inf")

# The same classes, open to what a type checker would refuse.
lookup: Callable[..., ps.Lookup] = ps.Lookup
histogram: Callable[..., ps.Histogram] = ps.Histogram
goal: Callable[..., ps.MaxImportance] = ps.MaxImportance

NEWS = pa.table(
    {
        "category": ["politics", "sports", "weather"],
        "votes": [3, 0, 7],
        "price": pa.array([Decimal("1.50"), Decimal("0.10"), Decimal("20.00")]),
    }
)
CATEGORIES = ps.Lookup("category", {"politics": 90, "sports": 40}, default=10)


def twice(rows: pa.Table) -> Any:  # noqa: ANN401
    return pc.multiply(rows["votes"], 2)


@dataclass(frozen=True)
class Times:
    factor: float

    def __call__(self, rows: pa.Table) -> Any:  # noqa: ANN401
        return pc.multiply(rows["votes"], self.factor)


def made(said: object) -> Importance:
    return importance_of(said, 'importance of stream "cnn"')


def scores(said: object, table: pa.Table = NEWS) -> list[float]:
    importance = made(said)
    importance.check(table.schema, "cnn")
    found = importance.evaluate(0, table, "cnn")
    assert found.dtype == np.float64
    listed: list[float] = found.tolist()
    return listed


def column(values: object, kind: object = None) -> pa.Table:
    return pa.table({"x": values if isinstance(values, pa.Array) else pa.array(values, kind)})


def refusal(call: Callable[..., object], *args: object, **settings: object) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        call(*args, **settings)
    return str(caught.value)


def schema_error(said: object, table: pa.Table = NEWS) -> str:
    with pytest.raises(ps.SchemaError) as caught:
        scores(said, table)
    return str(caught.value)


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, 2.0]))
AMOUNTS = st.one_of(st.integers(0, 100), st.floats(0, 1e6))
