"""Every strategy in the table goes through every check."""

from __future__ import annotations

import pytest

from penstock.strategies import STRATEGIES
from tests.conformance.checks import CHECKS, Case
from tests.conformance.workloads import WORKLOADS

EXACT = [Case(workload) for workload in WORKLOADS]
SHEDDING = [
    Case(workload, strategy, kind)
    for strategy in STRATEGIES
    for workload in WORKLOADS
    for kind in workload.budgets
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("case", [*EXACT, *SHEDDING], ids=str)
def test_conforms(check: str, case: Case) -> None:
    CHECKS[check](case)
