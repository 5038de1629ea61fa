"""`OperatorCosts`: what the operators of a plan cost for each row."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from penstock.costs import Costs

__all__ = ["OperatorCosts"]


@dataclass(frozen=True, kw_only=True)
class OperatorCosts:
    """What the operators of a plan cost for each row, in units of time.

    Parameters
    ----------
    select
        To test a row by a selection: C_sigma.
    project
        To project a row, at the end of a plan.
    insert, invalidate
        To take a row into a window, and out again when it has expired: C_I and C_V.
    probe
        To look for the matches of a row in one window: C_P.
    result
        Of each result of a join. The paper has no such cost: its C_P is the same however many
        rows match.

    References
    ----------
    `ayad04` Table 1.

    Examples
    --------
    >>> OperatorCosts(insert=1e-3, invalidate=1e-3, probe=2e-3).join
    0.004
    """

    select: float = 0.0
    project: float = 0.0
    insert: float = 0.0
    invalidate: float = 0.0
    probe: float = 0.0
    result: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not 0 <= value < math.inf:
                hint = "write 0.0005 for half a millisecond, 0 if it costs nothing"
                raise SpecificationError(
                    must(f"{each.name} of OperatorCosts", "a number of 0 or more", value, hint)
                )
        if not any(getattr(self, each.name) for each in fields(self)):
            hint = "write OperatorCosts.per_row(0.0005), for instance"
            raise SpecificationError(must("OperatorCosts", "above 0 for one at least", self, hint))

    @classmethod
    def per_row(cls, cost: float) -> Self:
        """Return the costs of Example 1: a join takes the same time for each row, whatever for.

        >>> OperatorCosts.per_row(0.004).join
        0.004
        """
        return cls(probe=cost)

    @classmethod
    def measured(cls, costs: Costs) -> Self:
        """Return the costs of Penstock's own operator, from those of its steps.

        Taking a row out of a window is part of `insert` there. An index finds the rows that
        match, so each comparison is one with a match. A selection runs in Spark's own code; it is
        taken to cost a tenth of what it costs to hand a row to the join.

        >>> from penstock.costs import Costs
        >>> OperatorCosts.measured(Costs(arrival=1e-6, insert=5e-7, compare=1e-7, result=3e-6))
        OperatorCosts(select=1e-07, project=0.0, insert=5e-07, invalidate=0.0, probe=1e-06, \
result=3.1e-06)
        """
        return cls(
            select=0.1 * costs.arrival,
            insert=costs.insert,
            probe=costs.arrival,
            result=costs.compare + costs.result,
        )

    @property
    def store(self) -> float:
        """To keep a row in a window: C_I + C_V."""
        return self.insert + self.invalidate

    @property
    def join(self) -> float:
        """Of a row at a symmetric join, without its results: C_I + C_V + C_P of equation 9."""
        return self.insert + self.invalidate + self.probe

    def dilated(self, share: float) -> OperatorCosts:
        """Return the costs of operators that run only in a share of the time (section 3.3.3).

        A selection that takes 1 ms and shares the processor with nine others takes 10 ms:

        >>> OperatorCosts(select=0.001).dilated(0.1).select
        0.01
        """
        if not 0 < share <= 1:
            hint = "write 0.1 for an operator that shares the processor with nine others"
            raise SpecificationError(must("share", "above 0 and at most 1", share, hint))
        return OperatorCosts(
            **{each.name: getattr(self, each.name) / share for each in fields(self)}
        )
