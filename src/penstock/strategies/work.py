"""Strategies that keep to a limit of work: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, MaxSubset
from penstock.statistics.work_by_lot import LotModel, Step, best_chances
from penstock.statistics.work_output import WorkModel
from penstock.strategies.base import Floats, Needs, Resource, Strategy
from penstock.strategies.decision import Admit, Decision, Insert, Probe

if TYPE_CHECKING:
    from penstock.statistics.work_output import Steps
    from penstock.strategies.view import View, WorkView

__all__ = ["ByLot", "WorkStrategy", "for_all_grades", "least_chance", "worth_of"]

# No row is shed for certain: of all combinations of rows in memory about this share is there at
# least, and from these what is lost is estimated. They may cost this share of the work, and if
# that is too little for so many, there are fewer, though no fewer than the second share.
_LEAST, _FEWEST = 0.02, 0.002
_FOR_ESTIMATES = 0.01


def least_chance(work: WorkView) -> float:
    """Return the least chance of a row to be inserted.

    Of more streams a result has several rows that waited, and needs the chances of all of them.
    """
    all_inserted = float(work.rates.sum()) * work.costs.insert
    affordable = _FOR_ESTIMATES * work.capacity / all_inserted if all_inserted else 1.0
    least = min(_LEAST, max(_FEWEST, affordable))
    return float(least ** (1.0 / (work.rates.size - 1)))


def for_all_grades(
    chances: Floats, known: npt.NDArray[np.bool_], least: float, *, rising: bool = True
) -> Floats:
    """Return chances by grade where those that have not come lately have those of the next lower.

    Grades below all that have come have the chance of the lowest of these, and where none has
    come all rows are inserted. If the higher the grade the more a row is worth (`rising`), no
    chance is below those of lower grades.

    >>> chances, known = np.array([[0.0, 0.3, 0.0, 1.0]]), np.array([[False, True, False, True]])
    >>> for_all_grades(chances, known, 0.02).tolist()
    [[0.3, 0.3, 0.3, 1.0]]
    """
    grades = np.arange(chances.shape[1])
    lower = np.maximum.accumulate(np.where(known, grades, -1), axis=1)
    lower = np.where(lower >= 0, lower, np.argmax(known, axis=1)[:, None])
    filled = np.take_along_axis(chances, lower, axis=1)
    filled = np.where(np.any(known, axis=1, keepdims=True), filled, 1.0)
    if rising:
        filled = np.maximum.accumulate(filled, axis=1)
    return np.maximum(filled, least)


def worth_of(gains: Floats, rates: Floats) -> Floats:
    """Return what one row of each kind gains, from the gains and the rows of all of that kind.

    >>> worth_of(np.array([6.0, 0.0]), np.array([3.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    return np.divide(gains, rates, out=np.zeros(gains.shape), where=rates > 0)


class WorkStrategy(Strategy):
    """A strategy that decides which steps arriving rows leave out."""

    serves: ClassVar[tuple[type[Goal], ...]] = (MaxSubset,)
    spends: ClassVar[Resource] = Resource.CPU

    def decide(self, view: View) -> Decision:
        """Take all steps until something is known, then as many as there is work for."""
        if view.work is None or not np.all(view.work.rates > 0):
            return view.previous or Decision()
        return self.share_out(view.work)

    @abstractmethod
    def share_out(self, work: WorkView) -> Decision:
        """Return the chances that make most of the work."""


class ByLot(WorkStrategy):
    """A strategy that sheds rows of a stream alike, whatever their keys."""

    needs: ClassVar[Needs] = Needs()
    step: ClassVar[Step]

    def share_out(self, work: WorkView) -> Decision:
        """Return the best chances of each stream."""
        least = least_chance(work)
        chances = np.maximum(self._chances(work, least), least)
        if self.step == "admit":
            return Decision(admit=Admit(chances))
        if self.step == "probe":
            return Decision(probe=Probe(chances))
        worth = work.lives / work.rates if work.rates.size == 2 else None
        return Decision(insert=Insert(chances, worth))

    def _chances(self, work: WorkView, least: float) -> Floats:
        if work.rates.size > 2:
            model = LotModel(work.rates, work.found, work.costs.insert, work.cost_of_result)
            return best_chances(model, work.left_for_steps, self.step, least)
        # Rows that are inserted have their effect while they wait; other steps have it at once.
        ahead = self.step == "insert"
        pair = WorkModel(
            rates=work.rates[:, None],
            windows=(float(work.lives[0]), float(work.lives[1])),
            insert=work.costs.insert,
            result=work.cost_of_result,
            selectivity=work.selectivity,
            charged=(float(work.waits_ahead[0]), float(work.waits_ahead[1])) if ahead else None,
        )
        steps = self.solve(pair, work.left_for_insertions if ahead else work.left_for_steps)
        chances: Floats = getattr(steps, self.step)[:, 0]
        return chances

    @abstractmethod
    def solve(self, model: WorkModel, capacity: float) -> Steps:
        """Return the chances of two streams' rows for so much work in a unit of time."""
