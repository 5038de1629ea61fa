"""One shard of several joins that share a budget, divided again and again.

The budget is divided at fixed points of stream time: whenever an operator comes to a row of the
next interval, it pauses, until all others have come there, too, or have no more rows. So with
streams that are in step the cut into batches has no effect.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.division_state import DivisionState
from penstock.engine.limits import part_of
from penstock.engine.shared_resources import resources_of
from penstock.statistics.allotment import QualityCurve, allot_least, allot_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from penstock.engine.arrays import Integers
    from penstock.engine.joint_plan import SharingRule
    from penstock.engine.operator import Operator
    from penstock.engine.shared_resources import Resource

__all__ = ["JointShard", "first_amounts"]

# Of the way to the best division: what was learned is not exact, and rows that have gone are gone.
_PACE = 0.5
# Rates are those of so many intervals: what was learned of them is slower to change.
_INTERVALS = 4
# Divisions that differ by less than this part of the budget, for every join, are the same one.
_DEAD_BAND = 0.02


def first_amounts(whole: int, least: Mapping[str, int]) -> dict[str, int]:
    """Divide a budget equally, as nothing is known yet; the least of each is within it.

    >>> first_amounts(10, {"a": 2, "b": 2, "c": 3})
    {'a': 3, 'b': 3, 'c': 4}
    """
    left = whole - sum(least.values())
    parts = (part_of(left, place, len(least)) for place in range(len(least) - 1, -1, -1))
    return {name: own + part for (name, own), part in zip(least.items(), parts, strict=True)}


@dataclass
class JointShard:
    """The operators of one shard, one for each join, and what each may hold and do.

    Parameters
    ----------
    operators
        Of each join; all of the same shard.
    rule
        How the budget is divided.
    amounts
        Of each resource (`Resource.name`), what each operator has now; equal parts where it is left
        out.
    mark
        Number of the interval at whose beginning it is divided next; None before the first row.
    """

    operators: Mapping[str, Operator]
    rule: SharingRule
    amounts: dict[str, dict[str, int]] = field(default_factory=dict)
    mark: int | None = None
    divisions: int = 0  # that have changed something
    # At the last divisions, of each resource and operator: what was counted until then.
    history: dict[str, list[dict[str, list[float]]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of CPU time that the batch took each
    clock: Callable[[], float] = time.thread_time  # by which that is measured

    def __post_init__(self) -> None:
        """Let all operators have their amounts."""
        self.resources = {each.name: each for each in resources_of(self.operators, self.rule)}
        for name, resource in self.resources.items():
            amounts = self.amounts.get(name)
            if amounts is None:
                amounts = first_amounts(resource.whole, resource.least)
            elif sum(amounts.values()) != resource.whole:
                amounts = _scaled(amounts, resource)
            self._set(resource, amounts)

    def pieces(self, batches: Mapping[str, Iterator[pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the results of all joins, each with the name of its join.

        Parameters
        ----------
        batches
            For each join what `Operator.pieces` returns for its batch.
        """
        going = dict(batches)
        self.seconds = dict.fromkeys(self.operators, 0.0)
        self._set_pauses()
        while going:
            for name in list(going):
                operator = self.operators[name]
                # One that is paused already is at a later time than the mark.
                if operator.paused_at is not None and operator.pause_at <= operator.paused_at:
                    continue
                began = self.clock()
                for piece in going[name]:
                    if operator.paused_at is not None:
                        break
                    yield name, piece
                else:
                    del going[name]
                self.seconds[name] += self.clock() - began
            if going:
                self._divide_again(going)

    def measure(
        self, handed_over: tuple[int, float] | None = None, *, is_warm: bool = True
    ) -> None:
        """Take in how long each join has taken for the batch; see `Work.measure`."""
        for name, operator in self.operators.items():
            if operator.work is not None:
                operator.work.ledger.measure(self.seconds[name] if is_warm else 0.0, handed_over)

    def _divide_again(self, paused: Mapping[str, object]) -> None:
        """Divide the budget: all operators that have rows left have come to a mark."""
        reached = min(self._seconds(self.operators[name]) for name in paused)
        if self.mark is not None:
            self.divide()
        self.mark = math.floor(reached / self.rule.interval) + 1
        self._set_pauses()

    def _seconds(self, operator: Operator) -> float:
        """Return the time at which an operator pauses, in the unit of the rule."""
        return (operator.paused_at or 0.0) / (operator.plan.time.units_per_second or 1)

    def _set_pauses(self) -> None:
        for operator in self.operators.values():
            if self.mark is None:
                operator.pause_at = -np.inf
                continue
            units = operator.plan.time.units_per_second or 1
            operator.pause_at = self.mark * self.rule.interval * units

    def divide(self) -> None:
        """Divide the budget by what is known of the joins, and let rows go where it takes."""
        has_changed = [self._divide(each) for each in self.resources.values()]
        self.divisions += any(has_changed)

    def _divide(self, resource: Resource) -> bool:
        """Divide one resource; return whether that has changed anything."""
        counted = {name: resource.count(name) for name in self.operators}
        before = self.history.get(resource.name, [])[-_INTERVALS:]
        self.history[resource.name] = [*before, counted]
        curves = self.curves(resource)
        if len(curves) < 2:
            return False
        names, amounts = list(curves), self.amounts[resource.name]
        whole = sum(amounts[name] for name in names)
        allot = allot_least if self.rule.objective == "least" else allot_total
        weights = [self.rule.weights[name] for name in names]
        best = allot(whole, list(curves.values()), weights).amounts
        now = np.array([amounts[name] for name in names])
        gaps = np.array(best) - now
        if np.abs(gaps).max() < _DEAD_BAND * whole:
            return False
        changed = zip(names, now + _balanced(gaps), strict=True)
        self._set(resource, amounts | {name: int(each) for name, each in changed})
        return True

    def curves(self, resource: Resource) -> dict[str, QualityCurve]:
        """Return what each join would make of an amount, without joins that know nothing yet."""
        curves = {}
        history = self.history[resource.name]
        for name in self.operators:
            since = [each[name] for each in history if any(each[name][1:])]
            now = history[-1][name]
            curve = resource.curve(name, since[0] if since else now, now, self.rule)
            if curve is not None:
                curves[name] = curve
        return curves

    def _set(self, resource: Resource, amounts: dict[str, int]) -> None:
        """Let the operators have their amounts: those that get less first."""
        before = self.amounts.get(resource.name, amounts)
        self.amounts[resource.name] = amounts
        for name in sorted(amounts, key=lambda name: amounts[name] - before[name]):
            resource.set(name, amounts[name])

    # --- State

    def save(self) -> bytes:
        """Return what a restart needs besides the operators' states."""
        return DivisionState(
            amounts=self.amounts,
            units={name: each.unit for name, each in self.resources.items()},
            interval=self.rule.interval,
            mark=self.mark,
            divisions=self.divisions,
            history=self.history,
        ).to_bytes()

    @staticmethod
    def restore(
        operators: Mapping[str, Operator], rule: SharingRule, saved: bytes | None
    ) -> JointShard:
        """Go on where the saved one stopped.

        With another budget it goes on in the same proportions. Other weights, another objective and
        another interval hold from the next division on.

        Raises
        ------
        StateError
            If it was saved by other joins, or is damaged.
        """
        if saved is None:
            return JointShard(operators, rule)
        known = DivisionState.from_bytes(saved)
        known.check_joins(operators)
        amounts = {name: dict(each) for name, each in known.amounts.items()}
        for resource in resources_of(operators, rule):
            own = amounts.get(resource.name, {})
            if own and known.units[resource.name] != resource.unit:
                amounts[resource.name] = resource.converted(own)
                continue
            for name, amount in own.items():
                resource.resume(name, amount)
        mark = _mark_in(rule.interval, known)
        return JointShard(operators, rule, amounts, mark, known.divisions, dict(known.history))


