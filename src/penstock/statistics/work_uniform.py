"""The work of UNIFORM: what a uniform sample of a join costs, and how much of one can be had.

A row knows how many matches it will have (n on average), and each of them is drawn for the sample
with the same chance, the fraction p. It is held until the last that was drawn, and is not inserted
if there is none. Matches come evenly spread over its life, as in `ayad05`, or at random:

==============================  ====================  =========================================
of a row                        ``"regular"``         ``"poisson"``
==============================  ====================  =========================================
not inserted (eq. 18)           q^n, q = 1 - p        E[q^N] = exp(-p n)
share of its life held (eq. 21) 1 - q (1 - q^n)/(p n) 1 - (1 - exp(-p n)) / (p n)
compared with (eq. 22)          n times that share    the same, and 1 - exp(-p n)
==============================  ====================  =========================================

The last line adds 1 - exp(-p n) because the match that is drawn last finds the row for certain.
The regular formulas are exact for whole n only. Of rows with n below 1 they find fewer than are
drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from penstock.statistics.sampling_fraction import solve_fraction
from penstock.statistics.sampling_memory import uniform_share

if TYPE_CHECKING:
    from penstock.statistics.work_output import WorkModel

__all__ = [
    "Arrivals",
    "matches_of",
    "uniform_compared",
    "uniform_fraction",
    "uniform_inserted",
    "uniform_work",
]

Floats = npt.NDArray[np.float64]
Arrivals = Literal["regular", "poisson"]


def matches_of(model: WorkModel) -> Floats:
    """Return n, the matches that a row has while it waits, by stream and value.

    Examples
    --------
    >>> from penstock.statistics.work_output import WorkModel
    >>> model = WorkModel(np.array([[3.0, 1.0], [2.0, 4.0]]), (5.0, 1.0), insert=0.1, result=0.01)
    >>> matches_of(model).tolist()
    [[10.0, 20.0], [3.0, 1.0]]
    """
    lives = np.array(model.windows)[:, None]
    matches: Floats = model.rates[::-1] * lives * model.selectivity
    return matches


def uniform_inserted(
    fraction: float, matches: npt.ArrayLike, *, arrivals: Arrivals = "poisson"
) -> Floats:
    """Return the share of rows that are inserted: those of which a match is drawn.

    Parameters
    ----------
    fraction
        p, the chance of each result to be in the sample, above 0 and at most 1.
    matches
        n, the matches that a row has on average, 0 or more.
    arrivals
        How matches come; ``"regular"`` takes n, whole or not, as their exact number.

    Examples
    --------
    >>> uniform_inserted(0.1, [1, 10], arrivals="regular").round(3).tolist()
    [0.1, 0.651]
    >>> uniform_inserted(0.1, [1, 10]).round(3).tolist()
    [0.095, 0.632]

    References
    ----------
    `ayad05` 4.1, equation 18, and for ``"poisson"`` its mean over the number of matches.
    """
    n = np.asarray(matches, np.float64)
    if arrivals == "poisson":
        share: Floats = -np.expm1(-fraction * n)
        return share
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = np.where(n > 0, n * np.log1p(-fraction), 0.0)
    regular: Floats = -np.expm1(decay)
    return regular


def uniform_compared(
    fraction: float, matches: npt.ArrayLike, *, arrivals: Arrivals = "poisson"
) -> Floats:
    """Return how many matches find a row while it is held, drawn or not.

    Parameters
    ----------
    fraction, matches, arrivals
        As for `uniform_inserted`.

    Examples
    --------
    >>> uniform_compared(0.1, [1, 10], arrivals="regular").round(3).tolist()
    [0.1, 4.138]
    >>> uniform_compared(0.1, [1, 10]).round(3).tolist()
    [0.144, 4.311]
    >>> uniform_compared(1.0, [1, 10]).tolist()
    [1.0, 10.0]

    References
    ----------
    `ayad05` 4.1, equations 21 and 22: n times the share of its life for which a row is held.
    """
    n = np.asarray(matches, np.float64)
    if arrivals == "regular":
        compared: Floats = n * uniform_share(fraction, n)
        return compared
    inserted = uniform_inserted(fraction, n)
    # n (1 - (1 - exp(-p n)) / (p n)), and the last one that is drawn
    found: Floats = n - inserted / fraction + inserted
    return np.maximum(found, 0.0)


def uniform_work(
    model: WorkModel, fraction: float, *, compare: float = 0.0, arrivals: Arrivals = "poisson"
) -> float:
    """Return the work of a uniform sample in a unit of time.

    Parameters
    ----------
    model
        The streams, and what an insertion and a result cost.
    fraction
        p, the chance of each result to be in the sample, above 0 and at most 1.
    compare
        What it costs to find a row that matches, drawn or not. With 0, only results that are drawn
        cost (equation 25). The conservative cost (equation 23) is the other extreme: `compare` is
        C_p, and the model's `result` is 0.
    arrivals
        How matches come.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from penstock.statistics.work_output import WorkModel
    >>> model = WorkModel(np.array([[3.0, 1.0], [2.0, 2.0]]), (5.0, 5.0), insert=0.01, result=0.001)
    >>> round(uniform_work(model, 0.1, arrivals="regular"), 4)  # eq. 25
    0.0581
    >>> of_probes = replace(model, result=0.0)
    >>> round(uniform_work(of_probes, 0.1, compare=0.001, arrivals="regular"), 4)  # eq. 23
    0.085
    >>> round(uniform_work(model, 1.0, arrivals="regular"), 4) == round(model.full_work, 4)
    True

    References
    ----------
    `ayad05` 4.1, equations 20 and 23 to 25.
    """
    matches = matches_of(model)
    inserted = (model.rates * uniform_inserted(fraction, matches, arrivals=arrivals)).sum()
    compared = (model.rates * uniform_compared(fraction, matches, arrivals=arrivals)).sum()
    drawn = fraction * model.full_output
    return float(inserted * model.insert + compared * compare + drawn * model.result)


def uniform_fraction(
    model: WorkModel, capacity: float, *, compare: float = 0.0, arrivals: Arrivals = "poisson"
) -> float:
    """Return the largest fraction for which there is enough work; never below 1e-12.

    Parameters
    ----------
    model, compare, arrivals
        As for `uniform_work`.
    capacity
        C, the work that may be done in a unit of time.

    Examples
    --------
    >>> from penstock.statistics.work_output import WorkModel
    >>> model = WorkModel(np.array([[3.0, 1.0], [2.0, 2.0]]), (5.0, 5.0), insert=0.01, result=0.001)
    >>> p = uniform_fraction(model, 0.08)
    >>> round(p, 4), round(uniform_work(model, p), 4)
    (0.1883, 0.08)
    """
    return solve_fraction(
        capacity,
        lambda fraction: uniform_work(model, fraction, compare=compare, arrivals=arrivals),
    )
