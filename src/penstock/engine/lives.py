"""How each stream's time is divided into parts of a row's life."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.store import Lives
from penstock.goals import LearningGoal

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Integers
    from penstock.engine.plan import Plan
    from penstock.strategies import Needs

# Edges are searched for one by one if each has at least so many rows.
_SPARSE = 64


def lengths_of(plan: Plan) -> list[int | float]:
    """Return how long rows of each stream wait: their window, and for rows that may come late."""
    return [
        side.window + max(o.lateness for i, o in enumerate(plan.sides) if i != s)
        for s, side in enumerate(plan.sides)
    ]


def lives_of(plan: Plan, needs: Needs | None) -> Lives:
    """Divide each stream's time, as finely as a strategy needs it."""
    spans, parts = [], []
    lengths = lengths_of(plan)
    for side, life in zip(plan.sides, lengths, strict=True):
        wanted = 1
        if needs is not None and needs.statistics and life:
            wanted = _parts(plan, needs, side.name)
        floating = plan.time.dtype.kind == "f"
        wanted = wanted if floating else max(1, min(wanted, int(life)))
        span = life / wanted if floating else -(-int(life) // wanted)
        # Rows that need not wait have no ages to tell apart.
        spans.append(span or max(lengths) or 1)
        parts.append(wanted)
    return Lives(tuple(spans), tuple(parts))


def _parts(plan: Plan, needs: Needs, name: str) -> int:
    goal = plan.spec.goal
    known = goal if isinstance(goal, LearningGoal) else LearningGoal
    if known.curve and name in known.curve:
        return len(known.curve[name])
    return needs.parts or known.parts


def edges_of_parts(nows: Array, span: float, part: int) -> Integers:
    """Return where parts of a life begin, in times that never go back, after a part of it."""
    last = int(np.floor(nows[-1] / span))
    if last - part > nows.size // _SPARSE:
        parts = np.floor(nows / span)
        return np.flatnonzero(np.diff(parts, prepend=part))
    begins = [
        bisect_left(range(nows.size), each, key=lambda at: int(np.floor(nows[at] / span)))
        for each in range(part + 1, last + 1)
    ]
    return np.array(begins, np.int64)
