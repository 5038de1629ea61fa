"""Calibrated frequencies: how far the past matches of a value predict its future matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Calibrated", "calibrate", "rank_groups"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

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
    mass, matched = _by_group(rank_groups(mass, past[present], matched), mass, matched)
    return Calibrated(mass, matched / mass)


def rank_groups(mass: Floats, past: Floats, matched: Floats) -> Integers:
    """Return the group of each value: values of one rank together, those of the best past first.

    Parameters
    ----------
    mass
        What each value takes up, above 0.
    past
        By what the values are ranked, the greatest first.
    matched
        What each value turns out to give. Neighbouring groups in which this is, by mass, in the
        wrong order are one.

    Examples
    --------
    >>> rank_groups(np.ones(3), np.array([0.5, 0.9, 0.1]), np.array([3.0, 2.0, 1.0])).tolist()
    [0, 0, 1]
    """
    group = np.unique(-past, return_inverse=True)[1]
    group_mass, group_matched = _by_group(group, mass, matched)
    if group_mass.size > _GROUPS:
        before = np.cumsum(group_mass) - group_mass
        part = np.minimum(before / group_mass.sum() * _GROUPS, _GROUPS - 1)
        group = np.unique(part.astype(np.int64), return_inverse=True)[1][group]
        group_mass, group_matched = _by_group(group, mass, matched)
    blocks: list[tuple[float, float, int]] = []
    for each in zip(group_mass.tolist(), group_matched.tolist(), strict=True):
        taken, given, count = *each, 1
        while blocks and blocks[-1][1] * taken <= given * blocks[-1][0]:
            last = blocks.pop()
            taken, given, count = taken + last[0], given + last[1], count + last[2]
        blocks.append((taken, given, count))
    sizes = np.array([count for _, _, count in blocks], np.int64)
    block_of = np.repeat(np.arange(len(blocks)), sizes)
    found: Integers = block_of[group]
    return found


def _by_group(group: Integers, mass: Floats, matched: Floats) -> tuple[Floats, Floats]:
    return (
        np.bincount(group, mass).astype(np.float64),
        np.bincount(group, matched).astype(np.float64),
    )
