"""The rows of one stream: their times, values and importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Arrivals", "Redefinition"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The rows of one stream, in order of arrival.

    Parameters
    ----------
    times
        In time units; never falling. Rows of equal times, of both streams, form one time step.
    values
        Of the join attribute.
    importance
        Above zero; it holds until it is redefined.

    Examples
    --------
    >>> Arrivals.of([1, 2, 2], "aba", [1, 5, 1]).values.tolist()
    ['a', 'b', 'a']
    """

    times: Floats
    values: npt.NDArray[Any]
    importance: Floats

    def __post_init__(self) -> None:
        if not self.times.shape == self.values.shape == self.importance.shape == (len(self),):
            raise SpecificationError(
                must(
                    "times, values and importance",
                    "of one length",
                    (self.times.shape, self.values.shape, self.importance.shape),
                    "give one of each for every row",
                )
            )
        if not (np.diff(self.times) >= 0).all():
            raise SpecificationError(
                must("times", "in order, never falling", self.times.tolist(), "sort the rows")
            )

    def __len__(self) -> int:
        return self.times.size

    @classmethod
    def of(
        cls, times: Sequence[float], values: Sequence[object], importance: Sequence[float]
    ) -> Arrivals:
        """Make arrivals from plain sequences."""
        return cls(
            np.asarray(times, np.float64),
            np.array(list(values)),
            np.asarray(importance, np.float64),
        )


@dataclass(frozen=True, eq=False)
class Redefinition:
    """The user changes the importance function, and with it the importance of every row.

    Parameters
    ----------
    time
        From here on, rows in memory included.
    importance
        Of all rows of both streams, rows that have left memory included.
    """

    time: float
    importance: tuple[Floats, Floats]
