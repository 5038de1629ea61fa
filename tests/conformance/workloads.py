"""The joins that every strategy goes through: their data, and budgets that are too small."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.testing import expected_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from penstock.goals import Goal
    from penstock.predicates import Predicate


@dataclass(frozen=True, eq=False)
class Workload:
    """A join without a goal or a budget, and its streams.

    Attributes
    ----------
    budgets
        By kind: budgets far below what the exact join needs.
    cuts
        Times at which the streams can be cut into micro-batches.
    """

    name: str
    streams: Mapping[str, ps.Stream]
    on: Predicate
    tables: Mapping[str, pa.Table]
    budgets: Mapping[str, ps.Budget]
    cuts: tuple[Any, ...]

    def join(
        self, goal: Goal | None = None, budget: ps.Budget | None = None, seed: int = 0
    ) -> ps.Join:
        """Make the join; the exact one if there is no budget."""
        goal = ps.MaxSubset() if goal is None else goal
        return ps.Join(streams=self.streams, on=self.on, goal=goal, budget=budget, seed=seed)

    @property
    def exact(self) -> list[tuple[str, ...]]:
        """Rows of the exact join, found by brute force."""
        return _expected(self)


@cache
def _expected(workload: Workload) -> list[tuple[str, ...]]:
    return expected_rows(workload.join(), workload.tables)


def _times(generator: np.random.Generator, rows: int, end: int) -> npt.NDArray[np.int64]:
    """Draw times in order, with ties."""
    return np.sort(generator.integers(0, end, rows))


def _with_nulls(values: npt.NDArray[Any], every: int) -> pa.Array:
    return pa.array(values, mask=np.arange(values.size) % every == every - 1)


def _equal_of_two() -> Workload:
    """Text keys, some of them null, of which a few are frequent; numeric time."""
    draw = np.random.default_rng(1)
    words = np.array([f"item {number}" for number in range(8)], object)

    def table(rows: int) -> pa.Table:
        key = words[np.minimum(draw.geometric(0.3, rows) - 1, 7)]
        columns = {"t": _times(draw, rows, 100), "item": _with_nulls(key, 17)}
        return pa.table({**columns, "price": draw.uniform(0, 9, rows)})

    return Workload(
        name="equal of two",
        streams={
            "orders": ps.Stream(time="t", window=12),
            "payments": ps.Stream(time="t", window=5),
        },
        on=ps.Equal("item"),
        tables={"orders": table(120), "payments": table(100)},
        budgets={"rows": ps.Budget(rows=9), "memory": ps.Budget(memory=2200)},
        cuts=(3, 4, 20, 21, 50, 75, 76, 98),
    )


def _equal_of_three() -> Workload:
    """Keys of two columns over three streams; rows that are equal in everything."""
    draw = np.random.default_rng(2)

    def table(rows: int) -> pa.Table:
        day, site = draw.integers(0, 2, rows), draw.integers(0, 3, rows)
        return pa.table({"at": _times(draw, rows, 40), "day": day, "site": site.astype(str)})

    return Workload(
        name="equal of three",
        streams={name: ps.Stream(time="at", window=6, lateness=2) for name in "abc"},
        on=ps.Equal("day", "site"),
        tables={"a": table(60), "b": table(50), "c": table(40)},
        budgets={"rows": ps.Budget(rows=12), "memory": ps.Budget(memory=2500)},
        cuts=(1, 9, 10, 11, 25, 39),
    )


def _within() -> Workload:
    """Readings of three gauges, some of them NaN; timestamps."""
    draw = np.random.default_rng(3)

    def table(rows: int) -> pa.Table:
        level = np.round(draw.normal(0, 1.5, rows), 2)
        level[::13] = np.nan
        at = pa.array(_times(draw, rows, 60), pa.timestamp("s", "UTC"))
        return pa.table({"at": at, "level": level, "gauge": draw.integers(0, 9, rows)})

    return Workload(
        name="within",
        streams={
            "north": ps.Stream(time="at", window="8 seconds"),
            "east": ps.Stream(time="at", window="0 seconds"),
            "south": ps.Stream(time="at", window="15 seconds"),
        },
        on=ps.Within(0.5, south="level", east="level", north="level"),
        tables={"north": table(70), "east": table(60), "south": table(60)},
        budgets={"rows": ps.Budget(rows=10), "memory": ps.Budget(memory=2200)},
        cuts=tuple(np.array([5, 6, 30, 31, 50], "datetime64[s]").tolist()),
    )


def _band() -> Workload:
    """Rows that grow with time, so that a budget in bytes holds fewer and fewer of them.

    The last row of each stream is the largest, and has no value.
    """
    draw = np.random.default_rng(4)

    def table(rows: int) -> pa.Table:
        times = np.append(_times(draw, rows - 1, 80), 80)
        notes = ["~" * int(4 * time) for time in times[:-1]]
        value = _with_nulls(draw.integers(-20, 20, rows), 10)
        return pa.table({"t": times, "v": value, "n": [*notes, "~" * 10_000]})

    return Workload(
        name="band",
        streams={"x": ps.Stream(time="t", window=20), "y": ps.Stream(time="t", window=10)},
        on=ps.Band(low=-1, high=4, x="v", y="v"),
        tables={"x": table(100), "y": table(100)},
        budgets={"rows": ps.Budget(rows=13), "memory": ps.Budget(memory=4000)},
        cuts=(*range(5, 80, 9), 80),
    )


def _compare() -> Workload:
    """Prices as decimals; times are floats, some of them null, and come in no order at all."""
    draw = np.random.default_rng(5)

    def table(rows: int) -> pa.Table:
        price = [Decimal(int(cents)).scaleb(-2) for cents in draw.integers(0, 400, rows)]
        times = _with_nulls(draw.permutation(_times(draw, rows, 60)) / 2, 15)
        return pa.table({"t": times, "price": pa.array(price, pa.decimal128(9, 2))})

    return Workload(
        name="compare",
        streams={
            "asks": ps.Stream(time="t", window=3.5, lateness=8),
            "bids": ps.Stream(time="t", window=2, lateness=10.5),
        },
        on=ps.Compare("<=", asks="price", bids="price"),
        tables={"asks": table(90), "bids": table(70)},
        budgets={"rows": ps.Budget(rows=15), "memory": ps.Budget(memory=2600)},
        cuts=(2.5, 3, 8, 20, 29.5),
    )


def _similar() -> Workload:
    """Vectors of three dimensions, some of them of two, or with a NaN in them."""
    draw = np.random.default_rng(7)

    def table(rows: int) -> pa.Table:
        vectors: list[list[float] | None] = draw.normal(0, 1, (rows, 3)).round(1).tolist()
        vectors[5::17] = [[1.0, 1.0]] * len(vectors[5::17])
        vectors[6::17] = [[1.0, np.nan, 1.0]] * len(vectors[6::17])
        vectors[7] = None
        return pa.table(
            {"t": _times(draw, rows, 60), "v": pa.array(vectors, pa.list_(pa.float32()))}
        )

    return Workload(
        name="similar",
        streams={
            "news": ps.Stream(time="t", window=10),
            "posts": ps.Stream(time="t", window=16, lateness=2),
            "calls": ps.Stream(time="t", window=6),
        },
        on=ps.Similar(1.8, dimensions=3, calls="v", posts="v", news="v"),
        tables={"news": table(60), "posts": table(70), "calls": table(60)},
        budgets={"rows": ps.Budget(rows=14), "memory": ps.Budget(memory=4500)},
        cuts=(4, 5, 20, 33, 34, 59),
    )


def _equal_of_many_rows() -> Workload:
    """Enough rows for several reviews, at which a strategy may change its mind."""
    draw = np.random.default_rng(6)

    def table(rows: int) -> pa.Table:
        key = np.minimum(draw.geometric(0.1, rows) - 1, 29)
        return pa.table({"t": _times(draw, rows, 600), "k": key, "n": draw.integers(0, 9, rows)})

    return Workload(
        name="equal of many rows",
        streams={"left": ps.Stream(time="t", window=40), "right": ps.Stream(time="t", window=25)},
        on=ps.Equal("k"),
        tables={"left": table(400), "right": table(350)},
        budgets={"rows": ps.Budget(rows=18)},
        cuts=(100, 101, 250, 400, 590),
    )


_MAKERS: tuple[Callable[[], Workload], ...] = (
    _equal_of_two,
    _equal_of_three,
    _within,
    _band,
    _compare,
    _similar,
)
WORKLOADS: tuple[Workload, ...] = tuple(make() for make in _MAKERS)
# The table's strategies have `tests/engine/test_learning.py` for this.
REVIEWED: Workload = _equal_of_many_rows()


def workload_named(name: str) -> Workload:
    """Return the workload of this name."""
    return next(workload for workload in (*WORKLOADS, REVIEWED) if workload.name == name)
