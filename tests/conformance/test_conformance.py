"""Every strategy in the table goes through every check that is for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from penstock.strategies import (
    GRADES,
    STRATEGIES,
    Admit,
    Decision,
    EqCluster,
    Ijoin,
    Insert,
    LowestRating,
    Needs,
    Oldest,
    Probe,
    Retain,
    Strategy,
    Uniform,
)
from tests.conformance.checks import (
    CHECKS,
    CHECKS_OF_SAMPLES,
    Case,
    checks_of,
    conforms,
    is_sample,
    suits,
)
from tests.conformance.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    import numpy.typing as npt
    from _pytest.mark import ParameterSet

    from penstock.strategies import Rows, View

# What every run has, so that `make test` stays short: every way to keep rows in order over one
# workload, one of them over another, the exact join over all predicates, and one budget in bytes,
# which only changes the limit.
# `make slow` has the rest. Of those that are left out `greedy` evicts as `random` does, by another
# number; the workloads are too short to learn from, and until then `age`, `prob` and `best` do as
# `expected` does, `worth` as `best`, and the clusters as `cluster` (tests/engine/test_learning.py).
_IN_EVERY_RUN = {None, "fifo", "random", "expected", "ijoin", "uniform", "cluster"}
_OVER_ALL_PREDICATES = {None, "random"}


def _goes_over(strategy: str, workload: Workload, kind: str) -> bool:
    """Return whether a strategy goes over a workload with a kind of budget.

    Over the first workload all strategies have both kinds. Over the others one of each way to keep
    rows in order has one kind, by turns, so that each strategy and each workload has both: bytes
    only change the limit. The rest go over one more, each over another.
    """
    place, number = WORKLOADS.index(workload), list(STRATEGIES).index(strategy)
    if place == 0 or strategy in _OVER_ALL_PREDICATES:
        return True
    by_turns = "memory" if (number + place) % 2 else "rows"
    others = len(WORKLOADS) - 1
    return kind == by_turns and (strategy in _IN_EVERY_RUN or number % others == place - 1)


EXACT = [Case(workload) for workload in WORKLOADS]
SHEDDING = [
    Case(workload, strategy, kind)
    for strategy in STRATEGIES
    for workload in WORKLOADS
    if suits(strategy, workload)
    for kind in workload.budgets
    if _goes_over(strategy, workload, kind)
]


def _marked(case: Case) -> ParameterSet:
    here = case.strategy in _IN_EVERY_RUN and case.workload.name == "equal of two"
    here = here or case.strategy is None
    here = here or (case.strategy == "random" and case.workload.name == "within")
    here = here and (case.kind != "memory" or case.strategy == "fifo")
    return pytest.param(case, marks=() if here else pytest.mark.slow, id=str(case))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("case", [_marked(case) for case in (*EXACT, *SHEDDING)])
def test_conforms(check: str, case: Case) -> None:
    CHECKS[check](case)


@pytest.mark.parametrize("check", CHECKS_OF_SAMPLES)
@pytest.mark.parametrize("case", [_marked(case) for case in SHEDDING if is_sample(case.strategy)])
def test_conforms_as_a_sample(check: str, case: Case) -> None:
    CHECKS_OF_SAMPLES[check](case)


# --- Strategies from outside the table


@dataclass(frozen=True)
class Some(Strategy):
    """Leaves out a step of some rows, by lot."""

    name: ClassVar[str] = "some"
    step: str
    chance: float

    def decide(self, view: View) -> Decision:
        kind = {"admit": Admit, "probe": Probe, "insert": Insert}[self.step]
        return view.previous or Decision(**{self.step: kind(self.chance)})


@dataclass(frozen=True)
class NewerThird(Strategy):
    """Probes a third of each window."""

    name: ClassVar[str] = "newer-third"

    def decide(self, view: View) -> Decision:
        probed = np.zeros((len(view.streams), len(view.streams), 3), np.bool_)
        probed[:, :, 0] = True
        return view.previous or Decision(probe=Probe(sub_windows=probed))


@dataclass(frozen=True)
class FewerAndFewer(Strategy):
    """Inserts fewer rows from review to review, and gives the first stream more room."""

    name: ClassVar[str] = "fewer-and-fewer"

    def decide(self, view: View) -> Decision:
        if view.previous is None:
            return Decision()
        shares = (0.7, *([0.3 / (len(view.streams) - 1)] * (len(view.streams) - 1)))
        chances = 0.8 * np.asarray(view.previous.insert.chances)
        return Decision(insert=Insert(float(chances)), retain=Retain(Oldest(), shares))


@dataclass(frozen=True)
class ByLikeliness(Strategy):
    """Rates rows by draws and by their keys, and drops half of the rows with unlikely keys."""

    name: ClassVar[str] = "by-likeliness"
    needs: ClassVar[Needs] = Needs(frequencies=True, rates=True, draws=True)

    def decide(self, view: View) -> Decision:
        chances = np.ones((len(view.streams), GRADES))
        chances[:, : GRADES // 2] = 0.5
        return view.previous or Decision(
            insert=Insert(chances), retain=Retain(LowestRating(favours_held=True))
        )

    def rate(self, view: View, rows: Rows) -> npt.NDArray[np.float64]:
        return np.round(rows.likeliness, 1) + rows.draws() / 100


OWN = (
    Some("admit", 0.5),
    Some("probe", 0.7),
    Some("insert", 0.6),
    NewerThird(),
    FewerAndFewer(),
    ByLikeliness(),
)


# tests/test_extending.py has others, also in `make slow`: `make test` has those of the table only.
@pytest.mark.slow
@pytest.mark.parametrize("strategy", OWN[1::2], ids=str)
def test_a_strategy_from_outside_conforms(strategy: Strategy) -> None:
    served = [WORKLOADS[0], WORKLOADS[2]]
    cases = sum(len(each.budgets) for each in served)
    assert conforms(strategy, served) >= cases * (len(CHECKS) - 1)


@pytest.mark.parametrize("strategy", OWN, ids=str)
def test_a_check_is_left_out_where_the_rule_says_so(strategy: Strategy) -> None:
    served = [workload.name for workload in WORKLOADS if suits(strategy, workload)]
    assert served == [workload.name for workload in WORKLOADS]
    left_out = set(CHECKS) - set(checks_of(Case(WORKLOADS[0], strategy, "rows")))
    assert left_out == {"enough_budget_gives_the_exact_join"}


def test_a_strategy_of_the_table_may_be_an_object() -> None:
    workload = WORKLOADS[0]
    assert conforms(Ijoin(maturity=0.2), [workload]) == conforms("fifo", [workload.name])
    assert checks_of(Case(workload, Uniform(), "rows")).keys() == {*CHECKS, *CHECKS_OF_SAMPLES}


def test_a_strategy_that_serves_no_workload_is_not_said_to_conform() -> None:
    with pytest.raises(ValueError, match="no workload that EqCluster"):
        conforms(EqCluster(), ["equal of three"])


def test_a_strategy_with_a_state_does_not_conform() -> None:
    class Alternating(Strategy):
        """Rates rows by what it was asked before: another cut into batches, another result."""

        name: ClassVar[str] = "alternating"
        asked = 0

        def decide(self, view: View) -> Decision:
            return view.previous or Decision(retain=Retain(LowestRating()))

        def rate(self, view: View, rows: Rows) -> npt.NDArray[np.float64]:
            type(self).asked += 1
            return np.arange(rows.ages.size, dtype=np.float64) * (1 - 2 * (self.asked % 2))

    with pytest.raises(AssertionError) as caught:
        conforms(Alternating(), ["equal of two"])
    assert "alternating, equal of two, rows" in caught.value.__notes__[0]
