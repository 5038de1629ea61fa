"""How memory is divided between the streams: so that all windows together give most results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["divide"]

Floats = npt.NDArray[np.float64]

# Memory is dealt out in so many pieces.
_PIECES = 200


def divide(rows: float, outputs: Sequence[Callable[[Floats], Floats]]) -> tuple[float, ...]:
    """Divide memory so that the sum of what the streams' windows give is greatest.

    Parameters
    ----------
    rows
        M, rows to divide.
    outputs
        For each stream, the results per unit of time that its window gives for so many rows.

    Returns
    -------
    tuple of float
        M_i of each stream; they add up to M. Of equally good divisions the one nearest to equal
        parts.

    Examples
    --------
    >>> divide(100, [lambda rows: np.minimum(rows, 30), lambda rows: rows / 2])
    (30.0, 70.0)
    >>> divide(100, [lambda rows: rows, lambda rows: rows])
    (50.0, 50.0)

    References
    ----------
    `srivastava04` 3.2.2 and 3.3: M1 + M2 = M that maximise the recall of the whole join.
    """
    grid = rows * np.arange(_PIECES + 1) / _PIECES
    equal = _PIECES / len(outputs)
    # Off the equal part costs next to nothing, but something: it decides between equals.
    away = (np.abs(np.arange(_PIECES + 1) - equal) / _PIECES) ** 2
    gains = [np.asarray(output(grid), np.float64) for output in outputs]
    scale = max(float(sum(gain[-1] for gain in gains)), np.finfo(float).tiny)
    gains = [gain - 1e-6 * scale * away for gain in gains]
    best = gains[0]
    choices = []
    for gain in gains[1:-1]:
        # total[k, j]: j pieces to this stream, k - j to those before it.
        k, j = np.indices((_PIECES + 1, _PIECES + 1))
        total = np.where(j <= k, best[k - j] + gain[j], -np.inf)
        choices.append(total.argmax(axis=1))
        best = total.max(axis=1)
    # The last stream and those before it take all there is.
    pieces = [int((best[::-1] + gains[-1]).argmax()) if len(gains) > 1 else _PIECES]
    left = _PIECES - pieces[0]
    for choice in reversed(choices):
        pieces.append(int(choice[left]))
        left -= pieces[-1]
    if len(gains) > 1:
        pieces.append(left)
    return tuple(rows * piece / _PIECES for piece in reversed(pieces))
