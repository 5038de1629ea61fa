"""How much of what a value has matched so far it will match again: calibrated frequencies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Calibrated", "calibrate"]

Floats = npt.NDArray[np.float64]

# Enough for a curve, and few enough that noise between neighbours evens out.
_GROUPS = 256


class Calibrated(NamedTuple):
    """Groups of values that their past does not tell apart, the most promising first."""

    own: Floats
    partner: Floats


def calibrate(own: Floats, past: Floats, future: Floats) -> Calibrated:
    """Say how often values will be matched that were matched so often before.

    A strategy ranks values by what it has seen of them. In the very sample in which they were
    counted, that rank is always right; in what comes next it is right only as far as the
    frequencies last. So values are ranked by one part of a sample and counted in another. Those
    of equal rank are one group; neighbours that turned out in the wrong order are merged.

    Parameters
    ----------
    own
        Share of each value in the stream whose rows wait.
    past, future
        How often each was, and will be, matched by the other streams.

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
    there = own > 0
    mass, matched = own[there], own[there] * future[there]
    ranks, group = np.unique(-past[there], return_inverse=True)
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
