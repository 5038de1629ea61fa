"""The residence priority of a row, from what it has given so far.

Glossary: T is the time as of which priorities are computed. With "successive" it is always now.
Otherwise a priority as of T holds until the next computation, so of a row that matches meanwhile
it is noted first (`computed`), and a row that came since has RP_init as priority: its importance,
or what was given with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels.clock import latest
from penstock.engine.kernels.jit import inner, kernel, rare
from penstock.engine.kernels.layout import MAX, MIN, NOTHING, PRODUCT, Memory
from penstock.engine.row_fields import INITIAL_PRIORITY

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers
    from penstock.engine.kernels.results import Results

# Where a row stands: in no heap, as it has not matched; in that of those that are not mature; in
# that of the mature.
UNMATCHED: Final = -1
YOUNG: Final = 0
RIPE: Final = 1

# When priorities are computed.
SUCCESSIVE: Final = 0
K_SUCCESSIVE: Final = 1
ADAPTIVE: Final = 2
ADAPTIVE_BELOW: Final = 3

# Length of a line of `scratch`: more than a heap of all rows that there can be is deep.
SCRATCH: Final = 64

# Younger rows count as this old, in lives: a priority is per age, and an age can be zero.
SMALLEST_AGE: Final = 0.001


def merit_type(time: DType) -> DType:
    """Return the record of what a row has given so far.

    It has all that a priority is computed from, the row's time too, so that rows themselves are not
    read for it: the bounds of all rows of a stream are computed in an order that no cache knows.
    """
    return np.dtype(
        [
            ("came", time),
            ("importance", np.float64),
            ("matches", np.float64),  # as of the last one, those before it decayed
            ("last", time),  # when it last matched, or came if it never did
            ("standing", np.int32),  # UNMATCHED, YOUNG or RIPE
            ("is_loose", np.int32),  # whether it has matched since its place in the heap was found
            ("computed", np.float64),  # its priority as computed last, if it has matched since:
            ("epoch", np.int64),  # then this is the number of that computation
        ]
    )


def residence_type(time: DType) -> DType:
    """Return the record of how a stream's rows leave, and of when priorities were computed."""
    return np.dtype(
        [
            ("life", np.float64),  # its window, in which ages are measured
            ("maturity", np.float64),  # in lives, as the next
            ("unproductivity", np.float64),
            ("penalty", np.float64),
            ("decay", np.float64),
            ("scheme", np.int64),  # when priorities are computed
            ("every", np.int64),
            ("tolerance", np.float64),
            ("has_initial", np.int64),  # whether RP_init is given, in a row's `likeliness`
            ("decisions", np.int64),  # so far
            ("epoch", np.int64),  # how many times priorities were computed
            ("computed_at", time),  # when that was last,
            ("arrivals", np.int64),  # and the number of the first arrival since
            ("seen", np.float64),  # importance of results at the last decision,
            ("quality", np.float64),  # and between it and the one before
            ("is_ordered", np.int64),  # whether the heap of those that are not mature is one
            ("horizon", time),  # until when the heaps' bounds hold
            ("began", time),  # since when they do
            ("step", np.float64),  # for how long they were to hold
            ("visited", np.int64),  # rows that were looked at meanwhile
            ("ripened", np.int64),  # rows before this place of the queue are all mature
            ("unmatched", np.int64),  # and before this place they have all matched
        ]
    )


class IjoinArrays(NamedTuple):
    """What rows have given, and how they leave."""

    merits: Array  # one per row
    residences: Array  # one per stream
    scratch: Indices  # two lines, for a walk through a heap
    quality: Floats  # one element: importance of all results


@inner
def earned(memory: Memory, row: int, stream: int, at: float) -> float:
    """Compute a row's residence priority at a time, without penalty, by its matches until now."""
    record = memory.retained.ijoin.residences[stream]
    merit = memory.retained.ijoin.merits[row]
    if merit["matches"] == 0.0:
        return 0.0
    # Times before the last match only as long as no horizon has been set.
    idle = max((at - merit["last"]) / record["life"], 0.0)
    age = max((at - merit["came"]) / record["life"], SMALLEST_AGE)
    # P = imp * matches' / age, matches' = sum of exp(-d * time since the match)
    decayed = merit["matches"] * np.exp(-record["decay"] * idle)
    return merit["importance"] * decayed / age


@inner
def priority(memory: Memory, row: int, stream: int, at: float) -> float:
    """Compute a row's residence priority at a time, by its matches until now."""
    record = memory.retained.ijoin.residences[stream]
    priority = earned(memory, row, stream, at)
    idle = (at - memory.retained.ijoin.merits[row]["last"]) / record["life"]
    if idle >= record["unproductivity"]:
        priority -= record["penalty"] * idle
    return priority


