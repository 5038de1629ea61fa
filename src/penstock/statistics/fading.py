"""Sums that count less with time, and never fade away: a number near 0 cannot be divided by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FAINT", "fade_together", "faded"]

Floats = npt.NDArray[np.float64]

# What has faded to this counts for nothing beside anything new, and products of it are not 0.
FAINT = 1e-60


def faded(sums: Floats, factor: float) -> Floats:
    """Return sums multiplied by a factor, none of them below `FAINT` for that.

    >>> faded(np.array([8.0, 1e-60, 0.0]), 0.5).tolist()
    [4.0, 1e-60, 0.0]
    """
    return np.maximum(sums * factor, np.minimum(sums, FAINT))


def fade_together(parts: Floats, whole: Floats, factor: float) -> None:
    """Multiply sums whose ratio matters by a factor; the greatest of the whole stays at `FAINT`.

    After a long silence, what was known before it is still known. If only the parts fade, because
    nothing is added to them, they stay at the square of `FAINT`.

    >>> parts, whole = np.array([2.0, 4.0]), np.array([8.0, 8.0])
    >>> for _ in range(3_000):
    ...     fade_together(parts, whole, 0.5)
    >>> (parts / whole).tolist(), bool(whole.min() >= FAINT)
    ([0.25, 0.5], True)
    >>> fade_together(parts, whole, 0.0)
    >>> (parts / whole).tolist()
    [0.25, 0.5]
    """
    factor = _limited(factor, whole, FAINT)
    whole *= factor
    parts *= _limited(factor, parts, FAINT**2)


def _limited(factor: float, sums: Floats, least: float) -> float:
    """Return a factor that does not make the greatest of the sums less than the least."""
    most = float(sums.max(initial=0.0))
    return max(factor, min(least / most, 1.0)) if most > 0 else factor
