"""The ledger of a shard's work: what was counted, what steps cost, and what that takes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.costs import Costs
from penstock.statistics.measured_costs import MeasuredCosts
from penstock.statistics.work_account import WorkAccount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.arrays import Floats
    from penstock.engine.plan import WorkLimit
    from penstock.engine.store import Store


class Ledger:
    """Charges what the loop counts to an account, of which the loop has a copy.

    Parameters
    ----------
    limit
        The share of the processor.
    store
        Memory, in which the loop counts.
    charged
        Returns what steps are charged, by what they cost (`Strategy.charged`).

    Attributes
    ----------
    account
        What is allowed, and what was spent.
    costs
        Of the steps, in units of time.
    measured
        What they are learned from; None if they are given.
    unit
        Units of time in a second, or 1 where times are numbers.
    """

    def __init__(self, limit: WorkLimit, store: Store, charged: Callable[[Costs], Costs]) -> None:
        self._store = store
        self._charged = charged
        self.measured = MeasuredCosts() if limit.costs is None else None
        self.unit = limit.unit
        self.costs = limit.costs or Costs.usual().times(self.unit)
        self.account = WorkAccount(limit.share, limit.burst)
        self._counted_before = np.zeros(4)  # what was counted before the batch
        self._booked = np.zeros(4)  # what is charged so far

    # --- What is known

    @property
    def now(self) -> float:
        """The stream time that it is."""
        return float(self._store.memory.streams["clock"].max())

    @property
    def counted(self) -> Floats:
        """All arrivals, insertions, comparisons and results so far."""
        rule, streams = self._store.memory.rule[0], self._store.memory.streams
        counts = [rule["arrivals"], streams["inserted"].sum(), rule["compared"], rule["produced"]]
        return np.array(counts, np.float64)

    @property
    def booked_arrivals(self) -> float:
        """Arrivals that are charged so far."""
        return float(self._booked[0])

    @property
    def charges(self) -> Costs:
        """What steps are charged, in units of time."""
        return self._charged(self.costs)

    @property
    def not_booked(self) -> float:
        """Work that is not charged yet."""
        return self.charges.of_counted(self.counted - self._booked)

    @property
    def account_now(self) -> WorkAccount:
        """The account after the last row: while nothing is shed, reviews are far apart."""
        account = replace(self.account)
        account.book(time=self.now, spent=self.not_booked)
        return account

    # --- Bookings

    def book(self, now: float) -> None:
        """Charge what was counted since the last time to the account."""
        self.account.book(time=now, spent=self.not_booked)
        self._booked = self.counted
        self.tell_loop()

    def tell_loop(self) -> None:
        """Set the account that the loop keeps between reviews."""
        record = self._store.memory.account
        record["now"] = self._store.memory.streams["clock"].max()
        record["credit"], record["share"] = self.account.credit, self.account.share
        record["most"] = self.account.most
        charges = self.charges
        record["arrival"], record["insert"] = charges.arrival, charges.insert
        record["compare"], record["result"] = charges.compare, charges.result

    def go_on_with(self, share: float) -> None:
        """Set the share of the processor as it was before a restart."""
        self.account.share = share
        record = self._store.memory.account
        record["share"], record["most"] = share, self.account.most

    def allot(self, share: float) -> None:
        """Set another share of the processor; what was done so far is charged to the old one."""
        if self.account.now is not None:
            self.book(self.now)
        self.account.change(share)
        if self.account.now is not None:
            self.tell_loop()

    def measure(self, seconds: float, handed_over: tuple[int, float] | None = None) -> None:
        """Take in how long a batch has taken; 0 if that says nothing of its steps.

        `handed_over` are results that were handed over meanwhile, and the seconds for that; None
        if results stay in the process, so that `seconds` has all that they cost.
        """
        if self.measured is None:
            return
        self.measured.add(self.counted - self._counted_before, seconds)
        if handed_over is None:
            self.measured.hand_over_nothing()
        else:
            self.measured.hand_over(*handed_over)

    def begin_batch(self) -> None:
        """Let what was measured take effect: what was done so far is charged by the old costs."""
        self._counted_before = self.counted
        if self.measured is None:
            return
        if self.account.now is not None:
            self.book(self.account.now)
        self.costs = self.measured.costs.times(self.unit)
        if self.account.now is not None:
            self.tell_loop()

    # --- State

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        record = self._store.memory.account[0]
        return {
            "account": self.account.save(),
            "loop": [record["credit"].item(), record["now"].item()],
            "booked": self._booked.tolist(),
            "costs": asdict(self.costs),
            "measured": None if self.measured is None else self.measured.save(),
        }

    def carry_over(self, saved: Mapping[str, Any] | None) -> None:
        """Go on with another allowance, if steps cost what they did; None if there was none."""
        costs = None if saved is None else Costs(**saved["costs"])
        if saved is not None and self.measured is not None and saved["measured"] is not None:
            self.measured.restore(saved["measured"])
            self.costs = costs = Costs(**saved["costs"])
        if saved is not None and costs == self.costs:
            self.account.restore(saved["account"])
            self.account.credit = min(self.account.credit, self.account.most)
            self._booked = np.array(saved["booked"])
        else:
            self._booked = self.counted

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self.account.restore(saved["account"])
        self._booked = np.array(saved["booked"])
        self.costs = Costs(**saved["costs"])
        if self.measured is not None:
            self.measured.restore(saved["measured"])
        self.tell_loop()
        record = self._store.memory.account
        record["credit"], record["now"] = saved["loop"]
