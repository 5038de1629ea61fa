"""Online Max-Subset: rows of the values take part that give most for their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.errors import SpecificationError, must
from penstock.statistics.work_output import Boundary, WorkModel, max_subset
from penstock.strategies.base import Integers, Needs
from penstock.strategies.decision import Admit, Decision, Insert, Probe
from penstock.strategies.grades import GRADES, grade_of
from penstock.strategies.work import WorkStrategy, for_all_grades, least_chance

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, WorkView

_BOUNDARIES = ("probe-no-insert", "coin-flip", "insert-no-probe")
# Of all rows that come a value has at most a quarter by the mean that grades go by: the highest
# grade is that. Its square is graded, so that there are 32 grades to an octave, in ten octaves:
# with inverse correlation all values are of about the same worth.
_HIGHEST = 32.0


@dataclass(frozen=True)
class MaxSubsetOfValues(WorkStrategy):
    """Let the values take part, in both streams, that give most results for their cost.

    Rows with other values probe, which costs nothing because they have no results. A few of them
    are inserted, and from these what is lost is estimated.

    Parameters
    ----------
    boundary
        How to shed rows of the last values, for which only a part of the work is left:
        "probe-no-insert" (the best, by Theorem 3), "coin-flip" or "insert-no-probe".

    References
    ----------
    Online Max-Subset in `ayad05` 3.2, Fig. 2; values of about the same worth are decided together.
    """

    name: ClassVar[str] = "max-subset"
    needs: ClassVar[Needs] = Needs(frequencies=True, match_rates=True, own_rates=True, parts=1)
    boundary: Boundary = "probe-no-insert"

    def __post_init__(self) -> None:
        """Check the way in which the boundary is shed."""
        if self.boundary not in _BOUNDARIES:
            raise SpecificationError(
                must(
                    "boundary of MaxSubsetOfValues",
                    "a way to shed by lot",
                    self.boundary,
                    f"choose one of {', '.join(_BOUNDARIES)}",
                )
            )

    def grade(self, rows: Rows) -> Integers:
        """Return the grades of what values give for an insertion: u v / (u + v) of their rates."""
        own, other = rows.like_it_per_time, rows.matches_per_time
        both = own + other
        mean = np.divide(own * other, both, out=np.zeros(own.size), where=both > 0)
        return grade_of(np.square(_HIGHEST * mean / max(rows.all_per_time, 1e-300)))

    def share_out(self, work: WorkView) -> Decision:
        """Return the chances of rows by the grades of their values."""
        least = least_chance(work)
        rates, expected = work.grades[:, :, 0], work.grades[:, :, 1]
        # Both streams say how many pairs there are: as many rows of the one as of the other.
        pairs = np.maximum(rates.prod(axis=0), 1e-300)
        model = WorkModel(
            rates=rates,
            windows=(float(work.lives[0]), float(work.lives[1])),
            charged=(float(work.waits_ahead[0]), float(work.waits_ahead[1])),
            insert=work.costs.insert,
            result=work.cost_of_result,
            selectivity=expected.mean(axis=0) / pairs,
        )
        # By grade: of one value that comes now and then, rows of one stream may have come alone.
        worth = np.arange(GRADES, dtype=np.float64)
        steps = max_subset(model, work.left_for_insertions, boundary=self.boundary, worth=worth)
        known = np.broadcast_to(rates.sum(axis=0) > 0.0, rates.shape)
        takes_part = np.any(steps.admit * steps.insert > 0, axis=0) & known
        insert = for_all_grades(np.where(takes_part, steps.insert, 0.0), known, least)
        admit, probe = (np.where(takes_part, each, 1.0) for each in (steps.admit, steps.probe))
        # What insertions take at once is cut from the least valuable values.
        inserting = np.cumsum((insert * rates).sum(axis=0)[::-1])[::-1] * work.costs.insert
        insert = np.where(inserting > work.at_once, least, insert)
        return Decision(
            admit=Admit(np.maximum(admit, least)),
            probe=Probe(np.maximum(probe, least)),
            insert=Insert(insert, np.broadcast_to(worth, rates.shape)),
        )
