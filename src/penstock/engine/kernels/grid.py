"""The lowest score first: cells of rows of about the same age and grade, ranked as a whole.

A row's score is what is expected of it (its grade) times what its age is worth. Ages change all
the time, and a heap of scores would have to be rebuilt as often. So time is divided into parts,
and a stream's rows into cells by (grade, part of time in which they came): all rows of a cell have
about the same score, now and later. When the next part begins the cells are ranked anew, which
costs as much as there are cells, not rows.

Within a cell rows are in time order. If their age is one at which rows gain by
growing older, the latest leaves first, otherwise the earliest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.jit import inner, kernel
from penstock.engine.kernels.layout import CELL, EARLIER, KEY_WORD, LATER, NOTHING, WATCHED, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Integers


def graded_type(time: DType, value: DType) -> DType:
    """Give the record of a row that is to be graded."""
    return np.dtype(
        [
            ("row", np.int64),
            ("time", time),
            ("value", value),
            ("key_word", np.int64),
            ("priority", np.float64),
            ("matches", np.float64),
        ]
    )


def coming_type(value: DType) -> DType:
    """Give the record of an arrival that is to be graded."""
    return np.dtype([("at", np.int64), ("value", value), ("key_word", np.int64)])


# Columns of `cells`.
_LATEST = 0
_EARLIEST = 1


@inner
def cell_of(memory: Memory, stream: int, time: float, grade: int) -> int:
    """Give the cell of a row; rows older than a whole life share the last one of their grade."""
    grid = memory.grids[stream]
    span = grid["span"]
    now = grid["now"]
    ages = grid["ages"]
    part = np.int64(np.floor(time / span))
    part = min(max(part, now - ages + 1), now)
    return grade * ages + part % ages


@inner
def enter(memory: Memory, row: int, stream: int, grade: int) -> None:
    """Put a row into its cell, at its place in time."""
    rows = memory.rows
    links = memory.links
    time = rows[row]["time"]
    cell = cell_of(memory, stream, time, grade)
    after = NOTHING
    before = memory.cells[stream, cell, _LATEST]
    # A walk only for a tuple that comes late, or was watched until now.
    while before != NOTHING and (
        rows[before]["time"] > time
        or (rows[before]["time"] == time and rows[before]["birth"] > rows[row]["birth"])
    ):
        after = before
        before = links[before, EARLIER]
    links[row, EARLIER] = before
    links[row, LATER] = after
    links[row, CELL] = cell
    if before == NOTHING:
        memory.cells[stream, cell, _EARLIEST] = row
    else:
        links[before, LATER] = row
    if after == NOTHING:
        memory.cells[stream, cell, _LATEST] = row
    else:
        links[after, EARLIER] = row
    grid = memory.grids[stream]
    grid["cursor"] = min(grid["cursor"], memory.ranks[stream, cell])


@inner
def leave(memory: Memory, row: int, stream: int) -> None:
    """Take a row out of its cell."""
    links = memory.links
    cell = links[row, CELL]
    later = links[row, LATER]
    earlier = links[row, EARLIER]
    if later == NOTHING:
        memory.cells[stream, cell, _LATEST] = earlier
    else:
        links[later, EARLIER] = earlier
    if earlier == NOTHING:
        memory.cells[stream, cell, _EARLIEST] = later
    else:
        links[earlier, LATER] = later


@inner
def lowest(memory: Memory, stream: int) -> int:
    """Give the row with the lowest score, or NOTHING."""
    grid = memory.grids[stream]
    cursor = grid["cursor"]
    while cursor < grid["cells"]:
        cell = memory.ranked[stream, cursor]
        if memory.cells[stream, cell, _LATEST] != NOTHING:
            grid["cursor"] = cursor
            if memory.rising[stream, cell]:
                return memory.cells[stream, cell, _LATEST]
            return memory.cells[stream, cell, _EARLIEST]
        cursor += 1
    grid["cursor"] = cursor
    return NOTHING


@inner
def is_lower(memory: Memory, stream: int, time: float, grade: int, victim: int) -> bool:
    """Say whether a newcomer's score is lower than that of its stream's lowest row."""
    cell = cell_of(memory, stream, time, grade)
    other = memory.links[victim, CELL]
    if cell == other:
        return memory.rising[stream, cell] != 0
    return memory.ranks[stream, cell] < memory.ranks[stream, other]


@kernel
def turn(memory: Memory, stream: int, now: int) -> None:
    """Go on to a later part of time; the rows of cells that it takes over join the next oldest."""
    links = memory.links
    cells = memory.cells
    grid = memory.grids[stream]
    ages = grid["ages"]
    grades = grid["cells"] // ages
    steps = now - grid["now"]
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
    grid["now"] = now
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
    grid = memory.grids[stream]
    ages = grid["ages"]
    grades = grid["cells"] // ages
    now = grid["now"]
    lowest_level = np.int64(0)
    highest_level = np.int64(-1)
    for i in range(order.size):
        age = order[i]
        place = (now - age) % ages
        for grade in range(grades):
            memory.rising[stream, grade * ages + place] = rises[age]
        if i == worthless:
            lowest_level = highest_level = levels[age]
        elif i > worthless:
            lowest_level = min(lowest_level, levels[age])
            highest_level = max(highest_level, levels[age])
    at = 0
    for i in range(worthless):
        for grade in range(grades):
            cell = grade * ages + (now - order[i]) % ages
            memory.ranked[stream, at] = cell
            memory.ranks[stream, cell] = at
            at += 1
    if worthless < order.size:
        for level in range(lowest_level, highest_level + grades):
            for i in range(worthless, order.size):
                grade = level - levels[order[i]]
                if 0 <= grade < grades:
                    cell = grade * ages + (now - order[i]) % ages
                    memory.ranked[stream, at] = cell
                    memory.ranks[stream, cell] = at
                    at += 1
    grid["cursor"] = 0


@kernel
def gather(memory: Memory, stream: int, into: Array) -> int:
    """List a stream's rows that are not watched, in time order, with all that grades them.

    Gives their number. One pass: the rows lie in main memory, and each would be fetched anew for
    each column.
    """
    record = memory.streams[stream]
    count = 0
    for place in range(record["base"] + record["head"], record["base"] + record["tail"]):
        row = memory.queue[place]
        if row < 0 or memory.rows[row]["heap"] <= WATCHED:
            continue
        into[count]["row"] = row
        into[count]["time"] = memory.rows[row]["time"]
        into[count]["value"] = memory.rows[row]["value"]
        into[count]["key_word"] = memory.slots[memory.rows[row]["slot"], KEY_WORD]
        into[count]["priority"] = memory.rows[row]["priority"]
        into[count]["matches"] = memory.rows[row]["matches"]
        count += 1
    return count


@kernel
def rebuild(memory: Memory, stream: int, rows: Integers, grades: Integers) -> None:
    """Put a stream's rows, in time order, into cells anew."""
    memory.cells[stream, :, :] = NOTHING
    memory.grids[stream]["cursor"] = 0
    for at in range(rows.size):
        enter(memory, rows[at], stream, grades[at])


@kernel
def select(arrivals: Array, stream: int, at: int, stop: int, into: Array) -> int:
    """List the arrivals of a stream that have a key, in order; gives their number."""
    count = 0
    for place in range(at, stop):
        if arrivals[place]["stream"] == stream and arrivals[place]["blank"] == 0:
            into[count]["at"] = place
            into[count]["value"] = arrivals[place]["value"]
            into[count]["key_word"] = arrivals[place]["key_word"]
            count += 1
    return count


@kernel
def set_grades(arrivals: Array, places: Integers, priorities: Floats, grades: Integers) -> None:
    """Set what was said of arrivals."""
    for i in range(places.size):
        arrivals[places[i]]["priority"] = priorities[i]
        arrivals[places[i]]["grade"] = grades[i]
