"""How much of the limit rows take up: what was measured, where it is in bytes, or 1 each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, wide

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.kernels.layout import Memory


@inner
def cost_of(memory: Memory, arrival: np.void) -> int:
    """Return how much of the limit an arrival would take up."""
    return wide(arrival["cost"]) if memory.rule[0]["has_costs"] else wide(1)


@inner
def taken_by(memory: Memory, record: np.void) -> int:
    """Return how much the rows of a stream take up, or those of the whole join, by its record."""
    return wide(record["taken"]) if memory.rule[0]["has_costs"] else wide(record["held"])
