"""Insert, no probe: all rows are inserted, some do not look for results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.statistics.work_output import insert_no_probe
from penstock.strategies.work import ByLot

if TYPE_CHECKING:
    from penstock.statistics.work_by_lot import Step
    from penstock.statistics.work_output import Steps, WorkModel


@dataclass(frozen=True)
class InsertNoProbe(ByLot):
    """Insert all rows, and let as many look for results as there is work for.

    Never better than the other two: rows that do not look for results cost what the others do.

    References
    ----------
    INP in `ayad05` 3.3, equations 12 and 13, and Theorem 2.
    """

    name: ClassVar[str] = "insert-no-probe"
    step: ClassVar[Step] = "probe"

    def solve(self, model: WorkModel, capacity: float) -> Steps:
        """Return the best chances of each stream."""
        return insert_no_probe(model, capacity)
