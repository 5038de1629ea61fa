"""From Arrow to arrivals: the rows of a batch as numbers, merged in time order.

Rows that cannot take part are set aside here and counted by cause: late, without a usable time,
too far ahead of their stream, without a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.identity import content_hashes
from penstock.engine.kernels import layout
from penstock.engine.kernels.weave import RowColumns, weave, write_arrivals
from penstock.engine.sizes import row_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from penstock.engine.arrays import Array, Floats, Indices, Integers, Mask
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan, Side
    from penstock.engine.vectors import VectorScale


@dataclass
class StreamCounters:
    """What is counted of one stream, and how far its time has come."""

    arrived: int = 0
    payload_bytes: int = 0
    accepted: int = 0  # rows of its last batch that had accepted rows
    ahead: int = 0  # rows set aside as too far ahead since then
    reached: float | None = None  # how far the stream has come, without rows too far ahead
    greatest: int | float | None = None  # greatest time so far, in the rows of all shards
    passed: int | float | None = None  # up to where the others have gone on without it
    told: int | float | None = None  # time before which its source has no more rows
    whole: int = 0  # rows so far, of all shards, each counted once
    late: int = 0
    bad_times: int = 0
    far_ahead: int = 0
    null_keys: int = 0
    bad_importance: int = 0


@dataclass
class Columns:
    """The rows of one stream that take part, in time order."""

    index: Integers  # of the row in its table
    times: Array
    key_words: Integers
    values: Array
    has_key: Mask
    identities: Integers  # hashes of the rows' contents; empty if not needed
    sizes: Integers  # bytes of each row; empty if not needed
    vectors: Array | None = None  # one for each row, where these are compared


@dataclass(frozen=True)
class ReadOptions:
    """What `read_side` computes for each row beyond its time and key.

    Attributes
    ----------
    order
        An order among rows of the same time that does not depend on how they were delivered.
    identities
        A hash of its content.
    sizes
        Its size in bytes.
    hashes
        A hash of its key in place of its value, if the key is interned.
    """

    order: bool
    identities: bool
    sizes: bool
    hashes: bool = False


def accept(
    plan: Plan,
    side: Side,
    table: pa.Table,
    *,
    counters: StreamCounters,
    greatest: float | None,
    bound: float | None,
) -> tuple[Array, Mask]:
    """Return the times of one stream's rows, and which of them may take part.

    Rows before `greatest` less the lateness are late. Rows from `bound` on are too far ahead.
    """
    times, good = plan.time.read(table.column(side.time))
    counters.bad_times += int(good.size - np.count_nonzero(good))
    if greatest is not None:
        on_time = times >= greatest - side.lateness
        late = good & ~on_time
        counters.late += int(np.count_nonzero(late))
        good &= on_time
    if bound is not None:
        far = good & (times >= bound)
        counters.far_ahead += int(np.count_nonzero(far))
        good &= ~far
    return times, good


def read_side(
    plan: Plan,
    side: Side,
    table: pa.Table,
    coder: KeyCoder,
    *,
    times: Array,
    good: Mask,
    counters: StreamCounters,
    options: ReadOptions,
) -> Columns:
    """Read one stream's rows that may take part, in time order."""
    index = np.flatnonzero(good)
    kept = times[index]
    if kept.size > 1 and np.any(kept[1:] < kept[:-1]):
        order = np.argsort(kept, kind="stable")
        index, kept = index[order], kept[order]
    identities = np.zeros(0, np.int64)
    ties = options.order and bool(np.any(kept[1:] == kept[:-1]))
    if ties or options.identities:
        identities = content_hashes(table)[index]
    if ties:
        order = np.lexsort((identities, kept))
        index, kept, identities = index[order], kept[order], identities[order]
    vectors = None
    if plan.vectors is None:
        key_words, values, has_key = read_keys(plan, side, table, coder, hashes=options.hashes)
    else:
        vectors, has_key = read_vectors(plan.vectors, side, table, coder)
        values = _vector_values(side, table, hashes=options.hashes)
        key_words, vectors = np.zeros(has_key.size, np.int64), vectors[index]
    has_key = has_key[index]
    counters.null_keys += int(index.size - np.count_nonzero(has_key))
    sizes = np.zeros(0, np.int64)
    if options.sizes:
        sizes = held_sizes(plan, table, coder)[index]
    return Columns(
        index, kept, key_words[index], values[index], has_key, identities, sizes, vectors
    )


