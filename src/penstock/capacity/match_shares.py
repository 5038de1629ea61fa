"""The share of the other streams' rows that a row matches, whatever their times."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.engine.kernels import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.plan import Plan, Rule

__all__ = ["equal_shares", "range_shares"]

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]


def equal_shares(keys: Sequence[Keys], known: Keys) -> list[Floats]:
    """Return the share of each known key in each stream.

    >>> equal_shares([np.array([7, 7, 9]), np.array([9])], np.array([7, 9]))
    [array([0.66666667, 0.33333333]), array([0., 1.])]
    """
    return [
        np.bincount(np.searchsorted(known, each), minlength=known.size) / max(each.size, 1)
        for each in keys
    ]


def range_shares(plan: Plan, mine: int, values: Floats, others: Sequence[Floats]) -> Floats:
    """Return, for each value of a stream, the share of the others' combinations that it matches.

    Parameters
    ----------
    plan
        The join, with any predicate but an equality.
    mine
        Index of the stream.
    values
        Its values.
    others
        The values of every stream, by index; those of the stream itself are ignored.

    Notes
    -----
    For `Within` with more than two streams this is the product of the streams' shares, which is
    too high: it includes combinations whose other members are too far from each other. All else
    is exact.
    """
    if plan.rule.kind == layout.SIMILAR:
        return np.ones(values.size)  # of a vector nothing is known but that it has come
    sides = [np.sort(each) for each in others]
    if plan.rule.kind == layout.WITHIN:
        product = np.ones(values.size)
        for s, side in enumerate(sides):
            if s != mine:
                far = plan.rule.high
                product *= _sums(side, np.ones(side.size), values - far, values + far)
        return product
    place = plan.chain[mine]
    by_place = [sides[plan.chain.index(k)] for k in range(len(sides))]
    before = _along(plan.rule, by_place[:place], values, upwards=True)
    after = _along(plan.rule, by_place[:place:-1], values, upwards=False)
    return before * after


def _along(rule: Rule, chain: list[Floats], values: Floats, *, upwards: bool) -> Floats:
    """Return the share of a chain's combinations that match each of the values at its end."""
    weights: Floats | None = None
    links = [*chain, values]
    for side, following in pairwise(links):
        whole = np.ones(side.size) if weights is None else weights
        weights = _fitting(rule, side, whole, following, upwards=upwards)
    return np.ones(values.size) if weights is None else weights


def _fitting(rule: Rule, side: Floats, weights: Floats, values: Floats, *, upwards: bool) -> Floats:
    """Sum the weights of a sorted stream's rows that match each value, as a share of its rows."""
    if rule.kind == layout.BAND:  # low <= later - earlier <= high
        low, high = float(rule.low), float(rule.high)
        bounds = (values - high, values - low) if upwards else (values + low, values + high)
        return _sums(side, weights, *bounds)
    if rule.operator == layout.UNEQUAL:
        everything = float(weights.sum()) / max(side.size, 1)
        return everything - _sums(side, weights, values, values)
    smaller = (rule.operator in {layout.LESS, layout.LESS_OR_EQUAL}) == upwards
    bounds = (
        (np.full(values.size, -np.inf), values)
        if smaller
        else (values, np.full(values.size, np.inf))
    )
    fits = _sums(side, weights, *bounds)
    if rule.operator in {layout.LESS, layout.GREATER}:
        fits = fits - _sums(side, weights, values, values)
    return fits


def _sums(side: Floats, weights: Floats, low: Floats, high: Floats) -> Floats:
    """Sum the weights of the rows from low to high, both included, as a share of all rows."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    first = np.searchsorted(side, low, side="left")
    last = np.searchsorted(side, high, side="right")
    share: Floats = (sums[last] - sums[first]) / max(side.size, 1)
    return share
