"""The grid of cells against a list of rows that is searched from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from penstock.engine.kernels.layout import NOTHING
from penstock.engine.kernels.selection import gather, gathered_type
from penstock.engine.retention import grid
from penstock.strategies import LowestScore
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_structures import NaiveGrid

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("retention.grid")

_GRADES, _PARTS, _SPAN = 3, 4, 5
_AGES = _PARTS + 2
_CELLS = _GRADES * _AGES


def make_memory() -> Memory:
    """Return a memory whose streams have three grades and lives of four parts."""
    memory = make_store(order=LowestScore((np.ones(2), np.ones(2)))).memory
    memory.lives["span"], memory.lives["parts"] = _SPAN, _PARTS
    cells = grid.grown(grid.make(2, _GRADES, _PARTS), memory.rows.size)
    assert cells.grids["ages"].tolist() == [_AGES, _AGES]
    return memory._replace(retained=memory.retained._replace(grid=cells))


def rank(memory: Memory, s: int, twin: NaiveGrid, pick: Pick) -> None:
    """Rank the cells again, at random."""
    cells = memory.retained.grid
    order = np.random.default_rng(pick(0, 10**6)).permutation(_CELLS)
    rises = np.random.default_rng(pick(0, 10**6)).integers(0, 2, _CELLS)
    cells.ranked[s], cells.rising[s] = order, rises
    cells.ranks[s, order] = np.arange(_CELLS)
    cells.grids["cursor"][s] = 0
    for cell in range(_CELLS):
        grade, place = divmod(cell, _AGES)
        age = (twin.now - place) % _AGES
        twin.ranks[grade, age] = int(cells.ranks[s, cell])
        twin.rises[grade, age] = bool(rises[cell])


@given(pick=choices())
@examples(100)
def test_a_grid_is_a_list_of_which_the_lowest_is_wanted(pick: Pick) -> None:
    memory = make_memory()
    twins = [NaiveGrid(_SPAN, _AGES), NaiveGrid(_SPAN, _AGES)]
    for s, twin in enumerate(twins):
        twin.now = memory.lives["now"][s] = pick(-3, 3)
        rank(memory, s, twin, pick)
    free = list(range(50))
    for number in range(pick(1, 60)):
        s = pick(0, 1)
        twin = twins[s]
        step = pick(0, 9)
        if step >= 4 and free:
            row = free.pop(pick(0, len(free) - 1))
            # Of the present, or late, or older than a whole life; never ahead of the grid.
            time = (twin.now + 1) * _SPAN - pick(1, _SPAN * (_AGES + 2))
            grade = pick(0, _GRADES - 1)
            memory.rows[row]["time"], memory.rows[row]["arrival_number"] = time, number
            memory.rows[row]["stream"] = s
            fast.enter(memory, row, s, grade)
            twin.enter(row, time, number, grade)
        elif step == 3 and twin.rows:
            row = list(twin.rows)[pick(0, len(twin.rows) - 1)]
            fast.leave(memory, row, s)
            del twin.rows[row]
            free.append(row)
        elif step == 2:
            later = twin.now + pick(1, 3 * _AGES if pick(0, 3) == 0 else 2)
            fast.turn(memory, s, later)
            memory.lives["now"][s] = later
            twin.turn(later)
            # As the engine does: what a cell is worth follows from its age.
            rank(memory, s, twin, pick)
        elif step == 1:
            rank(memory, s, twin, pick)
        elif step == 0:
            rows = sorted(twin.rows, key=twin.order)
            grades = [pick(0, _GRADES - 1) for _ in rows]
            fast.rebuild(memory, s, np.array(rows, np.int64), np.array(grades, np.int64))
            twin.grade(dict(zip(rows, grades, strict=True)))
        for stream, each in enumerate(twins):
            check(memory, stream, each, pick)


def check(memory: Memory, s: int, twin: NaiveGrid, pick: Pick) -> None:
    lowest = fast.lowest(memory, s)
    assert lowest == (NOTHING if twin.lowest() is None else twin.lowest())
    if lowest == NOTHING:
        return
    time, grade = twin.now * _SPAN + pick(-2 * _SPAN, _SPAN - 1), pick(0, _GRADES - 1)
    assert fast.is_lower(memory, s, time, grade, lowest) == twin.is_lower(time, grade)


def test_a_grid_gives_up_its_rows_in_order() -> None:
    memory = make_memory()
    twin = NaiveGrid(_SPAN, _AGES)
    rank(memory, 0, twin, lambda first, last: min(last, first + 7))
    times = [4, 0, 3, 3, 1, -9, -40, 2, 4, -9]
    for row, time in enumerate(times):
        memory.rows[row]["time"], memory.rows[row]["arrival_number"] = time, row
        fast.enter(memory, row, 0, row % _GRADES)
        twin.enter(row, time, row, row % _GRADES)
    given_up = []
    while twin.rows:
        row = fast.lowest(memory, 0)
        assert row == twin.lowest()
        fast.leave(memory, row, 0)
        del twin.rows[row]
        given_up.append(row)
    assert sorted(given_up) == list(range(len(times)))
    assert fast.lowest(memory, 0) == NOTHING


def test_monitored_rows_are_not_gathered() -> None:
    memory = make_memory()
    memory = memory._replace(queue=np.array([3, NOTHING, 1, 2], np.int32))
    memory.streams["tail"][0] = 4
    memory.rows["monitored"][[1, 2, 3]] = [NOTHING, 5, NOTHING]
    rows = np.zeros(4, gathered_type(memory.rows.dtype["time"], memory.rows.dtype["value"]))
    assert gather(memory, 0, rows) == 2
    assert rows["row"][:2].tolist() == [3, 1]


@given(pick=choices())
@examples(100)
def test_cells_are_ranked_by_weight_times_worth(pick: Pick) -> None:
    memory = make_memory()
    now = memory.lives["now"][1] = pick(-3, 3)
    per_octave = pick(1, 3)
    # Powers of the factor between two grades, so that there are ties, and ages worth nothing.
    powers = [pick(-4, 3) for _ in range(_AGES)]
    worth = np.array([2.0 ** (power / per_octave) if power > -4 else 0.0 for power in powers])
    rises = np.array([pick(0, 1) for _ in range(_AGES)])
    some = worth > 0
    order = sorted(range(_AGES), key=lambda age: (some[age], -age))
    levels = np.array(powers)
    worthless = int(np.count_nonzero(~some))
    fast.rank(memory, 1, np.array(order), levels, worthless, rises)

    def standing(cell: tuple[int, int]) -> tuple[bool, int, int]:
        grade, age = cell
        return bool(some[age]), powers[age] + grade if some[age] else 0, -age

    cells = sorted(((g, a) for a in range(_AGES) for g in range(_GRADES)), key=standing)
    arrays = memory.retained.grid
    expected = [grade * _AGES + (now - age) % _AGES for grade, age in cells]
    assert arrays.ranked[1].tolist() == expected
    assert arrays.ranks[1, arrays.ranked[1]].tolist() == list(range(_CELLS))
    for grade, age in cells:
        assert arrays.rising[1, grade * _AGES + (now - age) % _AGES] == rises[age]
    assert arrays.grids["cursor"][1] == 0
