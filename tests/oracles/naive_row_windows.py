"""Joins with windows of rows as CQL has them: each stream keeps its last rows, in a list.

Written apart from `penstock.testing.exact_join`, which looks at finished tables and counts. Here
rows come one after another, and what has left its window is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock.engine.identity import content_hashes
from tests.oracles.naive_operator import times_of
from tests.oracles.naive_predicates import holds, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.engine.plan import Plan


@dataclass
class Row:
    """A row of a stream: when it came, its key, and what is in it."""

    time: Any
    key: tuple[Any, ...] | None
    text: str


@dataclass
class LastRows:
    """What a join of whole streams finds, and how many rows with a key left windows of rows."""

    results: list[tuple[str, ...]] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)


def join_last_rows(plan: Plan, tables: Mapping[str, pa.Table]) -> LastRows:
    """Join whole streams, row by row in time order."""
    arriving = []
    for s, side in enumerate(plan.sides):
        table = in_order_of_equals(tables[side.name])
        columns = [table.column(name).to_pylist() for name in side.columns]
        rows = zip(
            times_of(table.column(side.time), plan.time.unit),
            zip(*columns, strict=True),
            map(repr, table.to_pylist()),
            strict=True,
        )
        arriving += [
            (s, Row(time, key_of(plan.spec.on, values), text))
            for time, values, text in rows
            if time is not None
        ]
    found = LastRows(expired=[0] * len(plan.sides))
    windows: list[list[Row]] = [[] for _ in plan.sides]
    for s, row in sorted(arriving, key=lambda each: (each[1].time, each[0])):
        for other, name in enumerate(plan.spec.names):
            size = plan.spec.streams[name].window
            if not isinstance(size, ps.Rows):
                windows[other] = [
                    each
                    for each in windows[other]
                    if row.time - each.time <= plan.sides[other].window
                ]
            elif other == s and len(windows[s]) == size.number:
                found.expired[s] += windows[s].pop(0).key is not None
        if row.key is not None:
            others = [[row] if o == s else held for o, held in enumerate(windows)]
            found.results += [
                tuple(member.text for member in members)
                for members in product(*others)
                if _fit(plan, members)
            ]
        windows[s].append(row)
    return found


def _fit(plan: Plan, members: tuple[Row, ...]) -> bool:
    keys = [member.key for member in members if member.key is not None]
    return len(keys) == len(members) and holds(plan.spec.on, plan.spec.names, keys)


def in_order_of_equals(table: pa.Table) -> pa.Table:
    """Return a table so that rows of the same time are in the order in which joins take them."""
    return table.take(np.argsort(content_hashes(table), kind="stable"))
