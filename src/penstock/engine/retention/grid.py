"""The lowest score first: cells of rows of about the same age and grade, ranked as a whole.

A row's score is its rating times what its age is worth. Ages change all the time, and a heap of
scores would have to be rebuilt as often. So time is divided into parts, and a stream's rows into
cells by (grade of their rating, part of time in which they came): all rows of a cell have about
the same score, now and later. When the next part begins the cells are ranked again, which costs
as much as there are cells, not rows.

Within a cell rows are in time order. If their age is one at which rows gain by growing older, the
latest leaves first, otherwise the earliest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, kernel, wide
from penstock.engine.kernels.layout import NOTHING, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Indices, Integers

# Columns of `links`: neighbours in a cell's list, the one that came later first; the cell.
LATER: Final = 0
EARLIER: Final = 1
CELL: Final = 2

# A stream's grid of cells: grades by ages.
_GRID: Final = np.dtype(
    [
        ("ages", np.int64),  # cells of a grade: parts of a life, and two more for older rows
        ("cells", np.int64),  # in use: grades times ages
        ("cursor", np.int64),  # cells ranked below it are empty
    ]
)


class GridArrays(NamedTuple):
    """Cells of rows, by stream."""

    grids: Array  # one per stream
    cells: Indices  # cells[s, cell]: its latest row and its earliest
    ranks: Indices  # ranks[s, cell]: its place among the stream's cells, lowest score first
    ranked: Indices  # ranked[s, place]: the cell
    rising: Indices  # rising[s, cell]: whether a row there gains by growing older
    links: Indices  # one line per row


def make(streams: int, grades: int, *parts: int) -> GridArrays:
    """Return empty cells for lives of so many parts, one number for all streams or one for each."""
    grids = np.zeros(streams, _GRID)
    grids["ages"] = np.array(parts) + 2
    grids["cells"] = grids["ages"] * grades
    cells = int(grids["cells"].max(initial=0))
    return GridArrays(
        grids,
        np.full((streams, cells, 2), NOTHING, np.int32),
        np.zeros((streams, cells), np.int32),
        np.zeros((streams, cells), np.int32),
        np.zeros((streams, cells), np.int32),
        np.zeros((0, 3), np.int32),
    )


def grown(grid: GridArrays, size: int) -> GridArrays:
    """Return the cells with room for so many rows."""
    links = np.zeros((size, grid.links.shape[1]), np.int32)
    links[: len(grid.links)] = grid.links
    return grid._replace(links=links)


# Columns of `cells`.
_LATEST = 0
_EARLIEST = 1


@inner
def cell_of(memory: Memory, stream: int, time: float, grade: int) -> int:
    """Return the cell of a row; rows older than a whole life share the last one of their grade."""
    span = memory.lives[stream]["span"]
    now = memory.lives[stream]["now"]
    ages = memory.retained.grid.grids[stream]["ages"]
    part = np.int64(np.floor(time / span))
    part = min(max(part, now - ages + 1), now)
    return grade * ages + part % ages


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Put a row into its cell, at its place in time."""
    rows = memory.rows
    links = memory.retained.grid.links
    time = rows[row]["time"]
    cell = cell_of(memory, stream, time, grade)
    after = NOTHING
    before = memory.retained.grid.cells[stream, cell, _LATEST]
    # A walk only for a row that comes late, or was monitored until now.
    while before != NOTHING and (
        rows[before]["time"] > time
        or (
            rows[before]["time"] == time
            and rows[before]["arrival_number"] > rows[row]["arrival_number"]
        )
    ):
        after = before
        before = links[before, EARLIER]
    links[row, EARLIER] = before
    links[row, LATER] = after
    links[row, CELL] = cell
    if before == NOTHING:
        memory.retained.grid.cells[stream, cell, _EARLIEST] = row
    else:
        links[before, LATER] = row
    if after == NOTHING:
        memory.retained.grid.cells[stream, cell, _LATEST] = row
    else:
        links[after, EARLIER] = row
    grid = memory.retained.grid.grids[stream]
    grid["cursor"] = min(grid["cursor"], memory.retained.grid.ranks[stream, cell])


