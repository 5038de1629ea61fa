"""`Costs`: what the steps of a join cost, in units of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["Costs"]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What the steps of a join cost, for `Budget(cpu=...)`.

    In seconds where times are timestamps, and in the unit of the time columns where these are
    numbers.

    Parameters
    ----------
    arrival
        Of each row that arrives, whatever becomes of it.
    insert
        To take a row into a window, and out again: C_u of `ayad05`.
    compare
        Of each row in a window that an arriving row is compared with.
    result
        Of each result: C_p of `ayad05`.

    Examples
    --------
    >>> Costs(insert=0.002, result=0.0005).of(arrivals=10, inserted=5, compared=20, results=20)
    0.02
    """

    arrival: float = 0.0
    insert: float = 0.0
    compare: float = 0.0
    result: float = 0.0

    def __post_init__(self) -> None:
        """Check that costs are amounts of time."""
        for each in fields(self):
            value = getattr(self, each.name)
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not 0 <= value < math.inf:
                hint = "write 2e-6 for two microseconds, 0 if it costs nothing"
                raise SpecificationError(
                    must(f"{each.name} of Costs", "a number of 0 or more", value, hint)
                )
        if not any(getattr(self, each.name) for each in fields(self)):
            hint = "write Costs(insert=1e-6, result=2e-6), for instance"
            raise SpecificationError(must("Costs", "above 0 for one step at least", self, hint))

    @classmethod
    def usual(cls) -> Self:
        """Return what steps usually cost on Spark, in seconds; see docs/cpu.md."""
        return cls(arrival=1e-6, insert=0.5e-6, compare=0.05e-6, result=0.4e-6)

    def of(self, *, arrivals: float, inserted: float, compared: float, results: float) -> float:
        """Return what so many steps cost."""
        return (
            self.arrival * arrivals
            + self.insert * inserted
            + self.compare * compared
            + self.result * results
        )

    def of_counted(self, counted: Sequence[float] | Floats) -> float:
        """Return what numbers of arrivals, insertions, comparisons and results cost."""
        arrivals, inserted, compared, results = (float(each) for each in counted)
        return self.of(arrivals=arrivals, inserted=inserted, compared=compared, results=results)

    def times(self, factor: float) -> Costs:
        """Return the same costs in another unit of time."""
        return Costs(**{each.name: factor * getattr(self, each.name) for each in fields(self)})
