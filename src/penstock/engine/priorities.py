"""Priorities that follow from importance, of rows in memory: redefined, or after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.grading import Grader
from penstock.engine.kernels import heap, layout, residence

if TYPE_CHECKING:
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
            residence.note_all(memory, s, operator.store.in_queue(s))
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
