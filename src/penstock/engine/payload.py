"""One stream's payload: whole rows, as Arrow tables in time-ordered sub-windows.

The kernels know a row's payload only by a reference: the number of a sub-window and a place in
it. A sub-window never changes once it is made, so it is saved only once. Rows that leave memory
leave gaps. When half of a sub-window is gaps, its other rows are moved into a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.kernels.layout import REF_BITS, REF_MASK
from penstock.engine.kernels.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.arrays import Floats, Indices, Integers, Mask
    from penstock.engine.store import Store

# Rows of a sub-window at most: a few megabytes, a good size for state stores.
MOST_ROWS = 1 << 15


@dataclass
class SubWindow:
    """Consecutive rows, with what the kernels need again after a restart."""

    serial: int  # never used twice
    table: pa.Table
    rows: Indices  # where each row is, or was, in the kernels\' memory
    arrival_numbers: Integers
    likeliness: Floats
    ratings: Floats | None = None  # what rows are kept in order by, where that never changes
    looked_up: dict[int, Floats] = field(default_factory=dict)  # see `Payload.look_up`


class Payload:
    """One stream's sub-windows, and the batch that is being joined."""

    def __init__(self, store: Store, stream: int, schema: pa.Schema) -> None:
        self._store = store
        self._stream = stream
        self.next_serial = 0
        self.batch = schema.empty_table()
        self._looked_up: dict[int, Floats] = {}  # of the batch
        self.sub_windows: dict[int, SubWindow] = {}  # by number, the oldest first

    def live(self, number: int) -> Mask:
        """Return which rows of a sub-window are still in memory."""
        window = self.sub_windows[number]
        here = (number << REF_BITS) | np.arange(window.rows.size)
        # A row's place in memory may have been reused since, also by a row of another stream.
        rows = self._store.memory.rows
        return (rows["ref"][window.rows] == here) & (rows["stream"][window.rows] == self._stream)

    def count_live(self, number: int) -> int:
        """Count the rows of a sub-window that are still in memory."""
        dead = int(self._store.memory.dead[self._stream, number])
        return self.sub_windows[number].rows.size - dead

    def gather(self, refs: Integers) -> pa.Table:
        """Return the payload of the referenced rows, in the order of the references."""
        numbers = refs >> REF_BITS
        if not self.sub_windows or not numbers.any():
            return self.batch.take(pa.array(refs))
        starts = np.zeros(max(self.sub_windows) + 1, np.int64)
        tables = [self.batch]
        end = self.batch.num_rows
        wanted = np.zeros(starts.size, np.bool_)
        wanted[numbers] = True
        wanted[0] = False  # the batch itself, already in `tables`
        for number in np.flatnonzero(wanted):
            starts[number] = end
            table = self.sub_windows[int(number)].table
            tables.append(table)
            end += table.num_rows
        everything = pa.concat_tables(tables)
        return everything.take(pa.array(starts[numbers] + (refs & REF_MASK)))

    def begin(self, batch: pa.Table) -> None:
        """Set the batch that is joined next."""
        self.batch = batch
        self._looked_up = {}

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
        """Return the numbers of all rows of the batch, or of a sub-window."""
        known, table = self._looked_up, self.batch
        if number:
            known, table = self.sub_windows[number].looked_up, self.sub_windows[number].table
        if key not in known:
            known[key] = compute(table)
        return known[key]

    def settle(self, rows: Indices) -> None:
        """Keep the given rows of the batch, which are in time order, and drop the other rows."""
        index = self._store.memory.rows["ref"][rows] & REF_MASK
        for start in range(0, rows.size, MOST_ROWS):
            part = index[start : start + MOST_ROWS]
            self._add(_take(self.batch, part, rows.size), rows[start : start + MOST_ROWS])
        self.begin(self.batch.slice(0, 0))
        self._tidy()

    def refill(self, serial: int, table: pa.Table, live: Mask) -> SubWindow:
        """Put back a saved sub-window; its rows and their births are filled in later."""
        number = self._free_number()
        window = SubWindow(
            serial,
            table,
            np.zeros(live.size, np.int32),
            np.zeros(live.size, np.int64),
            np.zeros(live.size, np.float64),
        )
        self.sub_windows[number] = window
        self._store.memory.dead[self._stream, number] = live.size - int(live.sum())
        return window

    def number_of(self, serial: int) -> int:
        """Return the number of the sub-window with a serial."""
        return next(n for n, window in self.sub_windows.items() if window.serial == serial)

    def _add(self, table: pa.Table, rows: Indices) -> None:
        number = self._free_number()
        memory = self._store.memory
        memory.dead[self._stream, number] = 0
        window = SubWindow(
            self.next_serial,
            table,
            rows.copy(),
            np.empty(rows.size, np.int64),
            np.empty(rows.size, np.float64),
        )
        settle(memory, window.rows, number, window.arrival_numbers, window.likeliness)
        window.ratings = self._store.retention.ratings(memory, window.rows.astype(np.int64))
        self.sub_windows[number] = window
        self.next_serial += 1

    def _free_number(self) -> int:
        number = next(n for n in range(1, len(self.sub_windows) + 2) if n not in self.sub_windows)
        self._store.reserve_sub_windows(number)
        return number

    def _tidy(self) -> None:
        """Drop empty sub-windows, and merge neighbours that are small or full of gaps."""
        for number in [n for n in self.sub_windows if not self.count_live(n)]:
            del self.sub_windows[number]
        for group in _groups(
            [(n, w.rows.size, self.count_live(n)) for n, w in self.sub_windows.items()]
        ):
            self._join(group)

    def _join(self, numbers: list[int]) -> None:
        """Move the live rows of neighbouring sub-windows into one that replaces them."""
        lives = [self.live(n) for n in numbers]
        windows = [self.sub_windows[n] for n in numbers]
        table = pa.concat_tables(
            [
                _take(window.table, np.flatnonzero(live), int(live.sum()))
                for window, live in zip(windows, lives, strict=True)
            ]
        ).combine_chunks()
        rows = np.concatenate([w.rows[live] for w, live in zip(windows, lives, strict=True)])
        order = list(self.sub_windows)
        first = order.index(numbers[0])
        before = {n: self.sub_windows[n] for n in order[:first]}
        after = {n: self.sub_windows[n] for n in order[first + len(numbers) :]}
        self.sub_windows = before | after
        self._add(table, rows)
        (made,) = self.sub_windows.keys() - before.keys() - after.keys()
        self.sub_windows = before | {made: self.sub_windows[made]} | after


