"""Priorities: of tuples that arrive, and of rows in memory whose importance is another one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.grading import Grader
from penstock.engine.identity import draws
from penstock.engine.kernels import heap, layout, merits, residence
from penstock.strategies import Arriving

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Integers
    from penstock.engine.intake import Columns, Merged
    from penstock.engine.kernels.layout import Memory
    from penstock.engine.operator import Operator
    from penstock.strategies.base import Residence

_SCHEMES = {
    "successive": layout.SUCCESSIVE,
    "k-successive": layout.K_SUCCESSIVE,
    "adaptive": layout.ADAPTIVE,
}
RESULT_KINDS = {
    "min": layout.MIN,
    "product": layout.PRODUCT,
    "sum": layout.SUM,
    "max": layout.MAX,
}


def set_residence(memory: Memory, settings: Residence) -> None:
    """Say how rows leave by residence priority."""
    for name in ("maturity", "unproductivity", "penalty", "decay", "every", "tolerance"):
        memory.residences[name] = getattr(settings, name)
    memory.residences["scheme"] = _SCHEMES[settings.recompute]


def rank(operator: Operator, sides: list[Columns], merged: Merged) -> None:
    """Have the strategy give each arrival its priority, and draw who is watched."""
    if operator.strategy is None:
        return
    if operator.monitor is not None:
        lots = [
            operator.monitor.draws(s, side.times, side.key_words, side.values)
            for s, side in enumerate(sides)
        ]
        merged.arrivals["draw"] = merged.spread(lots)
    if any(side.matches for side in operator.plan.sides):
        merged.arrivals["priority"] = merged.spread(
            [_matches_of(operator, s, side.index) for s, side in enumerate(sides)]
        )
    seed = operator.plan.spec.seed
    priorities: list[Floats] = []
    for s, side in enumerate(sides):
        importance = None
        if operator.scores is not None:
            # Also for those who do not ask: an importance that is none is an error when it comes.
            importance = operator.scores.each_at(s, side.index, side.times)
        arriving = Arriving(
            s, side.times, partial(draws, seed, s, side.times, side.identities), importance
        )
        given = operator.strategy.priorities(arriving)
        if given is not None:
            priorities.append(given)
    if priorities:
        merged.arrivals["priority"] = merged.spread(priorities)


def _matches_of(operator: Operator, s: int, index: Integers) -> Floats:
    """Give how many matches rows of a batch are said to have; none if that is null."""
    name = operator.plan.sides[s].matches
    if name is None or not index.size:
        return np.zeros(index.size)
    column = operator.payloads[s].batch.column(name).cast(pa.float64()).fill_null(0.0)
    return np.maximum(np.nan_to_num(column.to_numpy()[index]), 0.0)


def redefine(operator: Operator) -> None:
    """Let rows in memory matter as much as is defined by now."""
    if operator.strategy is None or not operator.strategy.by_importance:
        return
    if isinstance(operator.learner, Grader):
        operator.learner.rescore()
        return
    memory = operator.store.memory
    if memory.rule["evict"][0] == layout.EVICT_BY_RESIDENCE:
        for s in range(memory.streams.size):
            merits.note_all(memory, s, operator.store.in_queue(s))
    set_priorities(operator)


def set_priorities(operator: Operator) -> None:
    """Set the priorities of rows in memory by their importance, where that is what they are."""
    scores, strategy, memory = operator.scores, operator.strategy, operator.store.memory
    if scores is None or strategy is None or operator.learner is not None:
        return
    if not strategy.by_importance:
        return
    for s in range(memory.streams.size):
        rows = operator.store.in_queue(s)
        importance = scores.now(s, memory.rows["ref"][rows])
        if memory.rule["evict"][0] == layout.EVICT_BY_RESIDENCE:
            residence.set_importance(memory, s, rows, importance)
        else:
            memory.rows["priority"][rows] = importance
            heap.rebuild(memory, s)
