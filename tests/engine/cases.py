"""Small joins with awkward data, from any source of choices: Hypothesis or a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import penstock as ps
from tests.conformance.checks import goal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.predicates import Predicate
    from tests.engine.support import Pick

NAMES = ("a", "b", "c")
# The first value is as common as all others together.
WHOLE = [0, 1, None, 2, 3, -1, -2, 5]
TENTHS = [0.1, 0.2, 0.0, -0.0, 0.3, None, math.nan, -0.7, 0.9, 1.1, math.inf, 1e-9, -3e300]
TEXT = ["x", "", None, "y", "xy"]
# Of two dimensions, or not usable.
VECTORS = [[0.0, 1.0], [1.0, 1.0], None, [2.0, 0.0], [-1.0, 3.0], [1.0], [math.nan, 0.0], [None, 1]]


@dataclass(frozen=True)
class Kind:
    """A predicate and the values that its columns take."""

    on: Callable[[tuple[str, ...]], Predicate]
    columns: tuple[tuple[pa.DataType, list[Any]], ...]

    @property
    def is_floating(self) -> bool:
        return any(pa.types.is_floating(kind) for kind, _ in self.columns)


def _named(names: tuple[str, ...]) -> dict[str, str]:
    """Name the columns of a predicate, the streams in an order that is not the join's."""
    return dict.fromkeys((*names[1:], names[0]), "k0")


KINDS = (
    {
        "equal whole": Kind(lambda _: ps.Equal("k0"), ((pa.int64(), WHOLE[:4]),)),
        "equal text": Kind(lambda _: ps.Equal("k0"), ((pa.string(), TEXT),)),
        "equal pair": Kind(
            lambda _: ps.Equal("k0", "k1"), ((pa.int64(), [0, 1]), (pa.string(), TEXT))
        ),
        "within whole": Kind(lambda names: ps.Within(1, **_named(names)), ((pa.int64(), WHOLE),)),
        "band whole": Kind(
            lambda names: ps.Band(low=-1, high=2.5, **_named(names)), ((pa.int64(), WHOLE),)
        ),
        "within float": Kind(
            lambda names: ps.Within(0.2, **_named(names)), ((pa.float64(), TENTHS),)
        ),
        "band float": Kind(
            lambda names: ps.Band(low=0.1, high=0.8, **_named(names)), ((pa.float64(), TENTHS),)
        ),
        "similar": Kind(
            lambda names: ps.Similar(1.5, dimensions=2, **_named(names)),
            ((pa.list_(pa.float32()), [*VECTORS, [0.0, 0.0], [math.inf, 1.0], []]),),
        ),
        "similar angle": Kind(
            lambda names: ps.Similar(0.5, metric="cosine", dimensions=2, **_named(names)),
            ((pa.list_(pa.float32()), [*VECTORS, [0.0, 0.0]]),),
        ),
        "compare float": Kind(
            lambda names: ps.Compare("<", **_named(names)), ((pa.float64(), TENTHS),)
        ),
    }
    | {
        f"compare {operator}": Kind(
            # The operator is bound when the table is made.
            lambda names, operator=operator: ps.Compare(operator, **_named(names)),  # type: ignore[misc]
            ((pa.int64(), WHOLE[:6]),),
        )
        for operator in ("<", "<=", "=", "!=", ">=", ">")
    }
)


@dataclass(frozen=True)
class Size:
    """How much of everything there is, at most.

    With `full` there are no fewer batches, rows and times.
    """

    batches: int = 3
    rows: int = 5  # of each stream and batch
    times: int = 6  # that a batch spans
    window: int = 12
    budget: int = 7  # rows beyond one for each stream
    full: bool = False


@dataclass(frozen=True)
class Case:
    """A join and what comes to it."""

    join: ps.Join
    batches: list[dict[str, pa.Table]]

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        return {name: table.schema for name, table in self.batches[0].items()}


def make_case(
    pick: Pick,
    kind: Kind,
    *,
    streams: int = 2,
    strategy: str | None = None,
    floating_time: bool = False,
    in_bytes: bool = False,
    size: Size = Size(),  # noqa: B008 -- frozen
) -> Case:
    """Make a join without a budget, or with one for the given strategy.

    Every choice is made by `pick`: a whole number from its first to its second argument.
    """
    names = NAMES[:streams]
    budget = None if strategy is None else ps.Budget(rows=streams + pick(0, size.budget))
    if in_bytes:
        budget = ps.Budget(memory=200 * (streams + pick(0, size.budget)))
    unit = 0.25 if floating_time else 1
    join = ps.Join(
        streams={
            name: ps.Stream(
                time="t", window=unit * pick(0, size.window), lateness=unit * pick(0, size.times)
            )
            for name in names
        },
        on=kind.on(names),
        goal=goal_of(strategy),
        budget=budget,
        seed=pick(0, 3),
    )
    step = pick(size.times if size.full else 0, size.times)
    most = pick(0, 1) * 2 * size.times
    lags = [pick(0, most) for _ in names]  # 0 for all: the streams are in step
    distinct = bool(pick(0, 1))  # rows that differ in more than time and key
    batches = []
    for number in range(pick(size.batches if size.full else 1, size.batches)):
        tables = {}
        for name, lag in zip(names, lags, strict=True):
            rows = pick(size.rows if size.full else 0, size.rows)
            times = _times(pick, rows, number * step - lag, size.times)
            columns = {"t": _as_numbers(times, floating=floating_time)}
            for i, (type_, values) in enumerate(kind.columns):
                chosen = [
                    values[max(0, pick(1 - len(values), len(values) - 1))] for _ in range(rows)
                ]
                columns[f"k{i}"] = pa.array(chosen, type_)
            if distinct:
                columns["tag"] = pa.array([1000 * number + i for i in range(rows)], pa.int64())
            if in_bytes:
                columns["text"] = pa.array(
                    ["x" * 50 * pick(0, 9) for _ in range(rows)], pa.string()
                )
            tables[name] = pa.table(columns)
        batches.append(tables)
    return Case(join, batches)


def _times(pick: Pick, rows: int, start: int, span: int) -> list[Any]:
    """Choose times, now and then one that cannot be used."""
    unusable = (None, 2**61, -(2**62))
    return [
        unusable[pick(0, 2)] if pick(0, 15) == 15 else start + pick(0, span) for _ in range(rows)
    ]


def _as_numbers(times: list[Any], *, floating: bool) -> pa.Array:
    if not floating:
        return pa.array(times, pa.int64())
    # Quarters: their sums and differences are exact.
    replaced = {2**61: math.inf, -(2**62): math.nan}
    quarters = [None if t is None else replaced.get(t, 0.25 * t) for t in times]
    return pa.array(quarters, pa.float64())


def seeded(seed: int) -> Pick:
    """Return a source of choices that follow from a seed."""
    generator = np.random.default_rng(seed)
    return lambda first, last: int(generator.integers(first, last, endpoint=True))
