"""A window cut into sub-windows by time, and what is stored of each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.errors import SpecificationError, must

__all__ = ["SubWindows"]


@dataclass(frozen=True)
class SubWindows:
    """A window of n sub-windows, stored in n + 1 blocks that expire as wholes.

    The first block fills up, the last one holds some expired rows. So a sub-window, which is a
    range of ages, lies in two blocks: the older part of one and the newer part of the next.

    Parameters
    ----------
    window
        w, in units of time; above 0.
    length
        b, length of a sub-window; above 0.

    Examples
    --------
    >>> windows = SubWindows(window=10.0, length=2.0)
    >>> windows.count, windows.blocks
    (5, 6)
    >>> windows.ages(3)
    (4.0, 6.0)
    >>> windows.parts(3, elapsed=0.5)  # a quarter of block 3 and three quarters of block 4
    ((3, 0.25), (4, 0.75))

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 4.1.1: basic windows and logical basic windows.
    """

    window: float
    length: float

    def __post_init__(self) -> None:
        """Check that both are lengths."""
        for name in ("window", "length"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise SpecificationError(
                    must(name, "a finite number above 0", value, "give units of time")
                )

    @property
    def count(self) -> int:
        """Sub-windows of the window: n = ceil(w / b)."""
        return math.ceil(self.window / self.length - 1e-9)  # 0.3 / 0.1 is a little above 3

    @property
    def blocks(self) -> int:
        """Blocks in which they are stored."""
        return self.count + 1

    def ages(self, number: int) -> tuple[float, float]:
        """Return the least and the greatest age of rows in a sub-window; the newest is 1."""
        return self.length * (number - 1), min(self.window, self.length * number)

    def parts(self, number: int, *, elapsed: float) -> tuple[tuple[int, float], tuple[int, float]]:
        """Return the two blocks that a sub-window lies in, and which part of each it is.

        Parameters
        ----------
        number
            The sub-window; the newest is 1. Blocks are numbered alike.
        elapsed
            delta, time since a block last expired; from 0 to `length`.
        """
        older = elapsed / self.length
        return (number, older), (number + 1, 1.0 - older)
