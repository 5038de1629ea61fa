"""A clock that moves only by `advance`."""

from __future__ import annotations

import math

from penstock.errors import SpecificationError, must

__all__ = ["FakeClock"]


class FakeClock:
    """A clock for tests, for any parameter ``clock: Callable[[], float]``.

    A call returns the time in seconds and does not move the clock. Only `advance` does, and only
    forwards, as with a monotonic clock.

    Parameters
    ----------
    start
        The first reading, in seconds.

    Examples
    --------
    >>> clock = FakeClock()
    >>> clock.advance(1.5)
    >>> clock(), clock()
    (1.5, 1.5)
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = float(start)

    def __call__(self) -> float:
        """Return the current time, in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward.

        Parameters
        ----------
        seconds
            By how much; finite and not negative.
        """
        if not (math.isfinite(seconds) and seconds >= 0):
            hint = "make a new FakeClock to begin at an earlier time"
            raise SpecificationError(must("seconds", "finite and not negative", seconds, hint))
        self._now += seconds

    def __repr__(self) -> str:
        return f"FakeClock({self._now!r})"
