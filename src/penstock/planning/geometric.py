"""A small geometric programme: a product is maximised, a sum of products has a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Posynomial", "maximize_product"]

Floats = npt.NDArray[np.float64]

# The barrier's weight rises by this factor, up to this precision of the logarithms.
_FASTER = 20.0
_PRECISION = 1e-10
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class Posynomial:
    """A sum of products of powers of x: ``sum(c[t] * prod(x ** e[t]))`` with c > 0.

    Examples
    --------
    >>> cost = Posynomial(np.array([2.0, 3.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> cost.at(np.array([0.5, 0.1]))
    1.15
    """

    coefficients: Floats
    exponents: Floats

    def terms(self, x: Floats) -> Floats:
        """Return the terms of the sum."""
        terms: Floats = self.coefficients * np.prod(x**self.exponents, axis=1)
        return terms

    def at(self, x: Floats) -> float:
        """Return the sum."""
        return float(self.terms(x).sum())

    def plus(self, other: Posynomial) -> Posynomial:
        """Return the sum of two."""
        return Posynomial(
            np.concatenate([self.coefficients, other.coefficients]),
            np.concatenate([self.exponents, other.exponents]),
        )


def maximize_product(powers: Floats, cost: Posynomial, bound: float, least: Floats) -> Floats:
    """Return the x from `least` to 1 that maximise ``prod(x ** powers)`` with ``cost <= bound``.

    In y = log x the problem is convex: the objective is linear and the logarithm of the cost is a
    log-sum-exp. It is solved by Newton steps on a logarithmic barrier.

    Parameters
    ----------
    powers
        Zero or more.
    cost
        With exponents of zero or more, so that smaller x never cost more.
    bound
        Above the cost of `least`.
    least
        Smallest x; 0 for none.

    References
    ----------
    Boyd and Vandenberghe, *Convex Optimization*, 2004, 4.5.3 and 11.3.

    Examples
    --------
    >>> cost = Posynomial(np.array([1.0, 4.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> maximize_product(np.array([1.0, 1.0]), cost, 1.0, np.zeros(2)).round(6).tolist()
    [0.5, 0.125]
    """
    # A stream that gains nothing keeps its least; one that may not be below 1 is not a variable.
    x = np.where(powers > 0, 1.0, np.maximum(least, 1e-12))
    if cost.at(x) <= bound:
        return x
    free = (powers > 0) & (least < 1)
    lowest = np.log(np.maximum(least[free], 1e-300))
    shares = cost.terms(np.where(free, 1.0, x)) / bound
    used = shares > 0
    exponents = cost.exponents[used][:, free]
    constant = np.log(shares[used])
    x[free] = np.exp(_solve(powers[free], exponents, constant, lowest))
    return x


def _solve(powers: Floats, exponents: Floats, constant: Floats, lowest: Floats) -> Floats:
    """Maximise ``powers @ y`` for lowest <= y <= 0, logsumexp(exponents @ y + constant) <= 0."""
    y = _start(exponents, constant, lowest)
    weight = 1.0
    while len(lowest) * 2 + 1 > weight * _PRECISION:
        for _ in range(_MOST_STEPS):
            slope, step = _newton(y, weight, powers, exponents, constant, lowest)
            decrease = -float(slope @ step)
            if decrease < 1e-9:
                break
            value = _value(y, weight, powers, exponents, constant, lowest)
            length = 1.0
            while length > 1e-10:
                tried = _value(y + length * step, weight, powers, exponents, constant, lowest)
                if tried <= value - 0.25 * length * decrease:
                    break
                length /= 2
            else:
                break  # as near as floating point comes
            y = y + length * step
        weight *= _FASTER
    return y


def _start(exponents: Floats, constant: Floats, lowest: Floats) -> Floats:
    """Return a point inside, on the way from 0 to the lowest, which is inside: not far from 0."""
    bottom = np.maximum(lowest, -200.0)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        is_inside = _log_sum(exponents @ (middle * bottom) + constant)[0] < 0
        low, high = (low, middle) if is_inside else (middle, high)
    # Half-way from the border to the lowest, but not further than to half of each x.
    step = min((1 - high) / 2, np.log(2) / -bottom.min())
    start: Floats = (high + step) * bottom
    return start


def _log_sum(exponents: Floats) -> tuple[float, Floats]:
    """Return log(sum(exp(.))) and the shares of its terms."""
    top = exponents.max()
    parts = np.exp(exponents - top)
    total = parts.sum()
    return float(top + np.log(total)), parts / total


def _value(
    y: Floats,
    weight: float,
    powers: Floats,
    exponents: Floats,
    constant: Floats,
    lowest: Floats,
) -> float:
    """Return what is minimised; infinite outside."""
    over, _ = _log_sum(exponents @ y + constant)
    above = y - lowest
    if over >= 0 or y.max() >= 0 or above.min() <= 0:
        return np.inf
    linear = -weight * float(powers @ y)
    return float(linear - np.log(-over) - np.log(-y).sum() - np.log(above).sum())


def _newton(
    y: Floats,
    weight: float,
    powers: Floats,
    exponents: Floats,
    constant: Floats,
    lowest: Floats,
) -> tuple[Floats, Floats]:
    """Return the slope of what is minimised, at a point inside, and Newton's step."""
    over, shares = _log_sum(exponents @ y + constant)
    above = y - lowest
    mean = exponents.T @ shares
    slope = -weight * powers - mean / over - 1 / y - 1 / above
    # The curvature is this matrix and the outer product of mean / over. Near the border the
    # product is so large that in a sum nothing would be left of the matrix: so Sherman, Morrison.
    matrix = ((exponents.T * shares) @ exponents - np.outer(mean, mean)) / -over
    matrix[np.diag_indices_from(matrix)] += 1 / y**2 + 1 / above**2
    along, across = np.linalg.solve(matrix, np.column_stack([slope, mean])).T
    step = -along + across * float(mean @ along) / (over**2 + float(mean @ across))
    return slope, step
