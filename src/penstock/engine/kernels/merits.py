"""What rows have given so far, and the residence priority that follows from it.

Glossary: T is the time as of which priorities are computed. With "successive" it is always now.
Otherwise a priority as of T holds until the next computation, so of a row that matches meanwhile
it is noted first (`computed`), and who came since has its importance as priority (RP_init).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.engine.kernels.clock import latest
from penstock.engine.kernels.jit import inner, kernel, rare
from penstock.engine.kernels.layout import (
    ADAPTIVE,
    K_SUCCESSIVE,
    MAX,
    MIN,
    NOTHING,
    PRODUCT,
    SUCCESSIVE,
    UNMATCHED,
    Memory,
)

if TYPE_CHECKING:
    from penstock.engine.arrays import Integers
    from penstock.engine.kernels.results import Results

# Younger rows count as this old, in lives: a priority is per age, and an age can be zero.
SMALLEST_AGE: Final = 0.001


@inner
def earned(memory: Memory, row: int, stream: int, at: float) -> float:
    """Give a row's residence priority at a time, without penalty, by its matches until now."""
    record = memory.residences[stream]
    merit = memory.merits[row]
    if merit["matches"] == 0.0:
        return 0.0
    # Times before the last match only as long as no horizon has been set.
    idle = max((at - merit["last"]) / record["life"], 0.0)
    age = max((at - memory.rows[row]["time"]) / record["life"], SMALLEST_AGE)
    # P = imp * matches' / age, matches' = sum of exp(-d * time since the match)
    decayed = merit["matches"] * np.exp(-record["decay"] * idle)
    return merit["importance"] * decayed / age


@inner
def priority(memory: Memory, row: int, stream: int, at: float) -> float:
    """Give a row's residence priority at a time, by its matches until now."""
    record = memory.residences[stream]
    priority = earned(memory, row, stream, at)
    idle = (at - memory.merits[row]["last"]) / record["life"]
    if idle >= record["unproductivity"]:
        priority -= record["penalty"] * idle
    return priority


@inner
def is_fixed(memory: Memory, row: int, stream: int) -> bool:
    """Say whether a row's priority does not follow from its matches: it was noted, or is new."""
    record = memory.residences[stream]
    if record["scheme"] == SUCCESSIVE:
        return False
    is_noted = memory.merits[row]["epoch"] == record["epoch"]
    return is_noted or memory.rows[row]["birth"] >= record["births"]


@inner
def fixed(memory: Memory, row: int, stream: int) -> float:
    """Give the priority of such a row."""
    merit = memory.merits[row]
    if merit["epoch"] == memory.residences[stream]["epoch"]:
        return merit["computed"]
    return merit["importance"]


@inner
def valued(memory: Memory, row: int, stream: int) -> float:
    """Give a row's priority as computed last."""
    if is_fixed(memory, row, stream):
        return fixed(memory, row, stream)
    return priority(memory, row, stream, memory.residences[stream]["computed_at"])


@inner
def begin(memory: Memory, row: int, importance: float) -> None:
    """Note what a newcomer matters, and what it has found."""
    merit = memory.merits[row]
    merit["importance"] = importance
    merit["matches"] = memory.rule[0]["found"]
    merit["last"] = memory.rows[row]["time"]
    if merit["matches"] > 0.0:
        merit["last"] = max(latest(memory), merit["last"])
    merit["epoch"] = NOTHING
    merit["standing"] = UNMATCHED


@inner
def note_computed(memory: Memory, row: int, stream: int) -> None:
    """Note a row's priority as computed last, before something changes of which it depends."""
    if not is_fixed(memory, row, stream):
        record = memory.residences[stream]
        memory.merits[row]["computed"] = priority(memory, row, stream, record["computed_at"])
        memory.merits[row]["epoch"] = record["epoch"]


@inner
def settled(memory: Memory, row: int, stream: int) -> float:
    """Give a row's priority as computed last, and note it if it will be asked for again."""
    if memory.residences[stream]["scheme"] == SUCCESSIVE:
        return priority(memory, row, stream, memory.residences[stream]["computed_at"])
    note_computed(memory, row, stream)
    return fixed(memory, row, stream)


@kernel
def note_all(memory: Memory, stream: int, rows: Integers) -> None:
    """Note rows' priorities as computed last, which hold until they are computed anew."""
    if memory.residences[stream]["scheme"] != SUCCESSIVE:
        for at in range(rows.size):
            note_computed(memory, rows[at], stream)


@inner
def compute(memory: Memory, stream: int, now: float) -> None:
    """Compute priorities anew, as of now, if that is due at this decision."""
    record = memory.residences[stream]
    is_due = record["scheme"] == SUCCESSIVE
    if record["scheme"] == K_SUCCESSIVE:
        is_due = record["decisions"] % record["every"] == 0
    elif record["scheme"] == ADAPTIVE:
        quality = memory.rule[0]["quality"] - record["seen"]
        larger = max(quality, record["quality"])
        difference = abs(quality - record["quality"]) / larger if larger > 0.0 else 0.0
        is_due = record["decisions"] == 0 or difference >= record["tolerance"]
        record["seen"] = memory.rule[0]["quality"]
        record["quality"] = quality
    record["decisions"] += 1
    if is_due:
        record["epoch"] += 1
        record["computed_at"] = now
        record["births"] = memory.rule[0]["births"] - 1  # of the tuple that needs the room


@rare
def note_quality(memory: Memory, importance: float, results: Results, at: int) -> None:
    """Add the importance of a result, its members' and the newcomer's, to the total."""
    rule = memory.rule[0]
    of_result = importance
    for one in range(results.members.shape[1]):
        other = memory.merits[results.members[at, one]]["importance"]
        if rule["result"] == MIN:
            of_result = min(of_result, other)
        elif rule["result"] == PRODUCT:
            of_result *= other
        elif rule["result"] == MAX:
            of_result = max(of_result, other)
        else:
            of_result += other
    rule["quality"] += of_result
