"""Calibrated frequencies: how far the past matches of a value predict its future matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Calibrated", "calibrate"]

Floats = npt.NDArray[np.float64]

# Enough for a curve, and few enough that the noise within a group averages out.
_GROUPS = 256


class Calibrated(NamedTuple):
    """Groups of values with the same past, those with most expected matches first.

    `own` is the share of the stream in each group, `partner` the expected frequency of its values
    in the other streams.
    """

    own: Floats
    partner: Floats


def calibrate(own: Floats, past: Floats, future: Floats) -> Calibrated:
    """Estimate how often values will be matched, given how often they were matched before.

    A strategy ranks values by their past frequency. On the data in which they were counted that
    rank is always right; on later data it is right only if the frequencies last. So values are
    ranked by one part of a sample and counted in another. Values of equal rank are one group.
    Neighbouring groups that turn out in the wrong order are merged.

    Parameters
    ----------
    own
        Share of each value in the stream whose rows wait in memory.
    past, future
        How often each value was, and will be, matched by the other streams.

    Examples
    --------
    >>> seen_before = calibrate(np.array([0.5, 0.5]), np.array([0.8, 0.2]), np.array([0.6, 0.4]))
    >>> seen_before.partner.tolist()
    [0.6, 0.4]
    >>> new_keys = calibrate(np.array([0.5, 0.5]), np.array([0.0, 0.0]), np.array([0.6, 0.4]))
    >>> new_keys.partner.tolist()
    [0.5]

    References
    ----------
    Isotonic regression by pooling adjacent violators; the ranking is PROB's, `srivastava04` 3.3.
    """
    present = own > 0
    mass, matched = own[present], own[present] * future[present]
    ranks, group = np.unique(-past[present], return_inverse=True)
    mass, matched = _by_group(group, mass, matched)
    if ranks.size > _GROUPS:
        part = np.minimum((np.cumsum(mass) - mass) / mass.sum() * _GROUPS, _GROUPS - 1)
        part = np.unique(part.astype(np.int64), return_inverse=True)[1]
        mass, matched = _by_group(part, mass, matched)
    blocks: list[tuple[float, float]] = []
    for block in zip(mass.tolist(), matched.tolist(), strict=True):
        merged = block
        while blocks and blocks[-1][1] * merged[0] <= merged[1] * blocks[-1][0]:
            before = blocks.pop()
            merged = (before[0] + merged[0], before[1] + merged[1])
        blocks.append(merged)
    pooled = np.array(blocks, np.float64).reshape(-1, 2)
    return Calibrated(pooled[:, 0], pooled[:, 1] / pooled[:, 0])


def _by_group(group: npt.NDArray[np.int64], mass: Floats, matched: Floats) -> tuple[Floats, Floats]:
    return (
        np.bincount(group, mass).astype(np.float64),
        np.bincount(group, matched).astype(np.float64),
    )
