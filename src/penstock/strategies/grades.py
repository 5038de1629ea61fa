"""Grades: steps of likeliness, so that a chance for each of them is a short table."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["ABOVE", "BELOW", "GRADES", "PER_OCTAVE", "grade_of", "likeliness_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Octaves of likeliness that have grades, below and above the average, and the grades in each: a
# key's grade is the part of an octave that its likeliness is in.
BELOW: Final = 14
ABOVE: Final = 6
PER_OCTAVE: Final = 16
GRADES: Final = PER_OCTAVE * (BELOW + ABOVE) + 1


def grade_of(likeliness: Floats) -> Integers:
    """Return the grades of keys that are this likely to match; sixteen to an octave.

    >>> grade_of(np.array([0.0, 0.5, 1.0, 1.9, 1e9])).tolist()
    [0, 208, 224, 238, 320]
    """
    parts = np.floor(PER_OCTAVE * np.log2(np.maximum(likeliness, 1e-300)))
    lowest, highest = -PER_OCTAVE * BELOW, PER_OCTAVE * ABOVE
    grades: Integers = np.clip(parts, lowest, highest).astype(np.int64) - lowest
    return grades


def likeliness_of(grades: Integers) -> Floats:
    """Return how likely keys of these grades are to match, in the middle of each.

    >>> grade_of(likeliness_of(np.array([0, 224, 320]))).tolist()
    [0, 224, 320]
    """
    likeliness: Floats = 2.0 ** ((grades + 0.5) / PER_OCTAVE - BELOW)
    return likeliness
