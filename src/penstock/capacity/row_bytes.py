"""What a row takes in memory besides what it takes in the exact join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.retention.table import retention_for
from penstock.strategies import strategies_of
from penstock.strategies.view import StreamView, View

if TYPE_CHECKING:
    from penstock.capacity.stream_statistics import Statistics
    from penstock.spec import Specification

__all__ = ["kept_beside"]


def kept_beside(specification: Specification, statistics: Statistics) -> int:
    """Return the bytes that a join's strategy keeps with each row in memory.

    A sample keeps the chance with which a row was drawn, and UNIFORM the match that is chosen next
    (*next* and *num* in `srivastava04` 4.2.2); IJOIN keeps the importance, the matches and the time
    of the last one (`kulkarni08` 4.2). Most strategies keep nothing besides.

    Examples
    --------
    >>> import penstock as ps
    >>> from penstock.capacity.stream_statistics import StreamStatistics, Statistics
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> each = StreamStatistics(rate=1.0, window=10.0, curve=AgeCurve([1]))
    >>> known = Statistics(streams={"a": each, "b": each})
    >>> stream = ps.Stream(time="t", window=10)
    >>> kept = {}
    >>> for goal in (ps.MaxSubset(), ps.Sample(), ps.MaxImportance(of="x", strategy="ijoin")):
    ...     join = ps.Join(
    ...         streams={"a": stream, "b": stream},
    ...         on=ps.Equal("id"),
    ...         goal=goal,
    ...         budget=ps.Budget(memory="1MB"),
    ...     )
    ...     kept[type(goal).__name__] = kept_beside(join, known)
    >>> kept
    {'MaxSubset': 0, 'Sample': 128, 'MaxImportance': 120}
    """
    budget = specification.budget
    if budget is None or not budget.limits_memory:
        return 0
    streams = tuple(
        StreamView(name, each.window, each.window, share=1.0 / len(statistics.streams))
        for name, each in statistics.streams.items()
    )
    view = View(streams, None, specification.goal)
    order = strategies_of(specification)[0].decide(view).retain.order
    return retention_for(order).row_bytes
