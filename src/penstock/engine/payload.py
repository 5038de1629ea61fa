"""One stream's payload: whole rows, as Arrow tables in time-ordered row groups.

The kernels know a row's payload only by a reference: the number of a row group and a place in
it. A row group never changes once it is made, so it is saved only once. Rows that leave memory
leave gaps. When half of a row group is gaps, its other rows are moved into a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.kernels.layout import REF_BITS, REF_MASK
from penstock.engine.kernels.settle import find_live, settle
from penstock.engine.sizes import row_sizes, widest_row
from penstock.engine.wide import combined, runs, take

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.engine.arrays import Floats, Indices, Integers, Mask
    from penstock.engine.store import Store

# Rows and bytes of a row group at most, unless one row is larger: a few megabytes as a rule, which
# is a good size for state stores.
MOST_ROWS = 1 << 15
MOST_BYTES = 1 << 26
# Bytes of results that are put together at a time.
_RESULT_BYTES = 1 << 27
# The key of `Payload.look_up` for the sizes of rows; those of importance are not negative.
_SIZES = -1


@dataclass
class RowGroup:
    """Consecutive rows, with what the kernels need again after a restart."""

    serial: int  # never used twice
    table: pa.Table
    rows: Indices  # where each row is, or was, in the kernels' memory
    arrival_numbers: Integers
    likeliness: Floats
    ratings: Floats | None = None  # what rows are kept in order by, where that never changes
    looked_up: dict[int, Floats] = field(default_factory=dict)  # see `Payload.look_up`
    widest: int = 0  # no row has more bytes
    size: int = 0  # bytes of the table

    def __post_init__(self) -> None:
        """Measure the table."""
        self.size = self.table.nbytes


class Payload:
    """One stream's row groups, and the batch that is being joined."""

    def __init__(self, store: Store, stream: int, schema: pa.Schema) -> None:
        self._store = store
        self._stream = stream
        self.next_serial = 0
        self.batch = schema.empty_table()
        self._batch_size = 0
        self._widest = 0  # row of the batch
        self._looked_up: dict[int, Floats] = {}  # of the batch
        self.sub_windows: dict[int, RowGroup] = {}  # by number, the oldest first

    def live(self, number: int) -> Mask:
        """Return which rows of a row group are still in memory."""
        rows = self.sub_windows[number].rows
        live = np.empty(rows.size, np.bool_)
        find_live(self._store.memory.of_any_kind, rows, number, self._stream, live)
        return live

    def count_live(self, number: int) -> int:
        """Count the rows of a row group that are still in memory."""
        dead = int(self._store.memory.dead[self._stream, number])
        return self.sub_windows[number].rows.size - dead

    def gather(self, refs: Integers) -> pa.Table:
        """Return the payload of the referenced rows, in the order of the references."""
        numbers = refs >> REF_BITS
        if not self.sub_windows or not numbers.any():
            return take([self.batch], refs, self._batch_size)
        starts = np.zeros(max(self.sub_windows) + 1, np.int64)
        tables = [self.batch]
        size = self._batch_size
        end = self.batch.num_rows
        wanted = np.zeros(starts.size, np.bool_)
        wanted[numbers] = True
        wanted[0] = False  # the batch itself, already in `tables`
        for number in np.flatnonzero(wanted):
            starts[number] = end
            window = self.sub_windows[int(number)]
            tables.append(window.table)
            end += window.table.num_rows
            size += window.size
        return take(tables, starts[numbers] + (refs & REF_MASK), size)

    def begin(self, batch: pa.Table) -> None:
        """Set the batch that is joined next."""
        self.batch = combined(batch)
        self._batch_size = batch.nbytes
        self._widest = widest_row(batch)
        self._looked_up = {}

    @property
    def widest(self) -> int:
        """Bytes that no row has more of."""
        return max([self._widest, *(window.widest for window in self.sub_windows.values())])

    def sizes(self, refs: Integers) -> Integers:
        """Return the bytes of each referenced row."""
        return self.look_up(refs, _SIZES, _sizes_as_floats).astype(np.int64)

    def look_up(self, refs: Integers, key: int, compute: Callable[[pa.Table], Floats]) -> Floats:
        """Return a number for each referenced row, computed once for each table and key."""
        numbers = refs >> REF_BITS
        if not self.sub_windows or not numbers.any():
            return self._known_of(0, key, compute)[refs]
        wanted = np.zeros(max(self.sub_windows) + 1, np.bool_)
        wanted[numbers] = True
        starts = np.zeros(wanted.size, np.int64)
        known = []
        end = 0
        for number in np.flatnonzero(wanted):
            starts[number] = end
            known.append(self._known_of(int(number), key, compute))
            end += known[-1].size
        found: Floats = np.concatenate(known)[starts[numbers] + (refs & REF_MASK)]
        return found

    def _known_of(self, number: int, key: int, compute: Callable[[pa.Table], Floats]) -> Floats:
        """Return the numbers of all rows of the batch, or of a row group."""
        known, table = self._looked_up, self.batch
        if number:
            known, table = self.sub_windows[number].looked_up, self.sub_windows[number].table
        if key not in known:
            known[key] = compute(table)
        return known[key]

    def settle(self, rows: Indices) -> None:
        """Keep the given rows of the batch, which are in time order, and drop the other rows."""
        kept = rows.size
        if kept and kept <= MOST_ROWS and self._batch_size <= MOST_BYTES:
            cuts = [(0, kept)]
        else:
            index = self._store.memory.rows["ref"][rows] & REF_MASK
            cuts = runs(self.sizes(index), MOST_BYTES, MOST_ROWS)
        for start, stop in cuts:
            self._add(
                rows[start:stop].copy(),
                self._widest,
                lambda index: _take(self.batch, index, kept, self._batch_size),
            )
        self.begin(self.batch.schema.empty_table())
        self.tidy()

    def refill(self, serial: int, table: pa.Table, live: Mask) -> RowGroup:
        """Put back a saved row group; its rows and their arrival numbers are filled in later."""
        number = self._free_number()
        window = RowGroup(
            serial,
            table,
            np.zeros(live.size, np.int32),
            np.zeros(live.size, np.int64),
            np.zeros(live.size, np.float64),
            widest=widest_row(table),
        )
        self.sub_windows[number] = window
        self._store.memory.dead[self._stream, number] = live.size - int(live.sum())
        return window

    def number_of(self, serial: int) -> int:
        """Return the number of the row group with a serial."""
        return next(n for n, window in self.sub_windows.items() if window.serial == serial)

    def _add(self, rows: Indices, widest: int, table_of: Callable[[Integers], pa.Table]) -> None:
        """Make a row group; `table_of` returns its table by the places where rows were before."""
        number = self._free_number()
        memory = self._store.memory
        memory.dead[self._stream, number] = 0
        before, arrival_numbers = np.empty((2, rows.size), np.int64)
        likeliness = np.empty(rows.size)
        settle(memory.of_any_kind, rows, number, before, arrival_numbers, likeliness)
        self.sub_windows[number] = RowGroup(
            self.next_serial,
            table_of(before),
            rows,
            arrival_numbers,
            likeliness,
            ratings=self._store.retention.ratings(memory, rows.astype(np.int64)),
            widest=widest,
        )
        self.next_serial += 1

    def _free_number(self) -> int:
        number = next(n for n in range(1, len(self.sub_windows) + 2) if n not in self.sub_windows)
        self._store.reserve_sub_windows(number)
        return number

    def tidy(self) -> None:
        """Drop empty row groups, and merge neighbours that are small or full of gaps."""
        for number in [n for n in self.sub_windows if not self.count_live(n)]:
            del self.sub_windows[number]
        for group in _groups(
            [
                (n, w.rows.size, self.count_live(n), w.size // max(1, w.rows.size))
                for n, w in self.sub_windows.items()
            ]
        ):
            self._join(group)

    def _join(self, numbers: list[int]) -> None:
        """Move the live rows of neighbouring row groups into one that replaces them."""
        lives = [self.live(n) for n in numbers]
        windows = [self.sub_windows[n] for n in numbers]
        table = pa.concat_tables(
            [
                _take(window.table, np.flatnonzero(live), int(live.sum()), window.size)
                for window, live in zip(windows, lives, strict=True)
            ]
        ).combine_chunks()
        rows = np.concatenate([w.rows[live] for w, live in zip(windows, lives, strict=True)])
        order = list(self.sub_windows)
        first = order.index(numbers[0])
        before = {n: self.sub_windows[n] for n in order[:first]}
        after = {n: self.sub_windows[n] for n in order[first + len(numbers) :]}
        self.sub_windows = before | after
        self._add(rows, max(window.widest for window in windows), lambda _: table)
        (made,) = self.sub_windows.keys() - before.keys() - after.keys()
        self.sub_windows = before | {made: self.sub_windows[made]} | after


def piece_bounds(payloads: Sequence[Payload], refs: Integers) -> list[tuple[int, int]]:
    """Cut results, of which each has a reference per stream, so that a piece has not too much."""
    if len(refs) * sum(payload.widest for payload in payloads) <= _RESULT_BYTES:
        return [(0, len(refs))]
    sizes = np.zeros(len(refs), np.int64)
    for s, payload in enumerate(payloads):
        sizes += payload.sizes(np.ascontiguousarray(refs[:, s]))
    return runs(sizes, _RESULT_BYTES, len(refs))


def _sizes_as_floats(table: pa.Table) -> Floats:
    return row_sizes(table).astype(np.float64)


def _groups(windows: list[tuple[int, int, int, int]]) -> list[list[int]]:
    """Return which runs of (number, rows, live rows, bytes per row) to merge, the oldest first.

    A row group is full of gaps if it has lost half of its rows. The newest ones are merged while
    each is no larger than all after it together, like carries in binary counting. So every row is
    moved log(n) times at most, and at most log(n) row groups are small.

    >>> _groups(
    ...     [
    ...         (1, 300, 290, 8),
    ...         (2, 700, 300, 8),
    ...         (3, 700, 310, 8),
    ...         (4, 90, 90, 8),
    ...         (5, 40, 40, 8),
    ...         (6, 50, 50, 8),
    ...     ]
    ... )
    [[2, 3], [4, 5, 6]]
    """
    groups: list[list[int]] = []
    tail: list[int] = []
    following = size = 0
    for number, _, live, each in reversed(windows):
        fits = live + following <= MOST_ROWS and size + live * each <= MOST_BYTES
        if tail and (live > following or not fits):
            break
        tail.insert(0, number)
        following += live
        size += live * each
    gaps: list[int] = []
    total = size = 0
    for number, rows, live, each in windows[: len(windows) - len(tail)]:
        fits = total + live <= MOST_ROWS and size + live * each <= MOST_BYTES
        if 2 * live <= rows and fits:
            gaps.append(number)
            total += live
            size += live * each
            continue
        if gaps:
            groups.append(gaps)
        gaps, total, size = ([number], live, live * each) if 2 * live <= rows else ([], 0, 0)
    if gaps:
        groups.append(gaps)
    if len(tail) > 1 or (tail and 2 * windows[-1][2] <= windows[-1][1]):
        groups.append(tail)
    return groups


def _take(table: pa.Table, index: Integers, kept: int, size: int) -> pa.Table:
    """Return rows of a table of a size in bytes.

    As a view, if they are one run and half of the table is kept.
    """
    run = index.size and index[-1] - index[0] == index.size - 1 and np.all(np.diff(index) == 1)
    if run and 2 * kept >= table.num_rows:
        return table.slice(int(index[0]), index.size)
    return take([table], index, size)
