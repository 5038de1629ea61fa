"""Which shards a row goes to, so that every result is found exactly once.

===========================  =================================================================
predicate                    shards
===========================  =================================================================
`Equal`, `Compare("=")`      by a hash of the key: no row is copied
`Within`, `Band`             by cells of the value: rows of the first stream go to the cell of
                             their value, other rows to each cell with a value they can match
`Compare`, `Similar`         the stream with the longest window is split, the others are copied
===========================  =================================================================

Each result has exactly one member of the stream that is not copied, so one shard finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.identity import content_hashes
from penstock.engine.intake import read_keys
from penstock.engine.kernels import layout
from penstock.engine.kernels.key_hash import combine_hash_each
from penstock.engine.keys import KeyCoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Integers
    from penstock.engine.plan import Plan


# Width of a cell, in widths of the range that a row can match: about 1 row in 16 is copied.
_REACHES_PER_CELL = 32
# Up to this cell the margin for rounding is far less than a cell; all values beyond share it.
_LAST_CELL = 2.0**40


def route(plan: Plan, tables: Mapping[str, pa.Table], shards: int) -> list[dict[str, pa.Table]]:
    """Divide a batch: return, for each shard, the rows of each stream that it needs."""
    if shards == 1:
        return [dict(tables)]
    routed: list[dict[str, pa.Table]] = [{} for _ in range(shards)]
    for s, side in enumerate(plan.sides):
        table = tables.get(side.name)
        if table is None:
            continue
        first, last = _shards(plan, s, table, shards)
        for shard in range(shards):
            mine = (first == shard) | (last == shard) | (first < 0)
            routed[shard][side.name] = table.filter(pa.array(mine))
    return routed


def _shards(plan: Plan, s: int, table: pa.Table, shards: int) -> tuple[Integers, Integers]:
    """Return the one or two shards of each row; -1 for all of them."""
    if plan.rule.kind == layout.EQUAL:
        one = _by_hash(_key_hashes(plan, s, table), shards)
        return one, one
    if plan.rule.kind in (layout.COMPARE, layout.SIMILAR):
        windows = [side.window for side in plan.sides]
        if s != windows.index(max(windows)):
            everywhere = np.full(table.num_rows, -1, np.int64)
            return everywhere, everywhere
        one = _by_hash(content_hashes(table), shards)
        return one, one
    first, last = _cells(plan, s, table)
    # Far from zero the margin for rounding can be wider than a cell: the row goes to all shards.
    wide = last - first > 1
    one, other = (np.where(wide, -1, _by_hash(cells, shards)) for cells in (first, last))
    return one, other


def _key_hashes(plan: Plan, s: int, table: pa.Table) -> Integers:
    side = plan.sides[s]
    if plan.keys:
        return KeyCoder(plan.keys).hashes([table.column(name) for name in side.columns])
    key_words, _, good = read_keys(plan, side, table, KeyCoder(()))
    return np.where(good, key_words, 0)


def _cells(plan: Plan, s: int, table: pa.Table) -> tuple[Integers, Integers]:
    """Return the cells of the least and greatest value that the first stream's member can have.

    A cell is wider than that range, so there is no further cell in between.
    """
    values, good = plan.values.read(table.column(plan.sides[s].columns[0]))
    values = np.where(good, values, 0).astype(np.float64)
    values[~np.isfinite(values)] = 0.0
    low, high = float(plan.rule.low), float(plan.rule.high)
    steps = plan.chain[s]
    if plan.rule.kind == layout.WITHIN:
        reach = 2 * high
        least, most = (values - high, values + high) if steps else (values, values)
    else:
        reach = (len(plan.sides) - 1) * (high - low)
        least, most = values - steps * high, values - steps * low
    # A few units in the last place. The kernels decide; the range must only not be too narrow.
    margin = 2.0**-48 * (np.abs(values) + steps * (abs(low) + abs(high))) if steps else 0.0
    width = _REACHES_PER_CELL * max(reach, float(plan.rule.width))
    first, last = (
        np.clip(np.floor(bound / width), -_LAST_CELL, _LAST_CELL).astype(np.int64)
        for bound in (least - margin, most + margin)
    )
    return first, last


def _by_hash(numbers: Integers, shards: int) -> Integers:
    hashes = np.zeros(numbers.size, np.int64)
    combine_hash_each(hashes, numbers)
    return (hashes.view(np.uint64) % np.uint64(shards)).astype(np.int64)
