"""The memory of UNIFORM: the share of its life for which a row is held."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "mean_for",
    "uniform_share",
    "uniform_share_at_random",
    "uniform_share_by_age",
    "uniform_variance",
]

Floats = npt.NDArray[np.float64]

# A count this close below a whole number, relatively, has reached it: a rounding error must not
# move a match to the end of the window.
_TOLERANCE = 1e-9

# For a fraction of 1, instead of infinity: exp(-700) is almost 0, and exp(700) is still finite.
_CERTAIN = 700.0

# Instead of 0 matches in a life, for which a formula would be 0 / 0.
_RARE = 1e-12


def uniform_share(
    fraction: npt.ArrayLike, matches: npt.ArrayLike, limit: npt.ArrayLike | None = None
) -> Floats:
    """Compute the share of its life for which UNIFORM holds a row, by the frequency model.

    The matches are spread evenly over the life, the i-th at i/n of it. Each of the first `limit`
    matches is chosen with probability `fraction`. The row is held until the last chosen one, or
    for its whole life if that match does not occur. Times r W f(v), summed over the values, this
    is the number of rows that are held on average.

    Parameters
    ----------
    fraction
        p, the probability of each result to be in the sample, from 0 to 1.
    matches
        n, results of a row in its whole life, 0 or more, whole or not; broadcast with the
        others.
    limit
        N, number of matches after which the row is discarded, 0 or more, whole: n(s) as Fig. 4
        uses it. By default it is n itself, whole or not, as in Theorem 4.2. That is an
        approximation if n is not whole, and a poor one if n is below 1.

    Examples
    --------
    >>> uniform_share(0.5, [1, 2, 4]).round(6).tolist()
    [0.5, 0.625, 0.765625]
    >>> uniform_share(0.5, 2.5, limit=[0, 2, 3, 100]).round(6).tolist()
    [0.0, 0.5, 0.75, 1.0]

    References
    ----------
    `srivastava04` 4.2.2, Theorem 4.2. Departs from it in `limit`.
    """
    chance, n = np.asarray(fraction, np.float64), np.asarray(matches, np.float64)
    decay = _decay(chance)
    if limit is None:
        return _mean_place(decay, n)
    # With q = 1 - p, sum over i = 1 .. N of p q^(N-i) min(i/n, 1): up to m, the last match that
    # occurs, this is the theorem's sum for m matches; beyond, a whole life.
    last = np.asarray(limit, np.float64)
    come = np.minimum(last, np.floor(n * (1 + _TOLERANCE)))
    by_then = np.minimum(come / np.maximum(n, np.finfo(float).tiny), 1.0)
    never = decay * (last - come)
    share: Floats = np.exp(-never) * by_then * _mean_place(decay, come) - np.expm1(-never)
    return share


def uniform_share_at_random(
    fraction: npt.ArrayLike, matches: npt.ArrayLike, limit: npt.ArrayLike
) -> Floats:
    """Compute the share of its life for which UNIFORM holds a row with random matches.

    The number of its matches is then a Poisson number X with mean n. The i-th match occurs, or
    the life ends, on average at E[min(X, i)] / n of it. So the share is E[X * u(X)] / n, u being
    `uniform_share`. That is less than u(n), which is too large by 58 % for n = N = 1 and by 14 %
    for n = 1, N = 4. Here X takes three values, 0 being one: within 8 % for any N, within 2 % for
    N = n + 2 sqrt(n) + 1 or more.

    Parameters
    ----------
    fraction, matches, limit
        p, n and N as in `uniform_share`, except that n is a mean.

    Examples
    --------
    >>> uniform_share_at_random(0.1, [0.1, 1, 10], limit=[1, 4, 18]).round(3).tolist()
    [0.095, 0.302, 0.725]

    References
    ----------
    `srivastava04` 4.3 describes the two errors of n(s), too low and too high. The formula is ours.
    """
    # Of X where it is not 0: mean n + e, variance (n + e) (1 - e), with e = n / (exp(n) - 1). The
    # two values for which the third moment is right too, as in Gauss's quadrature, lie evenly
    # about a point beyond the mean.
    n = np.maximum(np.asarray(matches, np.float64), _RARE)
    over = _excess(np.minimum(n, _CERTAIN))
    e = 1 / (1 + over)
    mean = n + e
    beyond = 0.5 - e + n / (2 * over)
    distance = np.sqrt(beyond**2 + mean * (over * e))
    more, fewer = mean + beyond + distance, mean + beyond - distance
    odds = (1 - beyond / distance) / 2
    share: Floats = (
        odds * more * uniform_share(fraction, more, limit)
        + (1 - odds) * fewer * uniform_share(fraction, fewer, limit)
    ) / mean
    return share


def uniform_share_by_age(
    fraction: npt.ArrayLike, cumulative: npt.ArrayLike, limit: npt.ArrayLike
) -> Floats:
    """Compute the share of its life for which UNIFORM holds a row, by the age model.

    As `uniform_share`, except that the i-th match occurs at the age at which the curve reaches i.
    Times r W this is the number of rows that are held on average.

    Parameters
    ----------
    fraction
        p, the probability of each result to be in the sample, from 0 to 1.
    cumulative
        C(0) = 0, C(1), ... along the last axis: results of a row up to each age, the ages being
        equal parts of the window; whole or not, never falling.
    limit
        N, number of matches after which the row is discarded, 0 or more, whole; broadcast with
        the fraction and with all but the last axis of the curve.

    Examples
    --------
    >>> uniform_share_by_age(0.5, [0, 1, 2, 4, 5], limit=[1, 2, 5]).round(7).tolist()
    [0.125, 0.3125, 0.8046875]

    References
    ----------
    `srivastava04` 4.2.2, Theorem 4.3. Departs from it in that a match occurs within a part of
    the window, not at its end: the parts are coarse.
    """
    by_age = np.asarray(cumulative, np.float64)
    parts = by_age.shape[-1] - 1
    if not parts:
        return np.zeros(np.broadcast_shapes(np.shape(fraction), np.shape(limit)))
    decay = _decay(np.asarray(fraction, np.float64))[..., np.newaxis]
    last = np.asarray(limit, np.float64)[..., np.newaxis]
    # Of the matches 1 .. N, each part has those from `low` + 1 to `high`: `count` of them, at
    # equal distances of 1 / p(k) from the age of its first one on.
    reached = np.minimum(np.floor(by_age * (1 + _TOLERANCE)), last)
    low, high = reached[..., :-1], reached[..., 1:]
    count = high - low
    height = np.where(count > 0, np.diff(by_age), 1.0)
    into = np.clip((low + 1 - by_age[..., :-1]) / height, 0.0, 1.0)
    first = np.arange(parts) + into
    rest = np.maximum(count - 1, 0.0)
    # Each part's sum of p q^(high-i) C^-1(i), and q^(N-high) that none after it is chosen.
    span = np.minimum(rest / height, 1.0) * _mean_place(decay, rest)
    ages = np.where(count > 0, -np.expm1(-decay * count) * first + span, 0.0)
    held = (np.exp(-decay * (last - high)) * ages).sum(axis=-1)
    never = (decay * (last - reached[..., -1:]))[..., 0]
    share: Floats = held / parts - np.expm1(-never)
    return share


def uniform_variance(fraction: npt.ArrayLike, share: Callable[[Floats], Floats]) -> Floats:
    """Compute the variance of UNIFORM's memory if rows arrive at an even pace.

    At age a the row is still held with the probability h(a) = 1 - q^m, m being the matches that
    are left of it. Rows that arrive at an even pace are held independently of each other, so the
    variance of their number is the sum of h (1 - h) over ages, and q^2m is q^m for another
    fraction, 1 - q^2. So both sums are shares of a life: the variance is u(1 - q^2) - u(p), and
    the mean u(p). Times r W f(v), summed over the values, this is the variance of the number of
    rows that are held. It is below the mean, which is the variance if rows arrive as a Poisson
    process, and it is 0 for a fraction of 1.

    Matches must be at fixed ages, as in Theorems 4.2 and 4.3. For random ones u (1 - u) is an upper
    bound, since h (1 - h) is concave; rows of one value, which share their matches, vary more.

    Parameters
    ----------
    fraction
        p, from 0 to 1.
    share
        Returns the share of its life for which a row is held with a fraction: `uniform_share` or
        `uniform_share_by_age`, for given matches.

    Examples
    --------
    >>> uniform_variance(0.5, lambda p: uniform_share(p, [1, 2, 4])).round(6).tolist()
    [0.25, 0.21875, 0.151367]

    References
    ----------
    `srivastava04` 4.2.2: "we can also calculate the variance of the memory usage of UNIFORM"; the
    formula is not printed there.
    """
    chance = np.asarray(fraction, np.float64)
    variance: Floats = share(chance * (2.0 - chance)) - share(chance)
    return np.maximum(variance, 0.0)


def mean_for(rows: float, chance_of_more: float = 0.05) -> float:
    """Compute the mean number of rows held for which there are rarely more than `rows`.

    If rows arrive as a Poisson process and are held independently, the number held is a Poisson
    number: its variance is its mean. If they arrive at an even pace, it varies less: see
    `uniform_variance`. It varies
    more if many rows have the same value, as these share their matches: for 40 rows of one value,
    n = N = 5, the variance was three times the mean; for 4 rows of each of ten values, 1.2 times.

    The mean for which a Poisson number is above `rows` with a given probability is a quantile of
    the gamma distribution. It is computed by the approximation of Wilson and Hilferty. For a
    probability of 0.05 its error is below 3 % from 1 row on, and below 0.1 % from 10 rows on.

    Parameters
    ----------
    rows
        M, rows that may be held.
    chance_of_more
        Probability that more rows are needed, above 0 and below 1.

    Returns
    -------
    float
        The mean; at least the one for which a row is needed at all with that probability.

    Examples
    --------
    >>> [round(mean_for(rows), 2) for rows in (0, 10, 1_000, 100_000)]
    [0.05, 6.17, 949.53, 99481.42]

    References
    ----------
    `srivastava04` 4.2.2: "calculate the variance of the memory usage". Wilson, Hilferty: The
    distribution of chi-square (1931).
    """
    least = -math.log1p(-chance_of_more)
    shape = max(rows, 0.0) + 1
    deviations = NormalDist().inv_cdf(chance_of_more)
    root = 1 - 1 / (9 * shape) + deviations / (3 * math.sqrt(shape))
    return max(least, shape * root**3)


def _decay(fraction: Floats) -> Floats:
    """Return -log(1 - p): the probability that none of n matches is chosen is exp(-decay n)."""
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log1p(-fraction), _CERTAIN)


def _mean_place(decay: Floats, matches: Floats) -> Floats:
    """Compute the theorem's 1 - q (1 - q^n) / (p n): the place of the last chosen of n matches.

    With a = -log q it is 1 - (1 - exp(-n a)) / (n a) * a / (exp(a) - 1), and with s(x) =
    (exp(x) - 1) / x - 1 that is (s(a) - s(-n a)) / (1 + s(a)): two terms of one sign, so that
    no digits are lost if p or n is almost 0.
    """
    one = _excess(decay)
    place: Floats = (one - _excess(-decay * matches)) / (1 + one)
    return place


def _excess(x: Floats) -> Floats:
    """Return (exp(x) - 1) / x - 1, and 0 for 0."""
    # Below 0.01 the first term would be almost 1; six terms of the series are exact to 1e-15.
    small = x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7)))))
    near = np.abs(x) < 0.01
    divisor = np.where(near, 1.0, x)
    excess: Floats = np.where(near, small, np.expm1(x) / divisor - 1)
    return excess
