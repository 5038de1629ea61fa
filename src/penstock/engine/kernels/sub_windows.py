"""Parts of windows that are probed: which rows an arriving one looks at, by their age.

Where parts are probed, some rows probe whole windows all the same, by lot. They show what is lost,
and where partners are: a result of such a row was sure to be found if all its rows are in parts
that are probed anyway, and otherwise had the chance that the row probed whole windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, rare, wide
from penstock.engine.kernels.layout import IN_PARTS

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.layout import Memory
    from penstock.engine.kernels.results import Results


@inner
def _place(memory: Memory, other: int, age: float, parts: int) -> float:
    """Return where a row of an age is in its window, in parts; one that is newer at the begin."""
    window = memory.streams[other]["window"]
    if age <= 0 or window <= 0:
        return 0.0
    return age / window * parts


@inner
def probes_parts(arrival: np.void) -> bool:
    """Return whether an arriving row probes only some parts of the windows."""
    return arrival["actions"] & IN_PARTS != 0


@inner
def is_probed(memory: Memory, stream: int, other: int, age: float) -> bool:
    """Return whether an arriving row probes what a row of an age is in.

    Of a part that is not probed whole, the newest rows are.
    """
    parts = memory.probed.shape[2]
    place = _place(memory, other, age, parts)
    part = min(int(place), parts - 1)
    share = memory.probed[stream, other, part]
    return share >= 1.0 or place - part < share


@inner
def is_reached(memory: Memory, stream: int, other: int, youngest: float, oldest: float) -> bool:
    """Return whether an arriving row probes anything that may hold rows of these ages."""
    parts = memory.probed.shape[2]
    first = min(int(_place(memory, other, youngest, parts)), parts - 1)
    for part in range(first, min(int(_place(memory, other, oldest, parts)), parts - 1) + 1):
        if memory.probed[stream, other, part] > 0.0:
            return True
    return False


@inner
def rows_probed(memory: Memory, arrival: np.void, other: int) -> int:
    """Return how many rows of a window an arriving row is compared with, as far as is counted.

    Of parts of a window, as many as it would have of an even stream. Where memory is limited, rows
    stay by what is decided, and are not spread evenly: then as at the last review.
    """
    held = memory.streams[other]["held"]
    if not probes_parts(arrival):
        return held
    stream = wide(arrival["stream"])
    # To the nearest: few rows of many windows would be too few if they were rounded down.
    return wide(held * memory.parts_probed[stream, other] / memory.probed.shape[2] + 0.5)


@inner
def chance_to_reach(memory: Memory, arrival: np.void, row: int) -> float:
    """Return the chance that an arriving row, as it probes, looks at a row that it has found."""
    if memory.rule[0]["sub_windows"] == 0 or probes_parts(arrival):
        return 1.0
    record = memory.rows[row]
    age = arrival["time"] - record["time"]
    if is_probed(memory, wide(arrival["stream"]), wide(record["stream"]), age):
        return 1.0
    return memory.rule[0]["whole_chance"]


@inner
def chance_to_find(memory: Memory, arrival: np.void, results: Results, at: int) -> float:
    """Return the chance that an arriving row, as it probes, finds a result that it has found."""
    chance = 1.0
    for one in range(results.members.shape[1]):
        chance = min(chance, chance_to_reach(memory, arrival, wide(results.members[at, one])))
    return chance


@rare
def note_lags(memory: Memory, arrival: np.void, results: Results, start: int, stop: int) -> None:
    """Count where the rows were that waited for results, each for as many as it stands for.

    And the squares of these numbers, which say how sure the counts are.
    """
    stream = wide(arrival["stream"])
    parts = memory.lags.shape[3]
    for at in range(start, stop):
        stands_for = 1.0 / chance_to_find(memory, arrival, results, at)
        for one in range(results.members.shape[1]):
            row = memory.rows[wide(results.members[at, one])]
            other = wide(row["stream"])
            place = _place(memory, other, arrival["time"] - row["time"], parts)
            part = min(int(place), parts - 1)
            memory.lags[0, stream, other, part] += stands_for
            memory.lags[1, stream, other, part] += stands_for * stands_for
