"""What is known of a key in one stream from how often it comes in the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["KeyPrior", "class_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Classes of keys: one for each octave of the rows that they have in the row's own stream.
_CLASSES = 48
# Neighbouring classes count half: an octave is a step, and keys on both sides of it are alike.
_NEIGHBOURS = 0.5
# Rows that a key which has not come is taken to have had, so that it is not impossible.
_NEW = 0.5
# By which the variance of counts is above what it is expected to be, by chance.
_DEVIATIONS = 2.0
# Keys whose rates have so large a shape are alike.
_ALIKE = 1000.0
# Of one key alone, or hardly more, nothing tells how much keys of its class differ: it has the rows
# that have come, and hardly any belief.
_ALONE, _BELIEF_ALONE = 1.5, 0.5
# Digits that count: sums of counts may differ in their last ones after a restart.
_DIGITS = 6


def class_of(counts: Floats) -> Integers:
    """Return the classes of keys by the rows that they have in their own stream.

    >>> class_of(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1e30])).tolist()
    [0, 1, 2, 2, 3, 47]
    """
    octaves = np.frexp(counts + _NEW)[1]
    return np.clip(octaves, 0, _CLASSES - 1).astype(np.int64)


@dataclass(frozen=True)
class KeyPrior:
    """What is known of a key's rows in one stream before one has come there.

    By class of how often the key comes in the other stream, Gamma-distributed as counts are: keys
    that are about equally frequent in one stream often are about equally frequent in the other.
    Where they are not, that shows in their counts, and only these are believed.

    Attributes
    ----------
    shapes
        The larger it is, the more alike keys of a class are.
    means
        Rows of a key of each class, on average.

    References
    ----------
    An empirical Bayes estimate with one covariate, as in Robbins, *An empirical Bayes approach to
    statistics* (1956); shapes by the method of moments.
    """

    shapes: Floats = field(default_factory=lambda: np.ones(1))
    means: Floats = field(default_factory=lambda: np.full(1, _NEW))

    @classmethod
    def of(cls, counts: Floats, own: Floats, rows: Floats) -> KeyPrior:
        """Return how much keys differ in their counts, beyond what chance brings.

        Parameters
        ----------
        counts
            Rows of keys in the stream that this is about.
        own
            Their rows in the other stream, which are known.
        rows
            For how many of these rows each key stands.

        Examples
        --------
        >>> prior = KeyPrior.of(np.full(50, 3.0), own=np.full(50, 20.0), rows=np.full(50, 20.0))
        >>> prior.expected(np.array([0.0, 6.0]), own=np.array([20.0, 20.0])).round(2).tolist()
        [2.99, 3.01]
        """
        classes = class_of(own)
        total = _summed(classes, rows)
        known = np.flatnonzero(total > 0.0)
        if not known.size:
            return cls()
        sums = (rows * rows, rows * counts, rows * counts**2)
        total, squares, first, second = (
            each[known] for each in (total, *(_summed(classes, each) for each in sums))
        )
        # If no key has come here, about half a row of one of those rows' keys might have.
        means = np.maximum(first, _NEW) / total
        keys = np.maximum(total**2 / squares, 1.0)
        variances = (second / total - means**2) * keys / np.maximum(keys - 1.0, 0.5)
        # Counts of keys that are all alike vary like Poisson numbers, and by chance some more.
        chance = means + _DEVIATIONS * np.sqrt((means + 2.0 * means**2) / keys)
        shapes = means**2 / np.maximum(variances - chance, means**2 / _ALIKE)
        shapes = np.where(keys < _ALONE, np.minimum(shapes, _BELIEF_ALONE), shapes)
        # A class of which no key has come has what the next one has.
        nearest = np.minimum(np.searchsorted(known, np.arange(_CLASSES)), known.size - 1)
        return cls(_rounded(shapes)[nearest], _rounded(means)[nearest])

    def expected(self, counts: Floats, own: Floats) -> Floats:
        """Return the rows that keys can be expected to have had, by their counts and classes.

        The fewer rows there are of a key, the more it is taken to be like others of its class.
        """
        at = np.minimum(class_of(own), self.shapes.size - 1)
        shapes = self.shapes[at]
        expected: Floats = (counts + shapes) / (1.0 + shapes / self.means[at])
        return expected

    def save(self) -> Floats:
        """Return the state, for `restored`."""
        return np.stack([self.shapes, self.means])

    @classmethod
    def restored(cls, saved: Floats) -> KeyPrior:
        """Return the saved one."""
        shapes, means = saved.astype(np.float64).reshape(2, -1)
        return cls(shapes, means)


def _summed(classes: Integers, what: Floats) -> Floats:
    """Return sums by class, of neighbours in part."""
    sums = np.bincount(classes, what, _CLASSES)
    padded = np.pad(sums, 1)
    smoothed: Floats = sums + _NEIGHBOURS * (padded[:-2] + padded[2:])
    return smoothed


def _rounded(numbers: Floats) -> Floats:
    """Return numbers with the digits that count.

    >>> _rounded(np.array([1.23456789, 1234567.89])).tolist()
    [1.23457, 1234570.0]
    """
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.maximum(numbers, 1e-300))))
    rounded: Floats = np.round(numbers * scale) / scale
    return rounded
