"""Joins with stored tables in the Python process, as Spark's own stream-static join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.planning.equal_keys import equal_keys
from penstock.planning.member_rows import TIME, member_column
from penstock.planning.residual import holds
from penstock.predicates import Equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from penstock.planning.parsed import JoinCondition

    Integers = npt.NDArray[np.int64]

__all__ = ["join_rows"]

# Pairs that are tested at a time where no equality finds them.
_PAIRS = 1 << 20


def join_rows(left: pa.Table, right: pa.Table, conditions: Sequence[JoinCondition]) -> pa.Table:
    """Return all pairs of rows for which some conditions hold.

    Parameters
    ----------
    left, right
        A struct column for each member; `left` may have a time.
    conditions
        Between members of the two.
    """
    equal = [each for each in conditions if isinstance(each.predicate, Equal)]
    rest = [each for each in conditions if not isinstance(each.predicate, Equal)]
    parts = []
    for mine, theirs in [_matches(left, right, equal)] if equal else _blocks(left, right):
        rows = _pairs(left, right, mine, theirs)
        for each in rest:
            held = holds(each, member_column(rows, *each.left), member_column(rows, *each.right))
            rows = rows.filter(pa.array(held))
        parts.append(rows)
    return pa.concat_tables([_pairs(left.slice(0, 0), right.slice(0, 0)), *parts])


def _pairs(
    left: pa.Table, right: pa.Table, mine: Integers | None = None, theirs: Integers | None = None
) -> pa.Table:
    if mine is not None:
        left, right = left.take(pa.array(mine)), right.take(pa.array(theirs))
    columns = {name: left.column(name) for name in left.column_names if name != TIME}
    columns |= {name: right.column(name) for name in right.column_names}
    if TIME in left.column_names:
        columns[TIME] = left.column(TIME)
    return pa.table(columns)


def _blocks(left: pa.Table, right: pa.Table) -> list[tuple[Integers, Integers]]:
    """Return all pairs, some at a time."""
    count = right.num_rows
    step = max(1, _PAIRS // max(count, 1))
    blocks = []
    for start in range(0, left.num_rows if count else 0, step):
        mine = np.arange(start, min(start + step, left.num_rows))
        blocks.append((np.repeat(mine, count), np.tile(np.arange(count), mine.size)))
    return blocks


def _matches(
    left: pa.Table, right: pa.Table, conditions: Sequence[JoinCondition]
) -> tuple[Integers, Integers]:
    """Return the pairs of rows that are equal in all columns, in order."""
    sides: tuple[dict[str, pa.Array], dict[str, pa.Array]] = ({}, {})
    for place, each in enumerate(conditions):
        ends = (
            (each.left, each.right)
            if each.left[0] in left.column_names
            else (
                each.right,
                each.left,
            )
        )
        columns = [
            member_column(table, *end) for table, end in zip((left, right), ends, strict=True)
        ]
        for side, column in zip(sides, equal_keys(each, *columns), strict=True):
            side[f"k{place}"] = column
    tables = []
    for side, name in zip(sides, ("mine", "theirs"), strict=True):
        table = pa.table(side)
        rows = pa.array(np.arange(table.num_rows))
        tables.append(table.append_column(name, rows).drop_null())
    keys = list(sides[0])
    found = tables[0].join(tables[1], keys, join_type="inner", use_threads=False)
    found = found.sort_by([("mine", "ascending"), ("theirs", "ascending")])
    mine, theirs = (found.column(name).to_numpy() for name in ("mine", "theirs"))
    return mine, theirs
