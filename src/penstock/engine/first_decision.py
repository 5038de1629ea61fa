"""What strategies need and decide before the first row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.live_view import first_view
from penstock.engine.retention.table import keep_all, retention_for
from penstock.engine.store import ROW_OVERHEAD
from penstock.strategies import strategies_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.plan import Plan
    from penstock.engine.retention.base import Retention
    from penstock.strategies import Needs, Strategy


def needs_of(strategies: Sequence[Strategy]) -> Needs:
    """Return what strategies need together."""
    needs = strategies[0].needs
    for strategy in strategies[1:]:
        needs |= strategy.needs
    return needs


def retention_of(
    plan: Plan, strategies: Sequence[Strategy], room: int | None, parts: Sequence[int]
) -> Retention:
    """Return the retention that strategies want: they decide, before the first row."""
    budget = plan.spec.budget
    if budget is not None and not budget.limits_memory and not plan.is_sample:
        return keep_all(parts)
    order = strategies[0].decide(first_view(plan, room)).retain.order
    return retention_for(order)(order, parts)


def row_overhead(plan: Plan) -> int:
    """Return the bytes that a row in memory costs besides its payload, if there is a budget."""
    lead = strategies_of(plan.spec)[0]
    order = lead.decide(first_view(plan, None)).retain.order
    return ROW_OVERHEAD + retention_for(order).row_bytes
