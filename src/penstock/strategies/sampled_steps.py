"""The steps of a join that is sampled: how many a sampling fraction takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.sampling_memory import uniform_share, uniform_share_at_random

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.strategies.base import Floats
    from penstock.strategies.view import WorkView

__all__ = ["Expecting", "SampledSteps", "steps_by_match", "steps_by_size", "steps_of_clusters"]


@dataclass(frozen=True)
class SampledSteps:
    """Steps in a unit of time.

    Attributes
    ----------
    inserted
        Rows that are inserted.
    found
        Matches of rows in memory, drawn or not.
    drawn
        Matches that are drawn: results.
    """

    inserted: float
    found: float
    drawn: float

    def work(self, work: WorkView) -> float:
        """Return what they cost, with the comparisons that it takes to find a match."""
        costs = work.costs
        finding = costs.compare * work.compared * self.found
        return costs.insert * self.inserted + finding + costs.result * self.drawn


@dataclass(frozen=True)
class Expecting:
    """Rows of a stream in groups, by the matches that they expect.

    Attributes
    ----------
    rates
        Rows of each group in a unit of time.
    matches
        That a row of each expects, n.
    limits
        Matches after which it is given up, n(s).
    is_exact
        Whether n is not a mean but the very number.
    """

    rates: Floats
    matches: Floats
    limits: Floats
    is_exact: bool = False


def steps_of_clusters(work: WorkView) -> Callable[[float], SampledSteps]:
    """Return the steps of EQ-CLUSTER, by its fraction: they are in proportion to it.

    References
    ----------
    `srivastava04` 4.3.1, Strategy 2, with the costs of `ayad05` 2.2.
    """
    rows = float(work.rates.sum())

    def steps(fraction: float) -> SampledSteps:
        results = min(fraction, 1.0) * work.whole
        return SampledSteps(min(fraction, 1.0) * rows, results, results)

    return steps


def steps_by_size(
    work: WorkView, rates: Sequence[Floats], sizes: Sequence[Floats]
) -> Callable[[float], SampledSteps]:
    """Return the steps of PPS-CLUSTER, by its factor k: a row has the chance min(1, k size).

    Parameters
    ----------
    work
        What is known of the work.
    rates, sizes
        For each stream the rows of each group in a unit of time, and their size: a row has as many
        matches, relative to others.

    References
    ----------
    `srivastava04` 4.3.1, Strategy 3, with the costs of `ayad05` 2.2.
    """
    rows, size = np.concatenate(rates), np.concatenate(sizes)
    matches = rows * size
    all_matches = max(float(matches.sum()), 1e-300)

    def steps(fraction: float) -> SampledSteps:
        chances = np.minimum(fraction * size, 1.0)
        results = work.whole * float((chances * matches).sum()) / all_matches
        return SampledSteps(float((chances * rows).sum()), results, results)

    return steps


def steps_by_match(work: WorkView, streams: Sequence[Expecting]) -> Callable[[float], SampledSteps]:
    """Return the steps of UNIFORM, by its fraction p.

    A row is inserted if one of its n(s) matches is drawn, and found by others until the last that
    is. Where numbers of matches are known these are the means of equations 18 to 22 over the
    numbers that come; with ``n(s) = n`` for all rows they are the equations themselves.

    References
    ----------
    `ayad05` 4.1, equations 18 to 22 and 24. Departs from it in n(s), which is not n where n is a
    mean, and in that the output of equation 24 is estimated from the sample itself.
    """
    rates, matches, limits = (
        np.concatenate([getattr(each, name) for each in streams])
        for name in ("rates", "matches", "limits")
    )
    is_exact = np.concatenate([np.full(each.rates.size, each.is_exact) for each in streams])
    expected = float((rates * matches).sum())
    # The formulas are for windows that are full, and for frequencies that are learned.
    scale = work.whole / expected if expected else 0.0

    def found(fraction: float) -> float:
        held = np.empty(rates.size)
        held[is_exact] = uniform_share(fraction, matches[is_exact])
        held[~is_exact] = uniform_share_at_random(fraction, matches[~is_exact], limits[~is_exact])
        return scale * float((rates * matches * held).sum())

    def steps(fraction: float) -> SampledSteps:
        p = min(fraction, 1.0)
        drawn = p * work.whole
        inserted = float((rates * _some_drawn(p, limits)).sum())
        # It takes longest, and is not needed where finding a match costs nothing.
        return SampledSteps(inserted, found(p) if work.costs.compare else drawn, drawn)

    return steps


def _some_drawn(fraction: float, limits: Floats) -> Floats:
    """Return the chance that one of so many matches is drawn: 1 - (1 - p)^n(s)."""
    if fraction >= 1.0:
        return np.where(limits > 0, 1.0, 0.0)
    chance: Floats = -np.expm1(limits * np.log1p(-fraction))
    return chance
