"""How much the results of a row matter on average, by its own importance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["expected_importance", "relative_importance"]

Floats = npt.NDArray[np.float64]


def expected_importance(kind: str, importance: Floats, others: Sequence[Floats]) -> Floats:
    """Compute the mean importance of results, of rows with any row of the other streams.

    Parameters
    ----------
    kind
        What a result's importance is made of: "min", "product", "sum" or "max" of its members'.
    importance
        Of each row.
    others
        Samples of the other streams' importance, each in ascending order.

    Examples
    --------
    >>> expected_importance("min", np.array([1.0, 5.0]), [np.array([2.0, 4.0])]).tolist()
    [1.0, 3.0]
    """
    mean = importance
    for sample in others:
        if kind in ("min", "max"):
            # The mean of min(i, J): J below i, and i for those above it; max(i, J) the rest.
            below = np.searchsorted(sample, mean, side="right")
            sums = np.concatenate([[0.0], np.cumsum(sample)])
            least = (sums[below] + mean * (sample.size - below)) / sample.size
            mean = least if kind == "min" else mean + sample.mean() - least
        elif kind == "product":
            mean = mean * sample.mean()
        else:
            mean = mean + sample.mean()
    return mean


def relative_importance(
    kind: str, importance: Floats, usual: float, others: Sequence[Floats]
) -> Floats:
    """Compute what a result of each row matters, relative to the stream's usual result.

    The other streams' rows are taken to matter as they did recently, whatever the row's own
    importance is. Without anything to compare with, it is the row's own importance.

    Parameters
    ----------
    kind, importance, others
        As in `expected_importance`; streams that have shown nothing yet are left out.
    usual
        Mean importance of the results of the stream's rows; 0 if it is not known.

    Examples
    --------
    >>> relative_importance("min", np.array([1.0, 5.0]), 2.0, [np.array([2.0, 4.0])]).tolist()
    [0.5, 1.5]
    """
    known = [sample for sample in others if sample.size]
    if not known or not usual:
        return np.maximum(importance, 1e-12)
    return expected_importance(kind, importance, known) / usual
