"""What a micro-batch of the exact join takes on this machine, by what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Sample", "Size", "Speed", "fit"]

# Seconds for what is too small to be measured.
_SMALL = 1e-12


@dataclass(frozen=True)
class Size:
    """How much is joined in a second of the streams.

    Attributes
    ----------
    rate
        Rows of each stream.
    work
        For one row of each stream: results, or comparisons, whichever it is that costs time.
    """

    rate: int
    work: float


@dataclass(frozen=True)
class Sample:
    """What micro-batches of one size take.

    Attributes
    ----------
    size
        What is in one of them.
    seconds
        Median of the micro-batches.
    """

    size: Size
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What a micro-batch of the exact join takes, on all cores together.

    Attributes
    ----------
    floor
        Seconds, whatever is in it.
    row
        Seconds for a row of each stream.
    work
        Seconds for a result or a comparison.

    Examples
    --------
    >>> speed = Speed(floor=0.2, row=1e-5, work=1e-6)
    >>> speed.seconds(4_000, work=80)
    0.56
    """

    floor: float
    row: float
    work: float

    def seconds(self, rows: float, work: float) -> float:
        """Return what a micro-batch takes with so many rows of each stream, and their work."""
        return self.floor + rows * (self.row + work * self.work)


def fit(samples: Sequence[Sample]) -> Speed:
    """Return the speed that explains the measured times best.

    Times are weighed by their inverse, so that errors count by their share. What is too small to
    be measured, and would come out below 0, is left out.

    Examples
    --------
    >>> true = Speed(floor=0.2, row=1e-4, work=5e-7)
    >>> sizes = [Size(1_000, 80.0), Size(4_000, 80.0), Size(4_000, 2.0)]
    >>> found = fit([Sample(size, true.seconds(size.rate, size.work)) for size in sizes])
    >>> f"{found.floor:.3f} {found.row:.2g} {found.work:.2g}"
    '0.200 0.0001 5e-07'
    """
    seconds = np.array([sample.seconds for sample in samples])
    rows = np.array([sample.size.rate for sample in samples], np.float64)
    work = rows * [sample.size.work for sample in samples]
    terms = np.column_stack([np.ones(rows.size), rows, work]) / seconds[:, None]
    kept = [0, 1, 2]
    while True:
        found, *_ = np.linalg.lstsq(terms[:, kept], np.ones(rows.size))
        if found.min() >= 0.0:
            break
        del kept[int(np.argmin(found * np.abs(terms[:, kept]).sum(axis=0)))]
    each = [float(found[kept.index(at)]) if at in kept else 0.0 for at in range(3)]
    return Speed(floor=each[0], row=max(each[1], _SMALL), work=max(each[2], _SMALL))