@inner
def is_fixed(memory: Memory, row: int, stream: int) -> bool:
    """Return whether a row's priority does not follow from its matches: it was noted, or is new."""
    record = memory.retained.ijoin.residences[stream]
    if record["scheme"] == SUCCESSIVE:
        return False
    is_noted = memory.retained.ijoin.merits[row]["epoch"] == record["epoch"]
    return is_noted or memory.rows[row]["arrival_number"] >= record["arrivals"]


@inner
def fixed(memory: Memory, row: int, stream: int) -> float:
    """Return the priority of such a row."""
    merit = memory.retained.ijoin.merits[row]
    if merit["epoch"] == memory.retained.ijoin.residences[stream]["epoch"]:
        return merit["computed"]
    if memory.retained.ijoin.residences[stream]["has_initial"]:
        return memory.rows[row][INITIAL_PRIORITY]
    return merit["importance"]


@inner
def valued(memory: Memory, row: int, stream: int) -> float:
    """Return a row's priority as computed last."""
    if is_fixed(memory, row, stream):
        return fixed(memory, row, stream)
    return priority(memory, row, stream, memory.retained.ijoin.residences[stream]["computed_at"])


@inner
def begin(memory: Memory, row: int, importance: float) -> None:
    """Note how much an arriving row matters, and what it has found."""
    merit = memory.retained.ijoin.merits[row]
    merit["came"] = memory.rows[row]["time"]
    merit["importance"] = importance
    merit["matches"] = memory.rule[0]["found"]
    merit["last"] = merit["came"]
    if merit["matches"] > 0.0:
        merit["last"] = max(latest(memory), merit["last"])
    merit["epoch"] = NOTHING
    merit["standing"] = UNMATCHED


@inner
def note_computed(memory: Memory, row: int, stream: int) -> None:
    """Note a row's priority as computed last, before something changes on which it depends."""
    if not is_fixed(memory, row, stream):
        record = memory.retained.ijoin.residences[stream]
        memory.retained.ijoin.merits[row]["computed"] = priority(
            memory, row, stream, record["computed_at"]
        )
        memory.retained.ijoin.merits[row]["epoch"] = record["epoch"]


@inner
def settled(memory: Memory, row: int, stream: int) -> float:
    """Return a row's priority as computed last, and note it if it will be asked for again."""
    if memory.retained.ijoin.residences[stream]["scheme"] == SUCCESSIVE:
        return priority(
            memory, row, stream, memory.retained.ijoin.residences[stream]["computed_at"]
        )
    note_computed(memory, row, stream)
    return fixed(memory, row, stream)


@kernel
def note_all(memory: Memory, stream: int, rows: Integers) -> None:
    """Note rows' priorities as computed last, which hold until they are computed again."""
    if memory.retained.ijoin.residences[stream]["scheme"] != SUCCESSIVE:
        for at in range(rows.size):
            note_computed(memory, rows[at], stream)


@inner
def compute(memory: Memory, stream: int, now: float) -> None:
    """Compute priorities as of now, if that is due at this decision."""
    record = memory.retained.ijoin.residences[stream]
    is_due = record["scheme"] == SUCCESSIVE
    if record["scheme"] == K_SUCCESSIVE:
        is_due = record["decisions"] % record["every"] == 0
    elif record["scheme"] >= ADAPTIVE:
        quality = memory.retained.ijoin.quality[0] - record["seen"]
        larger = max(quality, record["quality"])
        difference = abs(quality - record["quality"]) / larger if larger > 0.0 else 0.0
        has_changed = difference >= record["tolerance"]
        is_due = record["decisions"] == 0 or has_changed == (record["scheme"] == ADAPTIVE)
        record["seen"] = memory.retained.ijoin.quality[0]
        record["quality"] = quality
    record["decisions"] += 1
    if is_due:
        record["epoch"] += 1
        record["computed_at"] = now
        record["arrivals"] = memory.rule[0]["arrivals"] - 1  # of the row that needs the room


@rare
def _note_quality(memory: Memory, importance: float, results: Results, at: int) -> None:
    """Add the importance of a result, its members' and the arriving row's, to the total."""
    rule = memory.rule[0]
    of_result = importance
    for one in range(results.members.shape[1]):
        other = memory.retained.ijoin.merits[results.members[at, one]]["importance"]
        if rule["result"] == MIN:
            of_result = min(of_result, other)
        elif rule["result"] == PRODUCT:
            of_result *= other
        elif rule["result"] == MAX:
            of_result = max(of_result, other)
        else:
            of_result += other
    memory.retained.ijoin.quality[0] += of_result


@inner
def noted_in(memory: Memory) -> Memory:
    """Return the memory with the arrays of this kind: results are noted in them."""
    return memory


@inner
def note_result(memory: Memory, arrival: np.void, results: Results, at: int) -> None:
    """Note a result, where it says whether priorities are to be computed again."""
    if memory.retained.ijoin.residences[0]["scheme"] >= ADAPTIVE:
        _note_quality(memory, arrival["rating"], results, at)
