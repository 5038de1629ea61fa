"""GrubJoin: rows probe the parts of windows in which their partners are likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.errors import SpecificationError, must
from penstock.statistics.harvest_frontier import best_harvest
from penstock.strategies.base import Needs
from penstock.strategies.decision import Decision, Probe
from penstock.strategies.harvesting import PARTS, has_seen_results, probing_cost
from penstock.strategies.work import WorkStrategy

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest
    from penstock.strategies.base import Floats
    from penstock.strategies.harvesting import ProbingCost
    from penstock.strategies.view import View, WorkView

# The least share of rows that probe whole windows.
_FEWEST = 0.002
_MOST_PARTS = 100
# Rows that may probe, for each for which there is work on average, where some do not probe at all:
# what rows cost varies, and the account of work keeps rows from probing where it is low.
_TRIED = 2.0


@dataclass(frozen=True)
class Grub(WorkStrategy):
    """Insert all rows, and probe the parts of windows that give most results for their comparisons.

    A few rows, drawn at random, probe whole windows. They show where partners are, how many match,
    and what is lost.

    Parameters
    ----------
    shredded
        The share of the work for probing that goes into rows that probe whole windows; above 0 and
        below 1. More of them follow lags that change sooner, and leave less for the others.
    parts
        Sub-windows of a window, from 2 to 100. More of them are probed more exactly where partners
        are, and take longer to learn.

    Examples
    --------
    >>> from penstock.goals import MaxSubset
    >>> MaxSubset(strategy=Grub(shredded=0.2, parts=10)).strategy
    Grub(shredded=0.2, parts=10)

    References
    ----------
    GrubJoin in `gedik05`: window harvesting (4.2, 4.3) and shredding (5.2.1). Departs from it in
    that the throttle fraction follows from the account of work (3.1), that shares of results by
    part of a window are counted for each direction instead of being derived from histograms of
    lags (5.2.2), and that harvest fractions are near the optimum instead of greedy (4.2.2).
    `shredded` is the paper's omega as a share of the work instead of the rows, and `parts` its n.
    """

    name: ClassVar[str] = "grub"
    needs: ClassVar[Needs] = Needs(lags=PARTS)
    shredded: float = 0.1
    parts: int = PARTS

    def __post_init__(self) -> None:
        """Check the parameters, and ask for as many parts of windows."""
        shredded: object = self.shredded
        is_number = isinstance(shredded, (int, float)) and not isinstance(shredded, bool)
        if not is_number or not 0.0 < self.shredded < 1.0:
            hint = "it is the share of the work for rows that probe whole windows, such as 0.1"
            raise SpecificationError(
                must("shredded of Grub", "a number above 0 and below 1", self.shredded, hint)
            )
        parts: object = self.parts
        is_whole = isinstance(parts, int) and not isinstance(parts, bool)
        if not is_whole or not 2 <= self.parts <= _MOST_PARTS:
            hint = f"a window is cut into so many sub-windows; {PARTS} unless given"
            raise SpecificationError(
                must("parts of Grub", f"a whole number from 2 to {_MOST_PARTS}", self.parts, hint)
            )
        object.__setattr__(self, "needs", replace(type(self).needs, lags=self.parts))

    def decide(self, view: View) -> Decision:
        """Choose parts of windows; before the first result, with little memory, rows by lot."""
        if view.work is None or not np.all(view.work.rates > 0) or has_seen_results(view):
            return super().decide(view)
        return self.harvest(probing_cost(view.work), by_lot=True)

    def share_out(self, work: WorkView) -> Decision:
        """Return the parts of windows that are probed, by stream that arrives."""
        return self.harvest(probing_cost(work))

    def harvest(self, probing: ProbingCost, *, by_lot: bool = False) -> Decision:
        """Return the parts for which there is work.

        Some rows do not probe at all instead, if that leaves more: where all parts are alike, or if
        leaving them out does not save their comparisons. Or if that is asked for (`by_lot`).
        """
        full, left = probing.full, probing.left
        if left >= full or full <= 0.0:
            return Decision()
        share = left / full
        whole = max(self.shredded * share, _FEWEST)
        model = probing.by_parts
        each = (full - probing.compare * model.unavoidable) / max(model.full_cost, 1e-300)
        in_parts = max(0.0, left - whole * full) / (1.0 - whole)
        in_parts -= probing.compare * model.unavoidable
        throttle = in_parts / max(each * model.full_cost, 1e-300)
        found = best_harvest(model, min(max(throttle, 1e-9), 1.0), parts=True)
        output = whole + (1.0 - whole) * found.output / max(model.full_output, 1e-300)
        if by_lot or throttle <= 0.0 or output < share:
            everything = np.ones(model.scores.shape)
            chance = min(1.0, _TRIED * share)
            return Decision(probe=Probe(chance, sub_windows=everything, whole=whole))
        return Decision(probe=Probe(sub_windows=_shares(found), whole=whole))


def _shares(found: Harvest) -> Floats:
    """Return how much of each part is probed, by stream that arrives and stream that is probed."""
    model = found.model
    shares = np.zeros(model.scores.shape)
    for i, j in np.ndindex(model.orders.shape):
        for part, share in found.chosen(i, j):
            shares[i, model.orders[i, j], part] = share
    return shares
