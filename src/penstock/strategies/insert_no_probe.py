"""Insert, no probe: all rows are inserted, some do not look for results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.work_output import insert_no_probe
from penstock.strategies.decision import Insert
from penstock.strategies.work import ByLot, least_chance

if TYPE_CHECKING:
    from penstock.statistics.work_by_lot import Step
    from penstock.statistics.work_output import Steps, WorkModel
    from penstock.strategies.decision import Decision
    from penstock.strategies.view import WorkView


@dataclass(frozen=True)
class InsertNoProbe(ByLot):
    """Insert all rows, and let as many look for results as there is work for.

    Never better than the other two: rows that do not look for results cost what the others do.

    References
    ----------
    INP in `ayad05` 3.3, equations 12 and 13, and Theorem 2. Departs from the paper where inserting
    all rows takes more than is allowed, for which it has no solution: then as many are inserted as
    there is work for.
    """

    name: ClassVar[str] = "insert-no-probe"
    step: ClassVar[Step] = "probe"

    def solve(self, model: WorkModel, capacity: float) -> Steps:
        """Return the best chances of each stream."""
        return insert_no_probe(model, capacity)

    def share_out(self, work: WorkView) -> Decision:
        """Return the best chances to probe, and to be inserted if not all can be."""
        decision = super().share_out(work)
        inserting = float(work.rates.sum()) * work.costs.insert
        if inserting <= work.left_for_steps:
            return decision
        part = max(work.left_for_steps / inserting, least_chance(work))
        return replace(decision, insert=Insert(np.full(work.rates.size, part)))
