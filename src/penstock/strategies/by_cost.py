"""By cost: parts of windows are probed, or fewer rows inserted, whichever leaves more results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.strategies.base import Needs
from penstock.strategies.best_lot import BestLot
from penstock.strategies.decision import Decision
from penstock.strategies.grub import Grub
from penstock.strategies.harvesting import PARTS, has_seen_results, probing_cost
from penstock.strategies.probe_no_insert import ProbeNoInsert
from penstock.strategies.work import WorkStrategy

if TYPE_CHECKING:
    from penstock.strategies.harvesting import ProbingCost
    from penstock.strategies.view import View, WorkView

# It is changed to the other only if that leaves so much more: what was inserted stays for a life.
_BETTER = 1.1
# Where results are all that costs both leave as many, but for rounding: then by lot, which says
# more of what is lost.
_CLEARLY = 1.02
_BISECTIONS = 40


@dataclass(frozen=True)
class ByCost(WorkStrategy):
    """Do as `grub` where comparisons are what costs, and shed rows by lot where results are.

    By the results that each of them leaves, as predicted for what is known now. By lot is as
    `probe-no-insert` of two streams, and as `best-lot` of more. Vectors have no keys by which
    `by-partner` could tell rows apart.

    References
    ----------
    Ours; `gedik05` 7 says that harvesting gains little where an index finds partners.
    """

    name: ClassVar[str] = "by-cost"
    needs: ClassVar[Needs] = Needs(lags=PARTS)

    def decide(self, view: View) -> Decision:
        """Do as the one that leaves more, and stay with it as long as they are about equal."""
        if view.work is None or not np.all(view.work.rates > 0):
            return view.previous or Decision()
        before = view.previous
        favour = 1.0
        if before is not None and before.sheds_arrivals:
            favour = 1.0 / _BETTER if before.probe.sub_windows is None else _BETTER
        return self._better(view.work, favour, blind=not has_seen_results(view))

    def share_out(self, work: WorkView) -> Decision:
        """Return what the one decides that leaves more."""
        return self._better(work, 1.0)

    def _better(self, work: WorkView, favour: float, *, blind: bool = False) -> Decision:
        """Return what the better one decides; harvesting is as good as so many times what it is."""
        probing = probing_cost(work)
        harvest = Grub().harvest(probing, by_lot=blind)
        if favour * harvested(probing, harvest) >= _CLEARLY * _by_lot(work, probing):
            return harvest
        return (ProbeNoInsert() if work.rates.size == 2 else BestLot()).share_out(work)


def harvested(probing: ProbingCost, decision: Decision) -> float:
    """Return the share of the results that is left if parts of windows are probed."""
    if decision.probe.sub_windows is None:
        return 1.0
    if not decision.probe.is_certain:  # as many rows probe whole windows as there is work for
        return probing.left / probing.full
    model = probing.model
    probed = np.asarray(decision.probe.sub_windows, np.float64)
    inside = (probed * model.scores).sum(axis=2) / np.maximum(model.scores.sum(axis=2), 1e-300)
    reached = np.take_along_axis(inside, model.orders, axis=1)
    found = float(model.rates @ np.prod(model.table.matches * reached, axis=1))
    whole = decision.probe.whole
    return whole + (1.0 - whole) * found / max(model.full_output, 1e-300)


def _by_lot(work: WorkView, probing: ProbingCost) -> float:
    """Return the share of the results that is left if rows are inserted by lot, as many as fit.

    Comparisons are nearly those of the first hop, of which there are as many fewer as rows.
    """
    others = work.rates.size - 1
    linear = float(work.rates.sum()) * work.costs.insert + probing.compare * probing.model.full_cost
    results = probing.result * probing.model.full_output
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        chance = (low + high) / 2.0
        if linear * chance + results * chance**others <= work.left_for_steps:
            low = chance
        else:
            high = chance
    return float(low**others)
