"""Every strategy that keeps to a limit of work goes through the checks that are for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

import penstock as ps
from penstock.engine.plan import bind
from penstock.statistics.recall import Estimate
from penstock.strategies import WORK_STRATEGIES, Decision, Insert
from tests.conformance.checks import (
    CHECKS,
    CHECKS_OF_SAMPLES,
    Case,
    as_lists,
    goal_of,
    in_step,
    is_part_of,
    is_sample,
    strategy_of,
    unweighted,
)
from tests.conformance.workloads import REVIEWED, WORKLOADS, workload_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from _pytest.mark import ParameterSet

    from tests.conformance.workloads import Workload

COSTS = ps.Costs(arrival=0.1, insert=1.0, compare=0.05, result=0.5)
# Where comparisons are what costs.
COMPARING = ps.Costs(arrival=0.01, insert=0.01, compare=1.0, result=0.05)
# They are about budgets that are too small, or too large, of memory.
_OF_MEMORY = {"enough_budget_gives_the_exact_join", "the_budget_is_never_exceeded"}
_CHECKS = {name: check for name, check in CHECKS.items() if name not in _OF_MEMORY}


def budget_of(
    workload: Workload, share: float, rows: int | None = None, costs: ps.Costs = COSTS
) -> ps.Budget:
    """Return a share of the work of the exact join."""
    metrics = workload.join().replay(workload.tables).metrics
    plan = bind(workload.join(), {name: table.schema for name, table in workload.tables.items()})
    columns = [workload.tables[side.name].column(side.time) for side in plan.sides]
    times = [plan.time.read(column) for column in columns]
    first = min(float(each[good].min()) for each, good in times)
    last = max(float(each[good].max()) for each, good in times)
    seconds = (last - first) / float(plan.time.units_per_second or 1)
    work = costs.of(
        arrivals=metrics.arrived,
        inserted=metrics.inserted,
        compared=metrics.compared,
        results=metrics.emitted,
    )
    return ps.Budget(cpu=0.5, costs=costs.times(0.5 / share * seconds / work), rows=rows)


@dataclass(frozen=True, eq=False)
class WorkCase(Case):
    """One strategy over one workload with too little work, and perhaps too little memory."""

    @cached_property
    def budget(self) -> ps.Budget:
        rows = self.workload.budgets["rows"].rows
        room = None if self.kind == "cpu" else 3 * (rows or 1)
        costs = COMPARING if self.strategy in {"grub", "by-cost", "random-drop"} else COSTS
        return budget_of(self.workload, 0.6, room, costs)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """One that draws, as all of them do."""
        return (Decision(insert=Insert(0.5)),)

    @property
    def name(self) -> str | None:
        name = super().name
        # A sample keeps to both limits with one fraction.
        return name if self.kind == "cpu" or is_sample(self.strategy) else f"best + {name}"


def _checks_of(case: WorkCase) -> dict[str, Callable[[Case], None]]:
    return _CHECKS | (dict(CHECKS_OF_SAMPLES) if is_sample(case.strategy) else {})


def _serves(name: str, workload: Workload) -> bool:
    by_lot = not strategy_of(name).needs.match_rates and not is_sample(name)
    return len(workload.streams) == 2 or by_lot


WITHIN, SIMILAR = (workload_named(name) for name in ("within", "similar"))
SAMPLES = ("uniform", "eq-cluster", "pps-cluster", "cluster")
CASES = [
    WorkCase(REVIEWED, "by-partner", "cpu"),
    WorkCase(WORKLOADS[1], "probe-no-insert", "cpu"),
    WorkCase(REVIEWED, "uniform", "cpu"),
    WorkCase(REVIEWED, "pps-cluster", "both"),
    WorkCase(WITHIN, "grub", "cpu"),
    WorkCase(SIMILAR, "grub", "cpu"),
    WorkCase(WITHIN, "grub", "both"),
    WorkCase(SIMILAR, "grub", "both"),
    WorkCase(SIMILAR, "by-cost", "cpu"),
    WorkCase(SIMILAR, "random-drop", "cpu"),
]


# In every run: that cuts and restarts change nothing, by value and, of three streams, by lot.
_IN_EVERY_RUN = {
    ("by-partner", REVIEWED.name, "saving_changes_nothing"),
    ("by-partner", REVIEWED.name, "the_cut_into_batches_changes_nothing"),
    ("probe-no-insert", WORKLOADS[1].name, "saving_changes_nothing"),
    ("probe-no-insert", WORKLOADS[1].name, "the_cut_into_batches_changes_nothing"),
    ("uniform", REVIEWED.name, "saving_changes_nothing"),
    ("uniform", REVIEWED.name, "the_cut_into_batches_changes_nothing"),
}


def _marked(case: WorkCase, check: str) -> ParameterSet:
    here = (case.strategy, case.workload.name, check) in _IN_EVERY_RUN and case.kind == "cpu"
    marks = () if here else pytest.mark.slow
    return pytest.param(case, check, marks=marks, id=f"{case}, {check}")


@pytest.mark.parametrize(
    ("case", "check"), [_marked(case, check) for case in CASES for check in _checks_of(case)]
)
def test_conforms(case: WorkCase, check: str) -> None:
    _checks_of(case)[check](case)


@pytest.mark.parametrize("name", [*WORK_STRATEGIES, *SAMPLES])
@pytest.mark.parametrize("workload", [*WORKLOADS, REVIEWED], ids=lambda each: each.name)
def test_enough_work_gives_the_exact_join(name: str, workload: Workload) -> None:
    if not _serves(name, workload):
        pytest.skip("for two streams")
    join = workload.join(goal_of(name), budget_of(workload, 100.0))
    replay = join.replay(workload.tables)
    assert unweighted(replay.result) == workload.exact
    assert replay.metrics.lost == 0
    assert replay.metrics.throttle == 1.0
    assert replay.metrics.recall == Estimate(1.0, 1.0, 1.0)


@pytest.mark.parametrize("workload", [*WORKLOADS, REVIEWED], ids=lambda each: each.name)
def test_without_a_name_a_strategy_is_chosen(workload: Workload) -> None:
    join = workload.join(ps.MaxSubset(), budget_of(workload, 0.3))
    replay = join.replay(as_lists(in_step(Case(workload))))
    by_lot = "probe-no-insert" if workload.on.finds_partners_only else "best-lot"
    chosen = "by-partner" if len(workload.streams) == 2 else by_lot
    if not workload.on.has_index:
        chosen = "by-cost"
    assert replay.metrics.strategy == chosen
    assert is_part_of(unweighted(replay.result), workload.exact)


def test_a_strategy_by_value_is_refused_for_three_streams() -> None:
    workload = WORKLOADS[1]
    with pytest.raises(ps.SpecificationError) as caught:
        workload.join(ps.MaxSubset(strategy="by-partner"), ps.Budget(cpu=0.5, costs=COSTS))
    words = str(caught.value)
    assert "must be one that sheds by lot, of 3 streams" in words
    assert "probe-no-insert" in words


def test_the_costs_are_part_of_the_join_that_a_state_belongs_to() -> None:
    workload = REVIEWED
    join = workload.join(ps.MaxSubset(), budget_of(workload, 0.3))
    schemas = {name: table.schema for name, table in workload.tables.items()}
    other = workload.join(ps.MaxSubset(), ps.Budget(cpu=0.5, costs=COSTS))
    assert bind(join, schemas).description != bind(other, schemas).description
