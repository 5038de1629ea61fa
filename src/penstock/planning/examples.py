"""The worked examples of the paper, as models."""

from __future__ import annotations

from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.tree import Filter, Pair, Read, Tree

__all__ = ["EXAMPLE_1_PLANS", "example_1", "figure_4"]

EXAMPLE_1_PLANS: dict[str, Tree] = {
    "a": Pair(Pair(Read(0), Read(1)), Read(2)),
    "b": Pair(Pair(Read(1), Read(2)), Read(0)),
    "c": Pair(Pair(Read(0), Read(2)), Read(1)),
}
"""The three plans of Figure 3 of `ayad04`; A and C of plan (c) are multiplied."""


def example_1(seconds_per_row: float, duration: float | None = None) -> QueryModel:
    """Return Example 1 of `ayad04`: three streams with windows of 10 rows.

    Parameters
    ----------
    seconds_per_row
        What any join costs for each row that arrives at it.
    duration
        Instead of 10 rows, windows of so many seconds.
    """
    return QueryModel(
        relations=tuple(
            Relation(name=name, rate=rate, rows=None if duration else 10, duration=duration)
            for name, rate in (("A", 10.0), ("B", 20.0), ("C", 70.0))
        ),
        conditions=(
            Condition(left="A", right="B", selectivity=0.5),
            Condition(left="B", right="C", selectivity=0.2),
        ),
        costs=OperatorCosts.per_row(seconds_per_row),
    )


def figure_4() -> tuple[QueryModel, dict[str, Tree]]:
    """Return the stream and the two orders of selections of Figure 4 of `ayad04`.

    The figure's numbers follow from the text: 1,000 rows a second, of which 250 pass the first
    selection (0.5 ms for each row) and 500 the second (1 ms).

    >>> figure_4()[0].names
    ('S',)
    """
    model = QueryModel(
        relations=(Relation(name="S", rate=1_000.0, rows=1_000),),
        selections=(
            Selection(relation="S", selectivity=0.25, cost=0.0005, text="first"),
            Selection(relation="S", selectivity=0.5, cost=0.001, text="second"),
        ),
        costs=OperatorCosts(select=0.001),
    )
    return model, {"A": Filter(1, Filter(0, Read(0))), "B": Filter(0, Filter(1, Read(0)))}
