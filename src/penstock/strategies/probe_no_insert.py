"""Probe, no insert: all rows look for results, some are not inserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.statistics.work_output import probe_no_insert
from penstock.strategies.work import ByLot

if TYPE_CHECKING:
    from penstock.statistics.work_by_lot import Step
    from penstock.statistics.work_output import Steps, WorkModel


@dataclass(frozen=True)
class ProbeNoInsert(ByLot):
    """Let all rows look for results, and insert as many as there is work for.

    The best way to shed by lot.

    References
    ----------
    PNI in `ayad05` 3.3, equations 14 and 15, and Theorem 3.
    """

    name: ClassVar[str] = "probe-no-insert"
    step: ClassVar[Step] = "insert"

    def solve(self, model: WorkModel, capacity: float) -> Steps:
        """Return the best chances of each stream."""
        return probe_no_insert(model, capacity)
