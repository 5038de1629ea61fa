"""What a decision must fit: the goal of the join, its streams, and what was decided before.

The engine acts on a decision without a further look. One that does not fit would have it read
what nothing has written: weights of results that were never drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Mask
    from penstock.engine.plan import Plan
    from penstock.strategies import Decision, Order


def check_goal(plan: Plan, strategy: str, decision: Decision) -> None:
    """Check that matches are drawn if, and only if, the goal is a sample.

    Raises
    ------
    SpecificationError
        If they are not, or if rows are not retained by what was drawn.
    """
    goal = type(plan.spec.goal).__name__
    drawn = decision.emit.only_drawn
    if drawn != plan.is_sample:
        expected = f"{plan.is_sample}, as the goal is {goal}"
        hint = "draw matches for Sample() only: its results carry weights"
        raise SpecificationError(
            must(f'Emit.only_drawn, decided by "{strategy}",', expected, drawn, hint)
        )
    order = decision.retain.order
    if order.is_of_sample != drawn:
        expected = "SampleThreshold" if drawn else "any other, as matches are not drawn"
        hint = "drawn matches and SampleThreshold go together: weights follow from both"
        got = type(order).__name__
        raise SpecificationError(
            must(f'order of Retain, decided by "{strategy}",', expected, got, hint)
        )


def check_same_order(strategy: str, before: Order, after: Order) -> None:
    """Check that rows are still kept in the kind of order that was decided on at first.

    Raises
    ------
    SpecificationError
        If they are not.
    """
    if type(after) is not type(before):
        raise SpecificationError(
            must(
                f'order of Retain, decided by "{strategy}",',
                f"{type(before).__name__}, as at first",
                type(after).__name__,
                "decide on one order for the whole join; its numbers may change",
            )
        )


def check_sub_windows(probed: Mask | Floats | None, streams: int) -> None:
    """Check that parts of windows are given for each arriving and each probed stream.

    Raises
    ------
    SpecificationError
        If they are not.
    """
    if probed is not None and (probed.ndim != 3 or probed.shape[:2] != (streams, streams)):
        raise SpecificationError(
            must(
                "Probe.sub_windows",
                f"{streams} arriving by {streams} probed streams by parts of a window",
                probed.shape,
                "see docs/extending.md",
            )
        )
