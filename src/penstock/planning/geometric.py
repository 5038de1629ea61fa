"""A small geometric programme: a product is maximised, sums of products have bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Limit", "Posynomial", "maximize_product"]

Floats = npt.NDArray[np.float64]
Limit: TypeAlias = "tuple[Posynomial, float]"

# The barrier's weight rises by this factor, up to this precision of the logarithms.
_FASTER = 20.0
_PRECISION = 1e-10
_MOST_STEPS = 60
# Two borders that differ by less are taken for one.
_SAME_BORDER = 1e-12


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


def maximize_product(powers: Floats, limits: Sequence[Limit], least: Floats) -> Floats:
    """Return the x from `least` to 1 that maximise ``prod(x ** powers)`` within limits.

    In y = log x the problem is convex: the objective is linear and the logarithm of each sum is a
    log-sum-exp. It is solved by Newton steps on a logarithmic barrier.

    Parameters
    ----------
    powers
        Zero or more.
    limits
        Sums, with exponents of zero or more, so that smaller x never need more; and the bound of
        each, above what `least` needs.
    least
        Smallest x; 0 for none.

    References
    ----------
    Boyd and Vandenberghe, *Convex Optimization*, 2004, 4.5.3 and 11.3.

    Examples
    --------
    >>> cost = Posynomial(np.array([1.0, 4.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> maximize_product(np.array([1.0, 1.0]), [(cost, 1.0)], np.zeros(2)).round(6).tolist()
    [0.5, 0.125]
    >>> rows = Posynomial(np.array([10.0]), np.array([[1.0, 0.0]]))
    >>> limits = [(cost, 1.0), (rows, 2.0)]
    >>> maximize_product(np.array([1.0, 1.0]), limits, np.zeros(2)).round(6).tolist()
    [0.2, 0.2]
    """
    # A stream that gains nothing keeps its least; one that may not be below 1 is not a variable.
    x = np.where(powers > 0, 1.0, np.maximum(least, 1e-12))
    binding = [(sums, bound) for sums, bound in limits if sums.at(x) > bound]
    if not binding:
        return x
    free = (powers > 0) & (least < 1)
    lowest = np.log(np.maximum(least[free], 1e-300))
    borders = []
    # What all x = 1 do not exceed, smaller ones do not exceed either.
    for sums, bound in binding:
        shares = sums.terms(np.where(free, 1.0, x)) / bound
        used = shares > 0
        borders.append(_Border(sums.exponents[used][:, free], np.log(shares[used])))
    x[free] = np.exp(_solve(powers[free], borders, lowest))
    return x


@dataclass(frozen=True, eq=False)
class _Border:
    """The condition logsumexp(exponents @ y + constant) <= 0."""

    exponents: Floats
    constant: Floats

    def over(self, y: Floats) -> tuple[float, Floats]:
        """Return by how much it is exceeded, below 0 inside, and the shares of its terms."""
        return _log_sum(self.exponents @ y + self.constant)


def _solve(powers: Floats, borders: Sequence[_Border], lowest: Floats) -> Floats:
    """Maximise ``powers @ y`` for lowest <= y <= 0 inside of borders."""
    y = _start(borders, lowest)
    weight = 1.0
    while len(lowest) * 2 + len(borders) > weight * _PRECISION:
        for _ in range(_MOST_STEPS):
            slope, step = _newton(y, weight, powers, borders, lowest)
            decrease = -float(slope @ step)
            if decrease < 1e-9:
                break
            value = _value(y, weight, powers, borders, lowest)
            length = 1.0
            while length > 1e-10:
                tried = _value(y + length * step, weight, powers, borders, lowest)
                if tried <= value - 0.25 * length * decrease:
                    break
                length /= 2
            else:
                break  # as near as floating point comes
            y = y + length * step
        weight *= _FASTER
    return y


def _start(borders: Sequence[_Border], lowest: Floats) -> Floats:
    """Return a point inside, on the way from 0 to the lowest, which is inside: not far from 0."""
    bottom = np.maximum(lowest, -200.0)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        is_inside = all(border.over(middle * bottom)[0] < 0 for border in borders)
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
    y: Floats, weight: float, powers: Floats, borders: Sequence[_Border], lowest: Floats
) -> float:
    """Return what is minimised; infinite outside."""
    over = np.array([border.over(y)[0] for border in borders])
    above = y - lowest
    if over.max() >= 0 or y.max() >= 0 or above.min() <= 0:
        return np.inf
    linear = -weight * float(powers @ y)
    return float(linear - np.log(-over).sum() - np.log(-y).sum() - np.log(above).sum())


def _newton(
    y: Floats, weight: float, powers: Floats, borders: Sequence[_Border], lowest: Floats
) -> tuple[Floats, Floats]:
    """Return the slope of what is minimised, at a point inside, and Newton's step."""
    above = y - lowest
    slope = -weight * powers - 1 / y - 1 / above
    # The curvature is this matrix and the outer products of mean / over. Near a border its
    # product is so large that in a sum nothing would be left of the matrix: so Woodbury.
    matrix = np.diag(1 / y**2 + 1 / above**2)
    means, overs = np.empty((y.size, len(borders))), np.empty(len(borders))
    for at, border in enumerate(borders):
        overs[at], shares = border.over(y)
        means[:, at] = border.exponents.T @ shares
        slope -= means[:, at] / overs[at]
        spread = (border.exponents.T * shares) @ border.exponents
        matrix += (spread - np.outer(means[:, at], means[:, at])) / -overs[at]
    solved = np.linalg.solve(matrix, np.column_stack([slope, means]))
    along, across = solved[:, 0], solved[:, 1:]
    inner = np.diag(overs**2) + means.T @ across
    # Two limits can be the same: then the matrix has no inverse, and either of them counts.
    scale = np.sqrt(np.diag(inner))
    weights = np.linalg.lstsq(
        inner / np.outer(scale, scale), means.T @ along / scale, rcond=_SAME_BORDER
    )[0]
    return slope, -along + across @ (weights / scale)
