"""Groups of values in two streams: how much of each they are, and what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.capacity.calibration import rank_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ValueGroups", "group_values"]

Floats = npt.NDArray[np.float64]


class ValueGroups(NamedTuple):
    """Groups of values, those that give most results for their rows first.

    `own` is the share of each stream (rows of the array) that is in each group, `results` the share
    of the join's results.
    """

    own: Floats
    results: Floats


def group_values(
    rates: Sequence[float], past: Sequence[Floats], future: Sequence[Floats]
) -> ValueGroups:
    """Group values by the results that they gave for their rows, and count what they give later.

    Parameters
    ----------
    rates
        Rows per unit of time, of each of two streams.
    past, future
        For each stream the share of each value in it, before and after.

    Examples
    --------
    >>> shares = np.array([0.6, 0.4]), np.array([0.3, 0.7])
    >>> groups = group_values([1.0, 1.0], shares, shares)
    >>> groups.own.tolist()
    [[0.4, 0.6], [0.7, 0.3]]
    >>> groups.results.round(2).tolist()
    [0.61, 0.39]

    References
    ----------
    The order is that of P(v) in `ayad05`, eq. 8, which is the same whatever the costs are.
    """
    weights = np.array(rates)[:, None]
    then, later = np.stack(past), np.stack(future)
    rows = (weights * then).sum(axis=0)
    worth = np.divide(then.prod(axis=0), rows, out=np.zeros(rows.size), where=rows > 0)
    mass, matched = (weights * later).sum(axis=0), later.prod(axis=0)
    present = mass > 0
    group = rank_groups(mass[present], worth[present], matched[present])
    own: Floats = np.stack([np.bincount(group, each[present]) for each in later]).astype(np.float64)
    results = np.bincount(group, matched[present])
    total = results.sum()
    # Where no value recurs, rows say as much as results.
    return ValueGroups(own, results / total if total else own.mean(axis=0))