def _mark_in(interval: float, known: DivisionState) -> int | None:
    """Return the number of the interval to divide at next, in intervals of this length."""
    if known.mark is None or known.interval == interval:
        return known.mark
    divided = (known.mark - 1) * known.interval  # where the last interval began
    return math.floor(divided / interval) + 1


def _scaled(amounts: Mapping[str, int], resource: Resource) -> dict[str, int]:
    """Return amounts in the same proportions for another whole."""
    curves = [
        QualityCurve([least, max(amounts[name], least + 1)], [0.0, 1.0])
        for name, least in resource.least.items()
    ]
    scaled = allot_least(resource.whole, curves).amounts
    return dict(zip(resource.least, scaled, strict=True))


def _balanced(gaps: Integers) -> Integers:
    """Return a part of each gap, in whole numbers that add up to 0, as the gaps do.

    >>> _balanced(np.array([-5, 3, 2])).tolist()
    [-2, 1, 1]
    """
    steps = np.trunc(gaps * _PACE).astype(np.int64)
    places = np.argsort(-np.abs(gaps - steps), kind="stable")
    left = -int(steps.sum())
    for at in places:
        if left == 0:
            break
        if gaps[at] * left > 0:
            one = int(np.sign(left)) * min(abs(left), abs(int(gaps[at] - steps[at])))
            steps[at] += one
            left -= one
    return steps
