"""GrubJoin: rows probe the parts of windows in which their partners are likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.harvest_frontier import best_harvest
from penstock.strategies.base import Needs
from penstock.strategies.decision import Decision, Probe
from penstock.strategies.harvesting import PARTS, probing_cost
from penstock.strategies.work import WorkStrategy

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import Harvest
    from penstock.strategies.base import Floats
    from penstock.strategies.harvesting import ProbingCost
    from penstock.strategies.view import WorkView

# Of the work that is left for probing, the part that rows may take that probe whole windows, and
# the least and greatest share of rows that do.
_FOR_ESTIMATES = 0.1
_FEWEST, _MOST = 0.002, 0.1
# Steps of the search for a throttle fraction, and the share of the work that may be left over.
_STEPS = 12
_CLOSE = 0.01


@dataclass(frozen=True)
class Grub(WorkStrategy):
    """Insert all rows, and probe the parts of windows that give most results for their comparisons.

    Some rows probe whole windows all the same, by lot: they show where partners are, how many fit,
    and what is lost.

    References
    ----------
    GrubJoin in `gedik05`: window harvesting (4.2, 4.3) and shredding (5.2.1). Departs from it in
    that the throttle fraction follows from the account of work (3.1), that shares of results by
    part of a window are counted for each direction instead of being derived from histograms of
    lags (5.2.2), and that harvest fractions are near the optimum instead of greedy (4.2.2).
    """

    name: ClassVar[str] = "grub"
    needs: ClassVar[Needs] = Needs(lags=PARTS)

    def share_out(self, work: WorkView) -> Decision:
        """Return the parts of windows that are probed, by stream that arrives."""
        return self.harvest(probing_cost(work))

    def harvest(self, probing: ProbingCost) -> Decision:
        """Return the parts for which there is work."""
        full, left = probing.full, probing.left
        if left >= full or full <= 0.0:
            return Decision()
        whole = min(max(_FOR_ESTIMATES * left / full, _FEWEST), _MOST)
        in_parts = max(0.0, left - whole * full) / (1.0 - whole)
        found = _within(probing, in_parts)
        return Decision(probe=Probe(sub_windows=_shares(found), whole=whole))


def _within(probing: ProbingCost, left: float) -> Harvest:
    """Return the best choice of parts that takes no more than so much work."""
    throttle = max(left / probing.full, 1e-9)
    if probing.result == 0.0:
        return best_harvest(probing.model, throttle, parts=True)
    # The search knows comparisons, not results: find the comparisons with which both fit.
    low, high = 0.0, 1.0
    best = probing.model.harvest(np.zeros(probing.model.orders.shape))
    for _ in range(_STEPS):
        found = best_harvest(probing.model, throttle, parts=True)
        work = probing.of(found.cost, found.output)
        if work > left:
            high = throttle
        else:
            low, best = throttle, found
            if work >= (1.0 - _CLOSE) * left:
                break
        throttle = (low + high) / 2.0
    return best


def _shares(found: Harvest) -> Floats:
    """Return how much of each part is probed, by stream that arrives and stream that is probed."""
    model = found.model
    shares = np.zeros(model.scores.shape)
    for i, j in np.ndindex(model.orders.shape):
        for part, share in found.chosen(i, j):
            shares[i, model.orders[i, j], part] = share
    return shares
