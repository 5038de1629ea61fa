"""ALLOC: how one budget is divided among joins, by what each makes of an amount of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Allotment", "QualityCurve", "allot_least", "allot_total"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# A quality counts as reached if it is missed by no more than this, the error of float sums.
_TOLERANCE = 1e-12
# Halvings of the level: more than a float has bits.
_HALVINGS = 60
# For the greatest sum a budget is dealt out in at most so many pieces.
_PIECES = 256


@dataclass(frozen=True, eq=False)
class QualityCurve:
    """What a join makes of an amount of the budget: its recall, for instance.

    Between two points the curve is straight. A point that is lower than one before it is raised to
    that: a join need not use all that it gets.

    Parameters
    ----------
    amounts
        Ascending; the first is the least that the join can run with.
    quality
        With each amount; from 0 on.

    Examples
    --------
    >>> curve = QualityCurve([2, 10, 20], [0.0, 0.8, 1.0])
    >>> curve.at(6), curve.least_for(0.9), curve.full
    (0.4, 15.0, 20.0)
    """

    amounts: Floats
    quality: Floats

    def __init__(self, amounts: npt.ArrayLike, quality: npt.ArrayLike) -> None:
        object.__setattr__(self, "amounts", np.asarray(amounts, np.float64))
        raised = np.maximum.accumulate(np.asarray(quality, np.float64))
        object.__setattr__(self, "quality", raised)

    @property
    def least(self) -> float:
        """The least amount that the join can run with."""
        return float(self.amounts[0])

    @property
    def full(self) -> float:
        """The amount from which on there is nothing to gain."""
        return self.least_for(float(self.quality[-1]))

    def at(self, amount: float) -> float:
        """Return the quality with an amount."""
        return float(np.interp(amount, self.amounts, self.quality))

    def least_for(self, quality: float) -> float:
        """Return f(q): the least amount with which a quality is reached; all if it never is."""
        place = int(np.searchsorted(self.quality, quality - _TOLERANCE))
        if place == 0:
            return self.least
        if place == self.quality.size:
            return self.least_for(float(self.quality[-1]))
        low, high = self.quality[place - 1 : place + 1]
        start, stop = self.amounts[place - 1 : place + 1]
        share = min(max((quality - low) / (high - low), 0.0), 1.0)
        return float(start + share * (stop - start))


@dataclass(frozen=True)
class Allotment:
    """How a budget is divided.

    Attributes
    ----------
    amounts
        Of each join; whole numbers that add up to the budget.
    quality
        Of each join with its amount.
    """

    amounts: tuple[int, ...]
    quality: tuple[float, ...]


def allot_least(
    total: int, curves: Sequence[QualityCurve], weights: Sequence[float] | None = None
) -> Allotment:
    """Divide a budget so that the least weighted quality, q_i / w_i, is greatest (ALLOC).

    The level q is searched for by halving: the greatest for which the amounts f_i(w_i q) together
    are within the budget. Of a join that has all it can use, nothing more is asked, and the level
    of the others rises further. What is left in the end goes to all, in proportion to what each
    could use.

    Parameters
    ----------
    total
        M, what there is to divide: a whole number, and at least the sum of the curves' least.
    curves
        What each join makes of an amount.
    weights
        w_i: a join of weight 2 is to have twice the quality of one of weight 1. Above 0; all are 1
        if left out.

    Examples
    --------
    An easy join, and a hard one:

    >>> easy = QualityCurve([0, 20, 100], [0.0, 0.8, 1.0])
    >>> hard = QualityCurve([0, 100], [0.0, 1.0])
    >>> allot_least(100, [easy, hard])
    Allotment(amounts=(20, 80), quality=(0.8, 0.8))
    >>> allot_least(100, [easy, hard], weights=[1, 2])
    Allotment(amounts=(11, 89), quality=(0.44, 0.89))

    References
    ----------
    `srivastava04` section 5, Theorem 5.1, and its last paragraph for weights.
    """
    scale = np.ones(len(curves)) if weights is None else np.asarray(weights, np.float64)

    def needed(level: float) -> Integers:
        """Return the whole amounts that a level takes."""
        each = [curve.least_for(level * w) for curve, w in zip(curves, scale, strict=True)]
        return np.ceil(np.array(each) - 1e-9).astype(np.int64)

    low = 0.0
    high = max(float(curve.quality[-1]) / w for curve, w in zip(curves, scale, strict=True))
    if needed(high).sum() <= total:
        low = high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if needed(middle).sum() <= total:
            low = middle
        else:
            high = middle
    return _completed(total, needed(low), curves)


def allot_total(
    total: int, curves: Sequence[QualityCurve], weights: Sequence[float] | None = None
) -> Allotment:
    """Divide a budget so that the weighted sum of qualities is greatest.

    The budget is dealt out in pieces, 256 or, where that is less, single units; no division into
    such pieces gives more. Of divisions that give the same, that in which no join has more than it
    can use is taken, and what is left goes to all in proportion to what each could use.

    Parameters
    ----------
    total, curves, weights
        As for `allot_least`; a weight is a factor of the quality here.

    Examples
    --------
    >>> easy = QualityCurve([0, 20, 100], [0.0, 0.8, 1.0])
    >>> hard = QualityCurve([0, 100], [0.0, 1.0])
    >>> allot_total(100, [easy, hard])
    Allotment(amounts=(20, 80), quality=(0.8, 0.8))
    >>> allot_total(60, [easy, hard], weights=[1, 0.1])
    Allotment(amounts=(60, 0), quality=(0.9, 0.0))
    """
    scale = np.ones(len(curves)) if weights is None else np.asarray(weights, np.float64)
    least = np.ceil([curve.least for curve in curves]).astype(np.int64)
    left = total - int(least.sum())
    pieces = min(left, _PIECES)
    sizes = np.array([left * k // max(pieces, 1) for k in range(pieces + 1)])
    # A tiny cost of every piece decides between divisions that give the same.
    price = 1e-9 * np.arange(pieces + 1) / max(pieces, 1)
    gains = [
        w * np.interp(start + sizes, curve.amounts, curve.quality) - price
        for curve, start, w in zip(curves, least, scale, strict=True)
    ]
    best, choices = gains[0], []
    for gain in gains[1:]:
        k, j = np.indices((pieces + 1, pieces + 1))  # j of k pieces to this join
        sums = np.where(j <= k, best[k - j] + gain[j], -np.inf)
        choices.append(sums.argmax(axis=1))
        best = sums.max(axis=1)
    at = int(best.argmax())
    taken = []
    for choice in reversed(choices):
        taken.append(int(choice[at]))
        at -= taken[-1]
    taken.append(at)
    # Parts of sizes that do not divide evenly: rounded down, so that their sum is within the whole.
    amounts = least + np.array([left * each // max(pieces, 1) for each in reversed(taken)])
    return _completed(total, amounts, curves)


def _completed(total: int, amounts: Integers, curves: Sequence[QualityCurve]) -> Allotment:
    """Hand out what is left, in proportion to what each join could still use, or can at all."""
    full = np.array([max(curve.full, 1.0) for curve in curves])
    for wanted in (np.maximum(np.ceil(full) - amounts, 0.0), full):
        left = total - int(amounts.sum())
        if left <= 0 or not wanted.any():
            continue
        more = wanted if wanted is not full and wanted.sum() <= left else _shared(left, wanted)
        amounts = amounts + more.astype(np.int64)
    quality = tuple(curve.at(float(a)) for curve, a in zip(curves, amounts, strict=True))
    return Allotment(tuple(int(each) for each in amounts), quality)


def _shared(whole: int, parts: Floats) -> Integers:
    """Divide a whole number in proportion; what rounding leaves goes to the largest remainders.

    >>> _shared(10, np.array([1.0, 1.0, 1.0])).tolist()
    [4, 3, 3]
    """
    exact = whole * parts / parts.sum()
    shares: Integers = np.floor(exact).astype(np.int64)
    order = np.argsort(shares - exact, kind="stable")
    shares[order[: whole - int(shares.sum())]] += 1
    return shares
