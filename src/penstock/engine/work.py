"""Work: when it is reviewed, and what a decision about it goes by.

Everything follows from counted steps and stream time, at the points where decisions are reviewed.
So any cut into batches, and a restart, lead to the same decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.demand import Demand
from penstock.engine.directions import Directions
from penstock.engine.kernels.layout import COMPARE, SIMILAR
from penstock.engine.ledger import Ledger
from penstock.engine.lives import lengths_of
from penstock.engine.measured_fits import MeasuredFits
from penstock.engine.pace import Pace
from penstock.engine.whole_output import WholeOutput
from penstock.strategies import Decision
from penstock.strategies.view import WorkView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.costs import Costs
    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store

# How fast, in lives, the allowance that is shared out is corrected, and how far. What is inserted
# has its effect within a life, and which parts of windows are probed has it at once.
_GAIN, _GAIN_AT_ONCE = 0.1, 1.0
_TRIMS = 0.5, 3.0
# Of what may be kept, the part that is aimed at: between the marks of `kernels.gate`.
_KEPT = 0.5
# How fast, in lives, a sample makes up for what it has overdrawn, and the least part of the
# allowance that it has meanwhile: rows that have left it do not come back.
_SOON = 0.1
_LEAST_SHARED = 0.25
# In the first part of the longest life too little is known to shed anything by, unless more was
# done than is allowed.
_UNSURE = 0.25


class Work:
    """The account of one shard, and what follows from it.

    Parameters
    ----------
    plan
        The join; its budget has a share of the processor.
    store
        Its memory, in which the loop counts.
    charged
        Returns what steps are charged, by what they cost (`Strategy.charged`).
    lags
        Parts of a window in which partners are distinguished (`Needs.lags`); 0 if they are not.
    measures_fits
        Whether it is counted what was found in rows (`Needs.measured_fits`).

    Attributes
    ----------
    ledger
        What was counted, what it costs, and the account.
    demand
        What arrivals need.
    pace
        When it is reviewed.
    fits
        What was found in rows; None if it is not counted.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        charged: Callable[[Costs], Costs] = lambda costs: costs,
        lags: int = 0,
        *,
        measures_fits: bool = False,
    ) -> None:
        assert plan.work is not None  # noqa: S101  # the caller has asked for it
        budget = plan.spec.budget
        self._store = store
        self.ledger = Ledger(plan.work, store, charged)
        self._reviewed: float | None = None  # the time of the last review
        self._lives = np.array([float(life) for life in lengths_of(plan)])
        self._longest = float(self._lives.max()) or 1.0
        # Where rows leave memory, and as soon as some are shed, every row counts for the estimates.
        self._limits_memory = bool(budget and budget.limits_memory)
        self.pace = Pace(
            self.ledger.account,
            self._lives,
            # Where parts of windows are chosen, comparisons cost far more than reviews.
            may_rest=not plan.is_sample and lags <= 1,
            observes_all=plan.is_sample or self._limits_memory,
        )
        self.demand = Demand(store, self._lives)
        self._directions = Directions(store, lags) if lags else None
        # Rows of `Equal`, `Within` and `Band` are in chains by key or value, whatever their age.
        self._skips = plan.rule.kind in (COMPARE, SIMILAR)
        # Where memory is limited too, rows leave before they have found what they would.
        self.fits: MeasuredFits | None = None
        if measures_fits and not self._limits_memory:
            self.fits = MeasuredFits(store, self._lives)
        self._passed = 0.0  # time from the first review on
        self._last = Decision()  # what was decided last
        self._trim = 1.0  # by which the model has proved wrong
        self._whole = WholeOutput(self._lives) if plan.is_sample else None
        self._inserts_all = True  # so far: then rows that probe whole windows show what is missing

    # --- Reviews

    def note(self, arrivals: Array, grades: Integers | None, fitting: Floats | None) -> None:
        """Note rows that were observed; see `Demand.note`."""
        self.demand.note(arrivals, grades, fitting, self.pace.every)

    def review(self) -> None:
        """Take in what was counted since the last review."""
        memory = self._store.memory
        now = self.ledger.now
        before = self._reviewed
        if memory.rule["arrivals"][0] == 0:
            return
        self.ledger.book(now)
        passed = 0.0 if before is None else now - before
        if before is None:
            self._reviewed = now
            self.pace.begin(now)
        if passed <= 0.0:
            return
        self._passed += passed
        new = self.demand.take_in(now, passed)
        matches = float(memory.streams["found"].sum())
        if self._whole is not None:
            self._whole.take_in(now, new, self._store.retention.whole(memory))
            matches = float(memory.pairs["found"].sum())  # drawn or not
        self.demand.compare(matches)
        if self.fits is not None and self._store.meters:
            self.fits.take_in(now, passed, self.demand.rates)
        if self._directions is not None:
            self._directions.take_in(passed / self._longest)
        kept = self.ledger.account.credit / self.ledger.account.most
        error = min(max(kept, 0.0), 1.0) - _KEPT
        gain = _GAIN if self._last.probe.sub_windows is None else _GAIN_AT_ONCE
        self._trim = float(np.clip(self._trim + gain * error * passed / self._longest, *_TRIMS))
        self._reviewed = now
        self.pace.review(
            self.ledger.booked_arrivals,
            now,
            rate=float(self.demand.rates.sum()),
            held=self._held,
            sheds=self._last.sheds_arrivals,
        )

    def look(self) -> bool:
        """Charge what was counted while all rows take all steps; return whether they still may.

        Much cheaper than a review, which it saves: what was observed is taken in at the next one.
        """
        if not self.pace.rests:
            return False
        self.ledger.book(self.ledger.now)
        return self.pace.look(self.ledger.booked_arrivals, self.ledger.now, held=self._held)

    @property
    def _held(self) -> int:
        """Rows in memory."""
        return int(self._store.memory.streams["held"].sum())

    def act_on(self, decision: Decision) -> None:
        """Note what was decided: where rows are shed, all are observed, and it is reviewed soon."""
        self.resume(decision)
        if decision.sheds_arrivals:
            self._inserts_all &= decision.probe.sub_windows is not None
            self.pace.shed()

    def resume(self, decision: Decision) -> None:
        """Go on with what was decided before a restart."""
        self._last = decision
        memory, insert = self._store.memory, decision.insert
        coming = self.demand.seen_rates
        inserted = coming.sum(axis=1) * self.demand.mean(insert.chances)
        memory.account["inserting"] = float(inserted.sum())
        memory.account["coming"] = float(coming.sum())
        memory.ranking[:] = 0.0
        if insert.worth is not None and self.demand.elapsed:
            memory.ranking[:] = _ranking(insert.worth, coming)

    # --- What a decision goes by

    @property
    def wanted_compared(self) -> float | None:
        """Comparisons that the exact join would have made; None if nothing shows it."""
        if self._directions is None or not self._inserts_all:
            return None
        return self._directions.wanted

    def view(self) -> WorkView | None:
        """Return what a decision about work goes by; None as long as too little is known."""
        demand = self.demand
        is_unsure = self._passed < _UNSURE * self._longest and self.ledger.account.credit >= 0.0
        if not demand.elapsed or is_unsure:
            return None
        # What is left over, or missing, is shared out within a life: insertions have their effect
        # within one.
        over = self.ledger.account.credit - _KEPT * self.ledger.account.most
        capacity = self._trim * self.ledger.account.share + over / self._longest
        least, ahead = 0.0, 0.0
        if self._whole is not None:
            capacity += min(self.ledger.account.credit, 0.0) / (_SOON * self._longest)
            least = _LEAST_SHARED * self.ledger.account.share
        elif self._lives.size == 2:
            ahead = demand.found_ahead(self.ledger.account.now or 0.0, self._longest)
        soon = 2.0 * self.pace.interval / max(float(demand.rates.sum()), 1e-300)
        return WorkView(
            capacity=max(capacity, least),
            at_once=max(self.ledger.account.capacity(soon) - self._other_work(), 0.0),
            costs=self.ledger.charges,
            rates=demand.rates,
            lives=self._lives,
            selectivity=demand.selectivity,
            compared=demand.compared_each,
            grades=demand.grades,
            found_ahead=ahead,
            **self._measured(),
            whole=0.0 if self._whole is None else self._whole.rate(demand.rates),
            **self._by_direction(),
        )

    def _measured(self) -> dict[str, Any]:
        """Return what rows can expect by what was found in rows like them, where it is counted."""
        if self.fits is None:
            return {}
        coming, expected = self.demand.grades[:, :, 0], self.demand.grades[:, :, 1]
        there = self.demand.rates[::-1, None] * coming
        predicted = np.divide(expected, there, out=np.zeros(coming.shape), where=there > 0)
        return {
            "prospects": self.fits.fits(coming, predicted) * there,
            "tried": self.fits.is_tried(predicted),
        }

    def _by_direction(self) -> dict[str, Any]:
        """Return what is known of each direction, where it is asked for."""
        known = self._directions
        if known is None:
            return {}
        held = np.maximum(self._store.memory.streams["held"], 1.0)
        now = np.minimum(held / np.maximum(self.demand.rates, 1e-300), self._lives)
        # Rows that are dropped or not inserted leave windows as thin as was decided; other windows
        # are as full as they can be.
        stays = self._limits_memory or (self._inserts_all and known.tells_parts_apart)
        return {
            "orders": self._store.memory.order.copy(),
            "selectivities": known.selectivities,
            "lags": known.lags,
            "found_shares": known.found_shares,
            "comparing": known.compared,
            "skips": self._skips,
            "unevenness": self._unevenness,
            "scanned": known.scanned,
            "checked": known.checked,
            "windows": now if stays else self._lives,
            "windows_now": now,
        }

    @property
    def _unevenness(self) -> float:
        """How many rows are in the parts that are probed, for each if they were spread evenly."""
        memory = self._store.memory
        if not self._limits_memory or memory.rule["sub_windows"][0] == 0:
            return 1.0
        others = ~np.eye(self._lives.size, dtype=np.bool_)
        even = float(memory.probed.sum(axis=2)[others].sum())
        return float(memory.parts_probed[others].sum()) / even if even > 0.0 else 1.0

    def _other_work(self) -> float:
        """Return what all but insertions costs now, in a unit of time, by what was decided last."""
        demand, last = self.demand, self._last
        probing = demand.mean(last.admit.chances) * demand.mean(last.probe.chances)
        each = self.ledger.costs.result + self.ledger.costs.compare * demand.compared_each
        found = float((demand.found * probing).sum())
        return found * each + float(demand.rates.sum()) * self.ledger.costs.arrival

    # --- State

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return self.ledger.save() | {
            "demand": self.demand.save(),
            "pace": self.pace.save(),
            "reviewed": self._reviewed,
            "inserts_all": self._inserts_all,
            "passed": self._passed,
            "trim": self._trim,
            "whole": None if self._whole is None else self._whole.save(),
            "directions": None if self._directions is None else self._directions.save(),
            "fits": None if self.fits is None else self.fits.save(),
        }

    def carry_over(
        self, saved: Mapping[str, Any] | None, *, same_strategy: bool, has_shed: bool
    ) -> None:
        """Go on with another allowance than the saved one; None if work was not limited.

        The account goes on if steps cost what they did. What was observed goes on if it was for the
        same strategy.
        """
        self.ledger.carry_over(saved)
        if saved is not None and same_strategy:
            self.demand.restore(saved["demand"])
            self._passed, self._reviewed = saved["passed"], saved["reviewed"]
            self._inserts_all = saved["inserts_all"]
            if self._whole is not None and saved["whole"] is not None:
                self._whole.restore(saved["whole"])
        else:
            self.demand.begin()
            self._inserts_all = not has_shed
        if self._directions is not None:
            if saved is not None and same_strategy and saved["directions"] is not None:
                self._directions.restore(saved["directions"])
            else:
                self._directions.begin()
        arrivals = float(self.ledger.counted[0])
        self.pace.carry_over(arrivals, self.ledger.now, has_shed=has_shed)
        self.ledger.tell_loop()

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self.ledger.restore(saved)
        self.demand.restore(saved["demand"])
        self.pace.restore(saved["pace"])
        self._reviewed = saved["reviewed"]
        self._passed, self._trim = saved["passed"], saved["trim"]
        self._inserts_all = saved["inserts_all"]
        if self._whole is not None:
            self._whole.restore(saved["whole"])
        if self._directions is not None:
            self._directions.restore(saved["directions"])
        if self.fits is not None:
            self.fits.restore(saved["fits"])


def _ranking(worth: Floats, rates: Floats) -> Floats:
    """Return for each stream and grade the rows that are worth more, and those like it.

    >>> _ranking(np.array([1.0, 2.0]), np.array([[3.0, 1.0], [0.0, 5.0]])).tolist()
    [[[5.0, 8.0], [0.0, 0.0]], [[3.0, 1.0], [1e-300, 5.0]]]
    """
    table = np.broadcast_to(worth if worth.ndim == 2 else worth[:, None], rates.shape)
    order = np.argsort(-table.ravel(), kind="stable")
    before = np.zeros(rates.size)
    before[order[1:]] = np.cumsum(rates.ravel()[order])[:-1]
    return np.stack([before.reshape(rates.shape), np.maximum(rates, 1e-300)])
