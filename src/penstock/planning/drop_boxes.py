"""Drop boxes: how much of each stream a plan should keep if it cannot have all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.planning.drop_functions import Kept
from penstock.planning.drop_solver import ROUNDING, Goal, between, settle, starts_of
from penstock.planning.plan_text import processor_words
from penstock.wording import about, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.planning.drop_functions import Functions, SharedCost
    from penstock.planning.estimate import PlanEstimate
    from penstock.planning.model import QueryModel

__all__ = ["DropBoxes", "NotWithinError", "keep_within", "solve_drop_boxes"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DropBoxes:
    """What is kept of each stream, and what that gives.

    Attributes
    ----------
    kept
        Share of the rows of each stream that passes its drop box; 1 if it needs none.
    rate
        Results per unit of time.
    cost
        Time that the plan then needs per unit of time.
    value
        What was maximised: the results, and with weights more for important streams.
    """

    kept: Mapping[str, float]
    rate: float
    cost: float
    value: float


class NotWithinError(SpecificationError):
    """Raised if the smallest shares of the streams alone need more than there is.

    Attributes
    ----------
    excess
        What they need, as a multiple of what there is.
    is_hopeless
        Whether a plan would need more even if nothing were kept of any stream: windows by rows do
        not shrink.
    """

    def __init__(self, message: str, excess: float, *, is_hopeless: bool = False) -> None:
        super().__init__(message)
        self.excess, self.is_hopeless = excess, is_hopeless


def keep_within(
    plan: PlanEstimate,
    model: QueryModel,
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
) -> DropBoxes:
    """Return the drop boxes with which a plan gives the most results within a bound of cost.

    Only streams have them. Observations 2 and 3: dropping rows before any operator is never worse
    than dropping them later. Windows by rows: a linear programme. Windows by time: a geometric
    one. Both kinds at once: the output is approximated by a product, from below, again and again;
    this ends where no small change is better. Where a condition has two selectivities and a window
    by rows, their mean depends on the shares: the problem is solved with the means of the last
    shares, again and again, and of what fits the best is returned. If no results are expected, no
    stream is preferred: the product of the shares is maximised.

    Parameters
    ----------
    plan, model
        The plan, and the query that it is of.
    bound
        Time per unit of time that it may need: 0.8 with a head room of 20 %, 2 with two
        processors.
    rows
        Rows that it may keep; None for any number. Behind a drop box a window by time holds fewer
        rows, and a window by rows as many as before.
    weights
        Importance of streams, 1 if not given. A stream with windows by rows counts so many times
        as much; one with a window by time counts by its share to this power, since a factor would
        not change what is best.
    minimum
        Smallest share to be kept of a stream, 0 if not given.
    fill
        Smallest share of each stream with a window by rows that `minimum` does not name, so that
        its window fills. It is lower where these rows would need more than half of what `minimum`
        leaves. With 0 a stream may be shut off, as in the paper: then its window holds what it
        held before, and as a plan runs that is nothing.

    Raises
    ------
    NotWithinError
        If the smallest shares alone exceed the bound, or need more rows.

    References
    ----------
    `ayad04` 5, equations 18 to 29, and the issues 1 and 2 at its end.

    Examples
    --------
    >>> from penstock.planning.estimate import Estimator
    >>> from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
    >>> model = example_1(0.005)
    >>> boxes = keep_within(Estimator(model).estimate(EXAMPLE_1_PLANS["a"]), model, 1.0)
    >>> {name: round(share, 3) for name, share in boxes.kept.items()}, round(boxes.rate)
    ({'A': 1.0, 'B': 0.583, 'C': 1.0}, 917)
    """
    return solve_drop_boxes(
        [(plan, model)], bound, rows=rows, weights=weights, minimum=minimum, fill=fill
    )


def solve_drop_boxes(
    plans: Sequence[tuple[PlanEstimate, QueryModel]],
    bound: float,
    *,
    rows: float | None = None,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    fill: float = 0.0,
    shared_cost: SharedCost | None = None,
) -> DropBoxes:
    """Return the drop boxes of one plan, or of several over the same streams in one bound.

    Parameters are those of `keep_within`; `shared_cost` replaces the sum of the costs where
    operators are shared.
    """
    functions = Kept(plans, shared_cost)
    problem = functions.full
    weight = _by_stream(problem.names, weights, 1.0, "weights")
    least = _by_stream(problem.names, minimum, 0.0, "minimum", most=1.0)
    _check_least(functions.at(least), least, minimum, bound, rows)
    goal = Goal(
        functions, weight, bound, rows, _filled(functions, least, minimum or {}, fill, bound)
    )
    if goal.excess(goal.least) > ROUNDING:  # pairs of rows that wait can be more, then
        goal = replace(goal, least=least)
    kept = np.ones(len(problem.names))
    if not goal.fits(kept):
        kept = settle(goal) if functions.change else goal.solve(problem, starts_of(problem.by_rows))
    problem = functions.at(kept)
    return DropBoxes(
        dict(zip(problem.names, kept.tolist(), strict=True)),
        problem.output.at(kept),
        problem.cost.at(kept),
        goal.value(kept),
    )


def _check_least(
    problem: Functions,
    least: Floats,
    minimum: Mapping[str, float] | None,
    bound: float,
    rows: float | None,
) -> None:
    """Raise if the smallest shares need too much, and say by how much."""
    nothing = problem.memory.at(np.zeros(least.size))
    if rows is not None and nothing > rows * (1 + ROUNDING):
        hint = "drop boxes do not help, since windows by rows do not shrink: shorten them"
        requirement = f"at least {about(nothing)} with this plan"
        message = must("rows of a budget", requirement, rows, hint)
        raise NotWithinError(message, nothing / max(rows, 1e-300), is_hopeless=True)
    needed = problem.cost.at(least)
    if needed > bound * (1 + ROUNDING):
        of_a = "" if needed >= 10 else " of a processor"
        excess = f"{processor_words(needed)}{of_a}, {_more(needed / bound)}"
        hint = f"they need {excess} the {processor_words(bound)} that is allowed; lower them"
        message = must("minimum", "within the budget", minimum, hint)
        raise NotWithinError(message, needed / bound)
    stored = problem.memory.at(least)
    if rows is not None and stored > rows * (1 + ROUNDING):
        excess = f"{about(stored)} rows, {_more(stored / rows)}"
        hint = f"they keep {excess} the {about(rows)} that are allowed; lower them"
        raise NotWithinError(must("minimum", "within the budget", minimum, hint), stored / rows)


def _more(factor: float) -> str:
    """Return by how much a limit is exceeded.

    >>> _more(1.25), _more(12.0)
    ('25% more than', '12 times')
    """
    return f"{percent(factor - 1)} more than" if factor <= 2 else f"{about(factor)} times"


def _filled(
    functions: Kept, least: Floats, minimum: Mapping[str, float], fill: float, bound: float
) -> Floats:
    """Return the smallest shares with which windows by rows fill."""
    problem = functions.at(least)
    named = np.array([name in minimum for name in problem.names])
    more = np.where(problem.by_rows & ~named, fill, 0.0)
    room = 0.5 * (bound - problem.cost.at(least))
    # The cost is convex along a line: a part of the way needs at most that part.
    needed = problem.cost.at(least + more) - problem.cost.at(least)
    filled = least + more * min(1.0, max(room, 0.0) / max(needed, 1e-300))
    if not functions.change:
        return filled
    half = problem.cost.at(least) + max(room, 0.0)
    return between(least, filled, lambda at: functions.at(at).cost.at(at) / max(half, 1e-300) - 1)


def _by_stream(
    names: tuple[str, ...],
    given: Mapping[str, float] | None,
    otherwise: float,
    what: str,
    most: float = np.inf,
) -> Floats:
    for name, value in (given or {}).items():
        if name not in names:
            hint = f"the streams are {', '.join(names)}"
            raise SpecificationError(must(what, "given for streams of the query", name, hint))
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= most or value == np.inf:
            requirement = "a share from 0 to 1" if most == 1 else "a number of 0 or more"
            hint = "0.1 keeps a tenth of its rows at least" if most == 1 else "1 is the usual one"
            raise SpecificationError(must(f'{what} of "{name}"', requirement, value, hint))
    return np.array([float((given or {}).get(name, otherwise)) for name in names])
