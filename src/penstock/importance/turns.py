"""When which definition of a schedule holds: at a time, and since when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    Times: TypeAlias = npt.NDArray[Any]

__all__ = ["Turns"]

# Before all times of a join.
_NEVER = -(2**62)


@dataclass(frozen=True, eq=False)
class Turns:
    """The times from which definitions hold, in units of a join's time.

    Parameters
    ----------
    moments
        From which the second and each later definition hold; of a schedule that repeats, from which
        each holds, from the beginning of a period.
    every
        Length of a period; None if the schedule does not repeat.

    Examples
    --------
    >>> day = Turns(np.array([8, 18]), every=24)
    >>> day.index(np.array([7, 8, 17, 18, 32])).tolist()
    [1, 0, 0, 1, 0]
    >>> day.last(np.array([7, 8, 17, 18, 32])).tolist()
    [-6, 8, 8, 18, 32]
    """

    moments: Times
    every: int | float | None = None

    def __bool__(self) -> bool:
        """Return whether definitions change at all."""
        return self.every is not None or bool(self.moments.size)

    def index(self, times: Times) -> npt.NDArray[np.int64]:
        """Return which definition holds at each time."""
        if self.every is None:
            return np.searchsorted(self.moments, times, side="right").astype(np.int64)
        _, place = self._in_period(times)
        return np.where(place < 0, self.moments.size - 1, place)

    def last(self, times: Times) -> Times:
        """Return since when it holds; `_NEVER` if it is the first of all."""
        if self.every is None:
            place = np.searchsorted(self.moments, times, side="right") - 1
            if not self.moments.size:
                return np.full(len(times), _NEVER, self.moments.dtype)
            return np.where(place < 0, self.moments.dtype.type(_NEVER), self.moments[place])
        begin, place = self._in_period(times)
        since: Times = begin + self.moments[place] - np.where(place < 0, self.every, 0)
        return since

    def _in_period(self, times: Times) -> tuple[Times, npt.NDArray[np.int64]]:
        """Return when each time's period began, and the last moment in it, -1 if none has come."""
        assert self.every is not None  # noqa: S101  # asked by the callers
        begin = np.floor_divide(times, self.every) * self.every
        place = np.searchsorted(self.moments, times - begin, side="right") - 1
        return begin, place.astype(np.int64)
