"""Work: what was done, what is allowed, and what will be needed next.

Everything follows from counted steps and stream time, at the points where decisions are reviewed.
So any cut into batches, and a restart, lead to the same decisions.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.costs import Costs
from penstock.engine.kernels.layout import NOT_ADMITTED, NOT_PROBED
from penstock.engine.lives import lengths_of
from penstock.engine.whole_output import WholeOutput
from penstock.statistics.measured_costs import MeasuredCosts
from penstock.statistics.work_account import WorkAccount
from penstock.strategies import GRADES, Decision, Insert, Probe, combine
from penstock.strategies.view import WorkView
from penstock.strategies.work import least_chance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store

# Reviews in the shortest life, and the arrivals between two of them.
_REVIEWS = 64
_FEWEST, _MOST = 32, 8192
# Where nothing is shed, as many as can be paid for even if each costs so many times as much, and
# no more than these. Of the rows between them one of so many is observed.
_DEARER, _MOST_IDLE, _OBSERVED = 5.0, 1 << 16, 32
# The most work with which that is so, as a share of what is allowed.
_LITTLE = 0.5
# What was counted fades by this factor from review to review, unless rates have jumped.
_FADES = 1.0 - 1.0 / 32
# How fast, in lives, the allowance that is shared out is corrected, and how far.
_GAIN = 0.1
_TRIMS = 0.5, 3.0
# By which what is left over is shared out sooner than what is missing is saved: it would lapse.
_SOONER = 4.0
# Of what may be kept, the part that is aimed at.
_KEPT = 0.25
# How fast, in lives, a sample makes up for what it has overdrawn, and the least part of the
# allowance that it has meanwhile: rows that have left it do not come back.
_SOON = 0.1
_LEAST_SHARED = 0.25
# Of the steps that were decided on, so that what is lost can be estimated.
_LEAST = 0.02
# In the first part of the longest life too little is known to shed anything by, unless more was
# done than is allowed.
_UNSURE = 0.25
# Standard deviations of a Poisson count by which a rate has jumped.
_JUMP = 5.0


_SAVED = (
    "_booked",
    "_new",
    "_seen",
    "_probes",
    "_found",
    "_probing",
    "_compared",
    "_compared_before",
    "_left",
)


class Work:
    """The account of one shard, and the rates that its decisions go by.

    Parameters
    ----------
    plan
        The join; its budget has a share of the processor.
    store
        Its memory, in which the loop counts.
    charged
        Returns what steps are charged, by what they cost (`Strategy.charged`).

    Attributes
    ----------
    account
        What is allowed, and what was spent.
    interval
        Arrivals until the next review.
    every
        One of so many rows is observed until then.
    costs
        Of the steps, in units of time.
    measured
        What they are learned from; None if they are given.
    unit
        Units of time in a second, or 1 where times are numbers.
    """

    def __init__(
        self, plan: Plan, store: Store, charged: Callable[[Costs], Costs] = lambda costs: costs
    ) -> None:
        assert plan.work is not None  # noqa: S101  # the caller has asked for it
        count, budget = len(plan.sides), plan.spec.budget
        self._plan = plan
        self._store = store
        self._charged = charged
        self.measured = MeasuredCosts() if plan.work.costs is None else None
        self.unit = plan.work.unit
        self.costs = plan.work.costs or Costs.usual().times(self.unit)
        self.account = WorkAccount(plan.work.share, plan.work.burst)
        self.interval = self._usual = _FEWEST
        self._reviewed = 0.0, 0.0  # arrivals and work at the last review
        self.every = 1
        # Where rows leave memory, and as soon as some are shed, every row counts for the estimates.
        self._observes_all = plan.is_sample or bool(budget and budget.limits_memory)
        self._left = np.ones(2)  # of the insertions and probes that were decided on
        self._lives = np.array([float(life) for life in lengths_of(plan)])
        self._longest = float(self._lives.max()) or 1.0
        self._new = np.zeros((count, GRADES, 2))  # arrivals, and the shares that fit them
        self._seen = np.zeros((count, GRADES, 2))  # the same, faded,
        self._elapsed = 0.0  # in this time
        self._taken = 0  # how often that was added to
        self._passed = 0.0  # time from the first review on
        self._probes = np.zeros(count)  # rows that have probed since the last review
        self._counted_before = np.zeros(4)  # what was counted before the batch
        self._booked = np.zeros(4)  # what is charged so far
        self._found = np.zeros(count)  # all that they have found so far
        self._probing = np.zeros((count, 3))  # rows that have probed, found, and faced; faded
        self._compared = np.zeros(2)  # rows that were compared, and results; faded
        self._compared_before = np.zeros(2)  # all of these so far
        self._least = 1.0  # chance of a row to be inserted
        self._last = Decision()  # what was decided last
        self._trim = 1.0  # by which the model has proved wrong
        self._whole = WholeOutput(self._lives) if plan.is_sample else None

    def note(self, arrivals: Array, grades: Integers | None, fitting: Floats | None) -> None:
        """Note rows that were observed: how many, of which grades, with which prospects.

        Each stands for `every` rows. `fitting` are the shares of the other stream's rows that fit
        them; of two streams.
        """
        own = arrivals["blank"] == 0
        streams = arrivals["stream"][own].astype(np.int64)
        graded = np.zeros(streams.size, np.int64) if grades is None else grades[own]
        cells = streams * GRADES + graded
        shape = self._new.shape[:2]
        size = shape[0] * GRADES
        self._new[:, :, 0] += self.every * np.bincount(cells, minlength=size).reshape(shape)
        if fitting is not None:
            expected = np.nan_to_num(fitting[own])
            self._new[:, :, 1] += self.every * np.bincount(cells, expected, size).reshape(shape)
        has_probed = arrivals["actions"][own] & (NOT_ADMITTED | NOT_PROBED) == 0
        self._probes += self.every * np.bincount(streams[has_probed], minlength=shape[0])

    def review(self) -> None:
        """Take in what was counted since the last review."""
        memory = self._store.memory
        now = float(memory.streams["clock"].max())
        before = self.account.now
        if memory.rule["arrivals"][0] == 0:
            return
        self._book(now)
        passed = 0.0 if before is None else now - before
        if passed <= 0.0:
            return
        self._passed += passed
        self._take_in(now, passed)
        kept = self.account.credit / (self.account.share * self.account.burst)
        error = min(max(kept, 0.0), 1.0) - _KEPT
        self._trim = float(np.clip(self._trim + _GAIN * error * passed / self._longest, *_TRIMS))
        lasts = self._lives[self._lives > 0].min(initial=np.inf)
        arrivals = self.rates.sum() * lasts / _REVIEWS
        if np.isfinite(arrivals):
            self._usual = int(min(_MOST, max(_FEWEST, 2 ** int(np.log2(max(arrivals, 1.0))))))
            self.interval = self._usual
        before_arrivals, before_spent = self._reviewed
        self._reviewed = float(self._booked[0]), self.account.spent
        self._rest(self._reviewed[0] - before_arrivals, self._reviewed[1] - before_spent, passed)

    def _rest(self, arrivals: float, spent: float, passed: float) -> None:
        """Review and observe less while far more work is allowed than is done."""
        share = self.account.share
        self.every = 1
        is_sample = self._whole is not None  # which does little because it was decided so
        if is_sample or self._last.sheds_arrivals or spent > _LITTLE * share * passed:
            return
        paid_for = self.account.credit * arrivals / (_DEARER * spent) if spent else np.inf
        if paid_for > self.interval:
            self.every = 1 if self._observes_all else _OBSERVED
            self.interval = int(min(_MOST_IDLE, paid_for))

    def _book(self, now: float) -> None:
        """Charge what was counted since the last time to the account."""
        self.account.book(time=now, spent=self.not_booked)
        self._booked = self.counted

    @property
    def counted(self) -> Floats:
        """All arrivals, insertions, comparisons and results so far."""
        rule, streams = self._store.memory.rule[0], self._store.memory.streams
        counts = [rule["arrivals"], streams["inserted"].sum(), rule["compared"], rule["produced"]]
        return np.array(counts, np.float64)

    @property
    def charges(self) -> Costs:
        """What steps are charged, in units of time."""
        return self._charged(self.costs)

    @property
    def not_booked(self) -> float:
        """Work that is not charged yet."""
        return self.charges.of_counted(self.counted - self._booked)

    def measure(self, seconds: float, handed_over: tuple[int, float] = (0, 0.0)) -> None:
        """Take in how long a batch has taken; 0 if that says nothing of its steps.

        `handed_over` are results that were handed over meanwhile, and the seconds for that.
        """
        if self.measured is not None:
            self.measured.add(self.counted - self._counted_before, seconds)
            self.measured.hand_over(*handed_over)

    def begin_batch(self) -> None:
        """Let what was measured take effect: what was done so far is charged by the old costs."""
        self._counted_before = self.counted
        if self.measured is None:
            return
        if self.account.now is not None:
            self._book(self.account.now)
        self.costs = self.measured.costs.times(self.unit)

    def _take_in(self, now: float, passed: float) -> None:
        """Add what is new to what was seen; forget that if it is of another time."""
        memory = self._store.memory
        new = self._new[:, :, 0].sum(axis=1)
        expected = self.rates * passed
        jumped = np.abs(new - expected) > _JUMP * np.sqrt(np.maximum(expected, 1.0)) + 1.0
        # At first all is forgotten sooner: little was known of the keys of the first rows.
        self._taken += 1
        fades = min(_FADES, self._taken / (self._taken + 2.0))
        keep = 0.0 if self._elapsed and np.any(jumped) else fades
        self._seen = self._seen * keep + self._new
        self._elapsed = self._elapsed * keep + passed
        self._new[:] = 0.0
        matches = found = memory.streams["found"].astype(np.float64)
        if self._whole is not None:
            self._whole.take_in(now, new, self._store.retention.whole(memory))
            matches = memory.pairs["found"]  # drawn or not
        # What rows find follows from the windows, which no jump of the rates changes at once.
        self._probing *= _FADES
        self._probing[:, 0] += self._probes
        self._probing[:, 1] += found - self._found
        held = memory.streams["held"].astype(np.float64)
        waiting = [np.delete(held, s).prod() for s in range(held.size)]
        self._probing[:, 2] += self._probes * np.array(waiting)
        compared = np.array([memory.rule["compared"][0], matches.sum()], np.float64)
        self._compared = self._compared * _FADES + compared - self._compared_before
        self._compared_before = compared
        self._probes[:] = 0.0
        self._found = found

    @property
    def rates(self) -> Floats:
        """Rows of each stream per unit of time, as of late."""
        if not self._elapsed:
            return np.zeros(len(self._seen))
        rates: Floats = self._seen[:, :, 0].sum(axis=1) / self._elapsed
        return rates

    def view(self) -> WorkView | None:
        """Return what a decision about work goes by; None as long as too little is known."""
        is_unsure = self._passed < _UNSURE * self._longest and self.account.credit >= 0.0
        if not self._elapsed or is_unsure:
            return None
        # A part of what may be kept is, for what nobody foresees. Insertions have their effect
        # within a life, so the account is evened out in one.
        kept = _KEPT * self.account.share * self.account.burst
        over = self.account.credit - kept
        sooner = _SOONER if over > 0.0 and self._whole is None else 1.0
        slow = self._trim * self.account.share + sooner * over / self._longest
        least = 0.0
        if self._whole is not None:
            slow += min(self.account.credit, 0.0) / (_SOON * self._longest)
            least = _LEAST_SHARED * self.account.share
        found, faced = float(self._probing[:, 1].sum()), float(self._probing[:, 2].sum())
        view = WorkView(
            capacity=max(slow, least),
            at_once=max(self._fast() - self._other_work(self._last), 0.0),
            costs=self.charges,
            rates=self.rates,
            lives=self._lives,
            selectivity=found / faced if faced else 0.0,
            compared=self._compared_each,
            grades=self._grades,
            whole=0.0 if self._whole is None else self._whole.rate(self.rates),
        )
        self._least = least_chance(view)
        return view

    @property
    def _grades(self) -> Floats:
        """Rows per unit of time, and the matches that they expect, by the rates of now."""
        grades: Floats = self._seen / self._elapsed
        if len(grades) == 2:
            grades[:, :, 1] *= self.rates[::-1, None]
        return grades

    @property
    def _compared_each(self) -> float:
        """Rows that are compared for each result, as of late."""
        compared, results = self._compared.tolist()
        return float(compared / results) if results > 0 else 1.0

    def throttle(self, decision: Decision) -> Decision:
        """Return a decision with so few steps that the account holds until the next review."""
        self._left = np.ones(2)
        if not self._elapsed or decision.emit.only_drawn:  # a sample has its fraction instead
            return decision
        chances = self._mean(decision.admit.chances) * self._mean(decision.insert.chances)
        inserting = float((self.rates * chances).sum()) * self.costs.insert
        probing = self._probing_work(decision)
        short = inserting + self._other_work(decision) - self._fast()
        # What is found costs least for what it gives: insertions go first.
        for at, cost in enumerate((inserting, probing)):
            if short > 0.0 and cost > 0.0:
                self._left[at] = max(_LEAST, 1.0 - short / cost)
                short -= float(1.0 - self._left[at]) * cost
        fewer = self.throttle_again(decision)
        if fewer.sheds_arrivals:  # all rows have to be observed, and decided on again soon
            self._observes_all = True
            self.every, self.interval = 1, min(self.interval, self._usual)
        return fewer

    def throttle_again(self, decision: Decision) -> Decision:
        """Return a decision with as few steps as at the last review."""
        self._last = decision
        insert, probe = self._left.tolist()
        if insert == probe == 1.0:
            return decision
        fewer = combine(decision, Decision(insert=Insert(insert), probe=Probe(probe)))
        # So many as are needed to estimate what is lost.
        least = np.minimum(np.asarray(decision.insert.chances), self._least)
        return replace(fewer, insert=Insert(np.maximum(np.asarray(fewer.insert.chances), least)))

    def _fast(self) -> float:
        """Return the work per unit of time for which the account holds until the next review."""
        return self.account.capacity(2.0 * self.interval / max(float(self.rates.sum()), 1e-300))

    def _probing_work(self, decision: Decision) -> float:
        """Return what looking for results costs in a unit of time, by what was found of late."""
        found = self._probing[:, 1] / np.maximum(self._probing[:, 0], 1.0)
        chances = self._mean(decision.admit.chances) * self._mean(decision.probe.chances)
        each = self.costs.result + self.costs.compare * self._compared_each
        return float((self.rates * chances * found).sum()) * each

    def _other_work(self, decision: Decision) -> float:
        """Return what all but insertions costs in a unit of time."""
        return self._probing_work(decision) + float(self.rates.sum()) * self.costs.arrival

    def _mean(self, chances: float | Floats) -> Floats:
        """Return the chance of each stream's rows, over their grades."""
        table = np.asarray(chances, np.float64)
        if table.ndim < 2:
            return np.broadcast_to(table, len(self._seen))
        seen = self._seen[:, :, 0]
        means: Floats = (table * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1e-300)
        return means

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {
            "account": self.account.save(),
            "interval": self.interval,
            "usual": self._usual,
            "reviewed": list(self._reviewed),
            "every": self.every,
            "observes_all": self._observes_all,
            "elapsed": self._elapsed,
            "taken": self._taken,
            "passed": self._passed,
            "trim": self._trim,
            "least": self._least,
            "costs": asdict(self.costs),
            "measured": None if self.measured is None else self.measured.save(),
            "whole": None if self._whole is None else self._whole.save(),
            **{name: getattr(self, name).tolist() for name in _SAVED},
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self.account.restore(saved["account"])
        self.interval, self.every = saved["interval"], saved["every"]
        self._usual, self._observes_all = saved["usual"], saved["observes_all"]
        self._reviewed = tuple(saved["reviewed"])
        self._elapsed, self._taken, self._passed, self._trim, self._least = (
            saved[name] for name in ("elapsed", "taken", "passed", "trim", "least")
        )
        self.costs = Costs(**saved["costs"])
        if self.measured is not None:
            self.measured.restore(saved["measured"])
        if self._whole is not None:
            self._whole.restore(saved["whole"])
        for name in _SAVED:
            setattr(self, name, np.array(saved[name]))
