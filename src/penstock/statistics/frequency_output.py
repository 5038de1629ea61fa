"""The output of PROB for an amount of memory, from the frequencies of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["frequency_output"]

Floats = npt.NDArray[np.float64]


def frequency_output(
    rows: float | npt.ArrayLike,
    *,
    own: npt.ArrayLike,
    partner: npt.ArrayLike,
    rate: float,
    partner_rate: float,
    window: float,
) -> Floats:
    """Compute the results per unit of time that PROB finds with `rows` rows of memory.

    All rows of the values that are most frequent in the other stream are kept for their whole
    lives, until memory is full.

    Parameters
    ----------
    rows
        M, rows that may be held; numbers of any shape.
    own, partner
        Frequency f of each value in the stream whose window this is, and in the other one, in the
        same order.
    rate, partner_rate
        r of the stream and of the other one, rows per unit of time.
    window
        W, units of time.

    Examples
    --------
    >>> frequency_output(
    ...     [0, 5, 10], own=[0.5, 0.5], partner=[0.9, 0.1], rate=1, partner_rate=2, window=10
    ... ).round(6).tolist()
    [0.0, 9.0, 10.0]

    References
    ----------
    `srivastava04` 3.3. Departs from it in that a part of the rows of the boundary value is kept,
    as PROB does; the formula leaves that out.
    """
    memory = np.asarray(rows, np.float64)
    mine, other = np.asarray(own, np.float64), np.asarray(partner, np.float64)
    order = np.argsort(-other, kind="stable")
    needed = np.concatenate([[0.0], np.cumsum(rate * window * mine[order])])
    made = np.concatenate([[0.0], np.cumsum(mine[order] * other[order])])
    made *= rate * partner_rate * window
    # Values that never arrive need no memory: keep one point for each amount of memory.
    keep = np.concatenate([np.diff(needed) > 0, [True]])
    if not rate * window:
        return np.zeros(memory.shape)
    made_of: Floats = np.interp(memory, needed[keep], made[keep])
    return made_of
