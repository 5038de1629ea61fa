"""Random queries for the tests of planning."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts

RATES = st.floats(0.5, 100.0)
SHARES = st.floats(0.01, 1.0)
COSTS = st.floats(0.0, 0.01)


@st.composite
def models(
    draw: st.DrawFn,
    *,
    least: int = 2,
    most: int = 4,
    selections: int = 0,
    by: str = "either",
    results: bool = True,
    two_sided: bool = False,
) -> QueryModel:
    """Draw a query of streams, connected or not, with windows by rows or by time.

    With `two_sided` some conditions have two selectivities; with `by` mixed there are both windows.
    """
    count = draw(st.integers(least, most))
    kind = draw(st.sampled_from(["rows", "time"])) if by == "either" else by
    relations = tuple(
        _relation(
            f"s{at}",
            draw(RATES),
            float(draw(st.integers(1, 30))),
            draw(st.sampled_from(["rows", "time"])) if kind == "mixed" else kind,
        )
        for at in range(count)
    )
    pairs = [(left, right) for right in range(count) for left in range(right)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2 * count))
    conditions = tuple(
        Condition(
            left=f"s{left}",
            right=f"s{right}",
            selectivity=draw(SHARES),
            backward=draw(st.none() | st.just(0.0) | SHARES) if two_sided else None,
        )
        for left, right in chosen
    )
    filters = tuple(
        Selection(
            relation=f"s{draw(st.integers(0, count - 1))}",
            selectivity=draw(SHARES),
            cost=draw(COSTS),
        )
        for _ in range(draw(st.integers(0, selections)))
    )
    costs = OperatorCosts(
        insert=draw(COSTS),
        invalidate=draw(COSTS),
        probe=draw(st.floats(0.0001, 0.01)),
        result=draw(COSTS) if results else 0.0,
    )
    return QueryModel(relations=relations, conditions=conditions, selections=filters, costs=costs)


def _relation(name: str, rate: float, size: float, kind: str) -> Relation:
    if kind == "rows":
        return Relation(name=name, rate=rate, rows=size)
    return Relation(name=name, rate=rate, duration=size)
