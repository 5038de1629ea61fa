"""What a join would make of other amounts of memory, by what it has learned of its streams.

====================  ==============================================================================
goal                  quality
====================  ==============================================================================
`MaxSubset`           recall: the share of the exact results that are found
`MaxImportance`       the share of the importance of all results that is found
`Sample`              1 over the expected relative error of a count of the results of one window
====================  ==============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.allotment import QualityCurve
from penstock.statistics.sampling_memory import mean_for
from penstock.strategies.division import outputs_of
from penstock.strategies.sampling import SamplingStrategy
from penstock.strategies.scoring import ScoringStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.strategies.base import Strategy
    from penstock.strategies.sampling import Population
    from penstock.strategies.view import View

__all__ = ["in_proportion", "quality_of", "sample_errors"]

Floats = npt.NDArray[np.float64]

# Amounts of memory, up to what all rows that are alive need, at which a curve is computed.
_POINTS = 128
_SAMPLE_POINTS = 24
# An error below this is none: no aggregate is known better.
_LEAST_ERROR = 1e-3


def quality_of(view: View, strategy: Strategy) -> QualityCurve | None:
    """Return what a strategy makes of numbers of rows, from what is known; None if nothing is.

    Of strategies that do not say what they make of memory (`fifo`, `random`, `greedy`, `ijoin`,
    and a user's own), recall is taken to be in proportion to the rows, up to what all need.

    Parameters
    ----------
    view
        What is known now.
    strategy
        The strategy by which rows are kept.
    """
    alive = np.array([each.rate * each.life for each in view.streams])
    if not alive.sum() > 0:
        return None
    least = len(view.streams)
    if isinstance(strategy, SamplingStrategy):
        amounts = np.linspace(0, alive.sum(), _SAMPLE_POINTS)
        errors = _errors(view, strategy, amounts)
        return None if errors is None else _from_least(least, amounts, 1.0 / errors)
    amounts = np.linspace(0, alive.sum(), _POINTS + 1)
    if not isinstance(strategy, ScoringStrategy):
        return in_proportion(least, float(alive.sum()))
    if not any(each.outlook.pace > 0 for each in view.streams):
        return None
    forecasts = strategy.followed(view).forecasts
    recalls = [_recall(view, model, strategy, amounts) for model in forecasts]
    known = [recall for recall in recalls if recall is not None]
    return _from_least(least, amounts, np.max(known, axis=0)) if known else None


def _recall(
    view: View, model: ScoringStrategy, strategy: ScoringStrategy, amounts: Floats
) -> Floats | None:
    """Return the recall of a model for numbers of rows, all streams together; None if it has none.

    Memory is divided between the streams so that recall is greatest.
    """
    outputs = [np.asarray(made(amounts)) for made in outputs_of(view, model, strategy)]
    best = outputs[0]
    for output in outputs[1:]:
        best = _most(best, output)
    if len(outputs) == 2:
        return best / best[-1] if best[-1] > 0 else None
    # A result of m streams needs m - 1 rows that wait. Outputs are logarithms of shares.
    recall: Floats = np.exp(best * (len(outputs) - 1) / len(outputs))
    return recall / recall[-1]  # type: ignore[no-any-return]


def in_proportion(least: int, alive: float) -> QualityCurve:
    """Return a curve that rises evenly, from the least number of rows to all that are alive.

    >>> in_proportion(2, 10.0).at(5)
    0.5
    """
    amounts = np.array([0.0, max(alive, least + 1.0)])
    return _from_least(least, amounts, np.array([0.0, 1.0]))


def _from_least(least: int, amounts: Floats, quality: Floats) -> QualityCurve:
    """Return a curve that begins with the least number of rows that a join can run with."""
    more = amounts > least
    first = np.interp(least, amounts, quality)
    return QualityCurve(np.append(least, amounts[more]), np.append(first, quality[more]))


def _most(one: Floats, other: Floats) -> Floats:
    """Return the most that two streams give together, for as many amounts: all divisions tried.

    >>> _most(np.array([0.0, 3.0, 4.0]), np.array([0.0, 2.0, 2.0])).tolist()
    [0.0, 3.0, 5.0]
    """
    k, j = np.indices((one.size, one.size))
    return np.where(j <= k, one[k - j] + other[j], -np.inf).max(axis=1)  # type: ignore[no-any-return]


def _errors(view: View, strategy: SamplingStrategy, amounts: Floats) -> Floats | None:
    """Return the expected relative error of the count of one window's results."""
    return sample_errors(
        strategy.solver(view),
        strategy.populations(view),
        amounts,
        by_size=strategy.draws_by_size(view),
    )


def sample_errors(
    solver: SamplingStrategy, populations: Sequence[Population], amounts: Floats, *, by_size: bool
) -> Floats | None:
    """Return the expected relative error of the count of one window's results; None without any.

    Parameters
    ----------
    solver
        The strategy whose equation gives the sampling fraction.
    populations
        What is known of the rows of each stream that are alive at a time.
    amounts
        Numbers of rows that may be held.
    by_size
        Whether rows are drawn by their size.
    """
    results = sum(float(each.rows * np.sum(each.shares * each.sizes)) for each in populations)
    if not results:
        return None
    fractions = [_fraction(solver, populations, rows) for rows in amounts]
    if solver.by_match:
        # Each result is drawn by itself: its count has a variance of n (1 - p) / p.
        squares = [(1 - p) / (p * results) for p in fractions]
    else:
        squares = [_cluster_error(populations, p, by_size=by_size) for p in fractions]
    return np.maximum(np.sqrt(squares), _LEAST_ERROR)


def _fraction(solver: SamplingStrategy, populations: Sequence[Population], rows: float) -> float:
    """Return the sampling fraction with a number of rows; a tiny one without any."""
    fraction = solver.fraction(mean_for(max(rows, 1.0)), populations) if rows > 0 else 0.0
    return float(min(max(fraction, 1e-9), 1e9 if solver.by_size else 1.0))


def _cluster_error(populations: Sequence[Population], fraction: float, *, by_size: bool) -> float:
    """Return the variance of the estimated sum of cluster sizes, over the square of the sum.

    A cluster of size c that is drawn with chance x stands for 1 / x: variance c^2 (1 - x) / x.
    """
    variance, total = 0.0, 0.0
    for each in populations:
        chances = np.minimum(fraction * (each.sizes if by_size else 1.0), 1.0)
        squares = each.sizes**2 * (1 - chances) / chances
        variance += each.rows * float(np.sum(each.shares * squares))
        total += each.rows * float(np.sum(each.shares * each.sizes))
    return variance / total**2 if total else 0.0