def _groups(windows: list[tuple[int, int, int]]) -> list[list[int]]:
    """Return which runs of (number, rows, live rows) to merge, the oldest first.

    A sub-window is full of gaps if it has lost half of its rows. The newest ones are merged while
    each is no larger than all after it together, like carries in binary counting. So every row is
    moved log(n) times at most, and at most log(n) sub-windows are small.

    >>> _groups(
    ...     [(1, 300, 290), (2, 700, 300), (3, 700, 310), (4, 90, 90), (5, 40, 40), (6, 50, 50)]
    ... )
    [[2, 3], [4, 5, 6]]
    """
    groups: list[list[int]] = []
    tail: list[int] = []
    following = 0
    for number, _, live in reversed(windows):
        if tail and (live > following or live + following > MOST_ROWS):
            break
        tail.insert(0, number)
        following += live
    gaps: list[int] = []
    total = 0
    for number, rows, live in windows[: len(windows) - len(tail)]:
        if 2 * live <= rows and total + live <= MOST_ROWS:
            gaps.append(number)
            total += live
            continue
        if gaps:
            groups.append(gaps)
        gaps, total = ([number], live) if 2 * live <= rows else ([], 0)
    if gaps:
        groups.append(gaps)
    if len(tail) > 1 or (tail and 2 * windows[-1][2] <= windows[-1][1]):
        groups.append(tail)
    return groups


def _take(table: pa.Table, index: Integers, kept: int) -> pa.Table:
    """Return rows of a table; as a view if they are one run and half of the table is kept."""
    run = index.size and index[-1] - index[0] == index.size - 1 and np.all(np.diff(index) == 1)
    if run and 2 * kept >= table.num_rows:
        return table.slice(int(index[0]), index.size)
    return table.take(pa.array(index))