@inner
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of its cell."""
    links = memory.retained.grid.links
    cell = links[row, CELL]
    later = links[row, LATER]
    earlier = links[row, EARLIER]
    if later == NOTHING:
        memory.retained.grid.cells[stream, cell, _LATEST] = earlier
    else:
        links[later, EARLIER] = earlier
    if earlier == NOTHING:
        memory.retained.grid.cells[stream, cell, _EARLIEST] = later
    else:
        links[earlier, LATER] = later


@inner
def lowest(memory: Memory, stream: int) -> int:
    """Return the row with the lowest score, or NOTHING."""
    grid = memory.retained.grid.grids[stream]
    cursor = grid["cursor"]
    while cursor < grid["cells"]:
        cell = memory.retained.grid.ranked[stream, cursor]
        if memory.retained.grid.cells[stream, cell, _LATEST] != NOTHING:
            grid["cursor"] = cursor
            if memory.retained.grid.rising[stream, cell]:
                return memory.retained.grid.cells[stream, cell, _LATEST]
            return memory.retained.grid.cells[stream, cell, _EARLIEST]
        cursor += 1
    grid["cursor"] = cursor
    return NOTHING


@inner
def first_to_go(memory: Memory, stream: int, before: int) -> int:
    """Return the row with the lowest score of those that may leave, or NOTHING."""
    if memory.streams[stream]["held"] == memory.streams[stream]["monitored"]:
        return wide(NOTHING)
    return wide(lowest(memory, stream))


@inner
def is_lower(memory: Memory, stream: int, time: float, grade: int, victim: int) -> bool:
    """Return whether an arrival's score is lower than that of its stream's lowest row."""
    cell = cell_of(memory, stream, time, grade)
    other = memory.retained.grid.links[victim, CELL]
    if cell == other:
        return bool(memory.retained.grid.rising[stream, cell] != 0)
    ranks = memory.retained.grid.ranks
    return bool(ranks[stream, cell] < ranks[stream, other])


@inner
def yields(memory: Memory, arrival: np.void, stream: int, victim: int) -> bool:
    """Return whether an arrival goes rather than the row of the lowest score."""
    return is_lower(memory, stream, arrival["time"], wide(arrival["grade"]), victim)


@inner
def average(memory: Memory) -> int:
    """Return the grade of an average row."""
    grid = memory.retained.grid.grids[0]
    return wide(grid["cells"] // grid["ages"] // 2)


@kernel
def turn(memory: Memory, stream: int, now: int) -> None:
    """Go on to a later part of time; the rows of cells that it takes over join the next oldest."""
    links = memory.retained.grid.links
    cells = memory.retained.grid.cells
    grid = memory.retained.grid.grids[stream]
    ages = grid["ages"]
    grades = grid["cells"] // ages
    steps = now - memory.lives[stream]["now"]
    if steps > ages:
        # After so many steps all are in one cell, and further rounds bring it back to its place.
        steps = ages + (steps - ages) % ages
    for step in range(steps):
        # The part of time now - ages + 1 gives its cell to the new one.
        part = now - steps + step + 1
        for grade in range(grades):
            old = grade * ages + part % ages
            new = grade * ages + (part + 1) % ages
            if ages == 1 or cells[stream, old, _LATEST] == NOTHING:
                continue
            row = cells[stream, old, _LATEST]
            while row != NOTHING:
                links[row, CELL] = new
                row = links[row, EARLIER]
            # They came before those that are there.
            latest = cells[stream, old, _LATEST]
            following = cells[stream, new, _EARLIEST]
            links[latest, LATER] = following
            if following == NOTHING:
                cells[stream, new, _LATEST] = latest
            else:
                links[following, EARLIER] = latest
            cells[stream, new, _EARLIEST] = cells[stream, old, _EARLIEST]
            cells[stream, old, _LATEST] = NOTHING
            cells[stream, old, _EARLIEST] = NOTHING
    grid["cursor"] = 0


@kernel
def rank(
    memory: Memory, stream: int, order: Integers, levels: Integers, worthless: int, rises: Integers
) -> None:
    """Rank a stream's cells by score; of equals, the oldest comes first.

    A cell's score is its grade's weight times its age's worth. Weights grow by the same factor
    from grade to grade, so the logarithm of a score, in grades, is the grade plus the age's level
    plus what is left of it: sorting the ages by what is left sorts the cells.

    Parameters
    ----------
    memory
        The memory to change.
    stream
        The stream.
    order
        Ages in parts: the worthless ones, the oldest first, then the others by what is left of
        the logarithm of their worth.
    levels
        For each age its logarithm, in grades, rounded down.
    worthless
        How many ages are worth nothing.
    rises
        For each age, whether rows gain by growing older.
    """
    grid = memory.retained.grid.grids[stream]
    ages = grid["ages"]
    grades = grid["cells"] // ages
    now = memory.lives[stream]["now"]
    lowest_level = np.int64(0)
    highest_level = np.int64(-1)
    for i in range(order.size):
        age = order[i]
        place = (now - age) % ages
        for grade in range(grades):
            memory.retained.grid.rising[stream, grade * ages + place] = rises[age]
        if i == worthless:
            lowest_level = highest_level = levels[age]
        elif i > worthless:
            lowest_level = min(lowest_level, levels[age])
            highest_level = max(highest_level, levels[age])
    at = 0
    for i in range(worthless):
        for grade in range(grades):
            cell = grade * ages + (now - order[i]) % ages
            memory.retained.grid.ranked[stream, at] = cell
            memory.retained.grid.ranks[stream, cell] = at
            at += 1
    if worthless < order.size:
        for level in range(lowest_level, highest_level + grades):
            for i in range(worthless, order.size):
                grade = level - levels[order[i]]
                if 0 <= grade < grades:
                    cell = grade * ages + (now - order[i]) % ages
                    memory.retained.grid.ranked[stream, at] = cell
                    memory.retained.grid.ranks[stream, cell] = at
                    at += 1
    grid["cursor"] = 0


@kernel
def rebuild(memory: Memory, stream: int, rows: Integers, grades: Integers) -> None:
    """Put a stream's rows, in time order, into other cells."""
    memory.retained.grid.cells[stream, :, :] = NOTHING
    memory.retained.grid.grids[stream]["cursor"] = 0
    for at in range(rows.size):
        enter(memory, rows[at], stream, grades[at])


@kernel
def set_grades(arrivals: Array, places: Integers, grades: Integers) -> None:
    """Set the grades of arrivals at some places."""
    for i in range(places.size):
        arrivals[places[i]]["grade"] = grades[i]