def held_sizes(plan: Plan, table: pa.Table, coder: KeyCoder) -> Integers:
    """Return the bytes that each row has in memory: its payload, and its vector once more."""
    sizes = row_sizes(table)
    return sizes if plan.vectors is None else sizes + plan.vectors.row_bytes(coder.dimensions)


def is_hashed(plan: Plan) -> bool:
    """Return whether keys are interned: their key words can change, only their hashes cannot."""
    return bool(plan.keys) and not (len(plan.keys) == 1 and plan.keys[0].is_word)


def read_keys(
    plan: Plan, side: Side, table: pa.Table, coder: KeyCoder, *, hashes: bool = False
) -> tuple[Integers, Array, Mask]:
    """Return each row's key word and value, and whether it has a key that can match."""
    if plan.keys:
        columns = [table.column(name) for name in side.columns]
        if hashes and is_hashed(plan):
            key_words, good, hashed = coder.interned(columns)
            return key_words, hashed, good
        key_words, good = coder.key_words(columns)
        return key_words, np.zeros(1, plan.values.dtype).repeat(key_words.size), good
    if plan.vectors is not None:
        _, good = read_vectors(plan.vectors, side, table, coder)
        return np.zeros(good.size, np.int64), _vector_values(side, table, hashes=hashes), good
    values, good = plan.values.read(table.column(side.columns[0]))
    if plan.rule.kind == layout.EQUAL:
        key_words = (values + values.dtype.type(0)).view(np.int64)  # -0.0 + 0.0 is 0.0
        return key_words, values, good
    if values.dtype.kind == "f" and plan.rule.kind != layout.COMPARE:
        good = good & np.isfinite(values)  # an infinity has no distance to any value
    return np.zeros(values.size, np.int64), np.where(good, values, 0), good


def read_vectors(
    scale: VectorScale, side: Side, table: pa.Table, coder: KeyCoder
) -> tuple[Array, Mask]:
    """Return each row's vector, of the dimensions that are known, and whether it can match."""
    return scale.read(table.column(side.columns[0]), coder.dimensions)


def _vector_values(side: Side, table: pa.Table, *, hashes: bool) -> Floats:
    """Return a number in [0, 1) that stands for each row's vector, or 0 if it is not needed."""
    if not hashes:
        return np.zeros(table.num_rows)
    hashed = content_hashes(table.select(side.columns)).view(np.uint64)
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Merged:
    """All streams' rows as one sequence of arrivals, in time order.

    Ratings and costs are 0, for the caller to fill in.
    """

    arrivals: Array
    order: Integers  # of each arrival: its index in ticks, then the rows of stream 0, 1, ...
    ticks: int

    def spread(self, columns: Sequence[Array]) -> Array:
        """Return each arrival's value from the streams' columns, 0 for a tick."""
        return np.concatenate([np.zeros(self.ticks, columns[0].dtype), *columns])[self.order]


def merge(
    plan: Plan, sides: list[Columns], places: list[Indices], ticks: Sequence[Array]
) -> Merged:
    """Merge all streams' rows, and the ticks of their progress in all shards, into one sequence."""
    count = len(sides)
    runs = [*ticks, *(side.times for side in sides)]
    starts = np.zeros(2 * count + 1, np.int64)
    np.cumsum([run.size for run in runs], out=starts[1:])
    times = np.concatenate(runs)
    order = np.empty(times.size, np.int64)
    run_of = np.empty(times.size, np.int16)
    weave(times, starts, starts[:-1].copy(), order, run_of)
    arrivals = np.zeros(times.size, layout.arrival_type(plan.time.dtype, plan.values.dtype))
    rows = RowColumns(
        np.concatenate([side.key_words for side in sides]),
        np.concatenate([side.values for side in sides]),
        np.concatenate([side.index for side in sides]),
        np.concatenate(places),
        np.concatenate([side.has_key for side in sides]),
    )
    write_arrivals(arrivals, count, order, run_of, times, rows)
    return Merged(arrivals, order, int(starts[count]))
