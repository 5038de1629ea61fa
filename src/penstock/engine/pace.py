"""When work is reviewed, when its account is only looked at, and how many rows are observed.

A review costs as much as a thousand rows. While far less work is done than is allowed, a look at
the account is enough, which costs as much as some dozens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Floats
    from penstock.statistics.work_account import WorkAccount

# Reviews in the shortest life, and the arrivals between two of them.
_REVIEWS = 16
_FEWEST, _MOST = 32, 8192
# The first review is after so many, and each next one after twice as many, until it is usual.
_FIRST = 8
# Where nothing is shed, the account is looked at after as many as can be paid for even if each
# costs so many times as much, and no more than are in memory: then a row meets at most twice as
# many as now.
_DEARER = 5.0
# And reviews are so many arrivals apart.
_MOST_IDLE = 1 << 17
# One of so many rows is observed meanwhile, so that there are no more than so many between two
# looks. Primes: where streams take turns, each is observed.
_OBSERVED = 31, 61, 127, 251, 509
_MANY_OBSERVED = 256
# The most work with which that is so, as a share of what is allowed.
_LITTLE = 0.5


class Pace:
    """How often a shard's work is considered.

    Parameters
    ----------
    account
        What is allowed, and what was spent.
    lives
        How long rows of each stream wait, in units of time.
    may_rest
        Whether little work means that nothing has to be decided. A sample does little because it
        was decided so.
    observes_all
        Whether every row counts for estimates.

    Attributes
    ----------
    interval
        Arrivals until the next review, or until the account is looked at.
    every
        One of so many rows is observed until then.
    """

    def __init__(
        self, account: WorkAccount, lives: Floats, *, may_rest: bool, observes_all: bool
    ) -> None:
        self._account = account
        self._shortest = float(lives[lives > 0].min(initial=np.inf))
        self._may_rest = may_rest
        self._observes_all = observes_all
        self.interval = self._usual = _FIRST
        self.every = 1
        self._reviewed = 0.0  # arrivals at the last review
        # Arrivals, work and time when the account was looked at last and all was well, or reviewed.
        self._looked = 0.0, 0.0, 0.0

    @property
    def rests(self) -> bool:
        """Whether so much more work is allowed than is done that nothing has to be decided."""
        return self.every > 1

    def begin(self, now: float) -> None:
        """Note the time of the first review."""
        self._looked = 0.0, 0.0, now

    def review(self, arrivals: float, now: float, *, rate: float, held: int, sheds: bool) -> None:
        """Set when the next review is, after one at so many arrivals and a time.

        `rate` is of arrivals, of all streams; `held` are rows in memory; `sheds` is whether some
        arrivals leave out steps.
        """
        usual = _FEWEST
        if np.isfinite(self._shortest):
            between = rate * self._shortest / _REVIEWS
            usual = int(min(_MOST, max(_FEWEST, 2 ** int(np.log2(max(between, 1.0))))))
        self._usual = self.interval = min(usual, 2 * self._usual)
        self._reviewed = arrivals
        self.every = 1
        paid_for = self._paid_for(arrivals, now)
        if self._may_rest and not sheds and paid_for > self.interval:
            self.interval = self._until_next_look(paid_for, held)
            if not self._observes_all:
                wanted = self.interval // _MANY_OBSERVED
                self.every = next((each for each in _OBSERVED if each >= wanted), _OBSERVED[-1])
        self._looked = arrivals, self._account.spent, now

    def look(self, arrivals: float, now: float, *, held: int) -> bool:
        """Return whether all rows may go on to take all steps; otherwise a review is due."""
        paid_for = self._paid_for(arrivals, now)
        if arrivals - self._reviewed >= _MOST_IDLE or paid_for <= self._usual:
            return False
        self.interval = self._until_next_look(paid_for, held)
        self._looked = arrivals, self._account.spent, now
        return True

    def shed(self) -> None:
        """Observe all rows from now on, and review soon: some are shed."""
        self._observes_all = True
        self.every, self.interval = 1, min(self.interval, self._usual)

    def _paid_for(self, arrivals: float, now: float) -> float:
        """Return for how many arrivals the account pays, each much dearer than recent ones.

        0 if these have cost much of what was allowed meanwhile.
        """
        before, spent, time = self._looked
        spent = self._account.spent - spent
        if spent > _LITTLE * self._account.share * (now - time):
            return 0.0
        return self._account.credit * (arrivals - before) / (_DEARER * spent) if spent else np.inf

    def _until_next_look(self, paid_for: float, held: int) -> int:
        return int(min(_MOST_IDLE, paid_for, max(held, self._usual)))

    def carry_over(self, arrivals: float, now: float, *, has_shed: bool) -> None:
        """Begin again after so many arrivals, at a time: what is allowed has changed."""
        self._observes_all |= has_shed
        self._reviewed = arrivals
        self._looked = arrivals, self._account.spent, now

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {
            "interval": self.interval,
            "usual": self._usual,
            "every": self.every,
            "observes_all": self._observes_all,
            "reviewed": self._reviewed,
            "looked": list(self._looked),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self.interval, self._usual = saved["interval"], saved["usual"]
        self.every, self._observes_all = saved["every"], saved["observes_all"]
        self._reviewed = saved["reviewed"]
        before, spent, time = saved["looked"]
        self._looked = before, spent, time
