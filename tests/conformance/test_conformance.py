"""Every strategy in the table goes through every check that is for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.strategies import STRATEGIES
from tests.conformance.checks import CHECKS, CHECKS_OF_SAMPLES, Case, is_sample, serves
from tests.conformance.workloads import WORKLOADS

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

EXACT = [Case(workload) for workload in WORKLOADS]
SHEDDING = [
    Case(workload, strategy, kind)
    for strategy in STRATEGIES
    for workload in WORKLOADS
    if serves(strategy, len(workload.streams))
    for kind in workload.budgets
]
# Budgets in bytes only change the limit. In every run they go through with one strategy that evicts
# as rows come and one that learns.
_IN_EVERY_RUN = {None, "fifo", "age"}

# These workloads are too short to learn from, and until then `cluster` does what both of its
# experts do; `best` goes the way of `expected`. `tests/engine/test_learning.py` has longer ones,
# for all, `worth` among them, which goes the way of `best`. `greedy` evicts as `random` does, by
# another number.
_LIKE_ANOTHER = {"eq-cluster", "pps-cluster", "expected", "worth", "greedy"}


def _marked(case: Case) -> ParameterSet:
    later = case.kind == "memory" and case.strategy not in _IN_EVERY_RUN
    later = later or case.strategy in _LIKE_ANOTHER
    return pytest.param(case, marks=pytest.mark.slow if later else (), id=str(case))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("case", [_marked(case) for case in (*EXACT, *SHEDDING)])
def test_conforms(check: str, case: Case) -> None:
    CHECKS[check](case)


@pytest.mark.parametrize("check", CHECKS_OF_SAMPLES)
@pytest.mark.parametrize("case", [_marked(case) for case in SHEDDING if is_sample(case.strategy)])
def test_conforms_as_a_sample(check: str, case: Case) -> None:
    CHECKS_OF_SAMPLES[check](case)
