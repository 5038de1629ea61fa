"""Best lot: rows are dropped, or inserted less often, by lot, whichever leaves more results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.strategies.base import Floats, Needs
from penstock.strategies.decision import Decision
from penstock.strategies.harvesting import probing_cost
from penstock.strategies.probe_no_insert import ProbeNoInsert
from penstock.strategies.random_drop import RandomDrop
from penstock.strategies.work import WorkStrategy

if TYPE_CHECKING:
    from penstock.strategies.harvesting import ProbingCost
    from penstock.strategies.view import View, WorkView

# It is changed to the other only if that leaves so much more: what was inserted stays for a life.
_BETTER = 1.1
_BISECTIONS = 30


@dataclass(frozen=True)
class BestLot(WorkStrategy):
    """Do as `probe-no-insert`, or as `random-drop` where comparisons that find nothing cost most.

    By the results that each of them leaves within the work, as predicted for what is known now:
    comparisons are counted window by window.

    References
    ----------
    Ours. By Theorem 3 of `ayad05` `probe-no-insert` is the best lot, if a probe that finds nothing
    is free. In a join of three streams that is not near to equality it is not.
    """

    name: ClassVar[str] = "best-lot"
    needs: ClassVar[Needs] = Needs(lags=1)

    def decide(self, view: View) -> Decision:
        """Do as the one that leaves more, and stay with it as long as they are about equal."""
        if view.work is None or not np.all(view.work.rates > 0):
            return view.previous or Decision()
        before = view.previous
        favour = 1.0
        if before is not None and before.sheds_arrivals:
            favour = 1.0 / _BETTER if before.admit.is_certain else _BETTER
        return self._better(view.work, favour)

    def share_out(self, work: WorkView) -> Decision:
        """Return what the one decides that leaves more."""
        return self._better(work, 1.0)

    def _better(self, work: WorkView, favour: float) -> Decision:
        """Return what the better one decides; dropping is as good as so many times what it is."""
        probing = probing_cost(work)
        dropped, not_inserted = RandomDrop().share_out(work), ProbeNoInsert().share_out(work)
        whole = np.ones(work.rates.size)
        insert, left = work.costs.insert, work.left_for_steps
        by_dropping = results_by_lot(
            probing, whole * dropped.admit.chances, insert, left, admits=True
        )
        by_inserting = results_by_lot(
            probing, whole * not_inserted.insert.chances, insert, left, admits=False
        )
        return dropped if favour * by_dropping > by_inserting else not_inserted


def results_by_lot(
    probing: ProbingCost, chances: Floats, insert: float, left: float, *, admits: bool
) -> float:
    """Return the results in a unit of time, with as much of these chances as there is work for.

    Parameters
    ----------
    probing
        What probing costs and finds.
    chances
        Of each stream's rows to be admitted, or to be inserted, up to a common factor.
    insert
        What an insertion costs.
    left
        Work in a unit of time.
    admits
        Whether rows that are not inserted do not probe either.
    """
    low, high = 0.0, 1.0 / max(float(chances.min()), 1e-9)
    results = 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        part = np.minimum(middle * chances, 1.0)
        cost, found = _work_and_results(probing, part, insert, admits=admits)
        if cost <= left:
            low, results = middle, found
        else:
            high = middle
    return results


def _work_and_results(
    probing: ProbingCost, chances: Floats, insert: float, *, admits: bool
) -> tuple[float, float]:
    """Return work and results in a unit of time if rows are admitted, or inserted, by chance."""
    table, orders = probing.model.table, probing.model.orders
    reaching = table.rates * (chances if admits else 1.0)
    compared = 0.0
    for hop in range(orders.shape[1]):
        waiting = chances[orders[:, hop]]
        compared += float((reaching * table.sizes[:, hop] * waiting).sum())
        reaching = reaching * table.matches[:, hop] * waiting
    results = float(reaching.sum())
    return float(table.rates @ chances) * insert + probing.of(compared, results), results
