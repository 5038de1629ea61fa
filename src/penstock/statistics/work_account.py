"""An account of work: stream time brings an allowance, and what is done is taken from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WorkAccount"]


@dataclass
class WorkAccount:
    """How much work may be done, and how much was.

    What is not used is kept for a while, the `burst`, and no longer: a quiet hour does not pay for
    a burst that then takes an hour.

    Parameters
    ----------
    share
        Work that is allowed in a unit of stream time.
    burst
        Units of stream time whose allowance is kept.

    Attributes
    ----------
    spent
        All work so far.
    allowed
        All that was allowed so far, but for what was not used in time.
    credit
        What is allowed and not used yet; below 0 if more was done than allowed.
    now
        The stream time that it is; None before the first.

    Examples
    --------
    >>> account = WorkAccount(share=0.5, burst=10.0)
    >>> account.book(time=100.0, spent=0.0)
    >>> account.book(time=102.0, spent=0.4)
    >>> account.credit, account.allowed
    (0.6, 1.0)
    >>> account.book(time=200.0, spent=0.0)  # what was not used in time is lost
    >>> account.credit
    5.0
    """

    share: float
    burst: float
    spent: float = 0.0
    allowed: float = 0.0
    credit: float = 0.0
    now: float | None = None

    @property
    def most(self) -> float:
        """What is kept at most."""
        return self.share * self.burst

    def book(self, *, time: float, spent: float) -> None:
        """Note the stream time that it is, and the work that was done since the last time."""
        passed = 0.0 if self.now is None else max(0.0, time - self.now)
        self.now = time if self.now is None else max(self.now, time)
        credit = self.credit + self.share * passed - spent
        kept = min(credit, self.most)
        self.allowed += self.share * passed - (credit - kept)
        self.credit = kept
        self.spent += spent

    def change(self, share: float) -> None:
        """Set what is allowed in a unit of time from now on; of more than is kept, the rest goes.

        >>> account = WorkAccount(share=0.5, burst=10.0, credit=5.0, allowed=20.0)
        >>> account.change(0.25)
        >>> account.credit, account.allowed
        (2.5, 17.5)
        """
        self.share = share
        kept = min(self.credit, self.most)
        self.allowed -= self.credit - kept
        self.credit = kept

    def capacity(self, horizon: float) -> float:
        """Return the work per unit of time that evens the account out within a time."""
        return max(0.0, self.share + self.credit / horizon)

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        names = ("spent", "allowed", "credit", "now")
        return {name: getattr(self, name) for name in names}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        for name, value in saved.items():
            setattr(self, name, value)
