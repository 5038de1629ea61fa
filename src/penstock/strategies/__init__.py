"""The strategies, in one table: a new one is a module of its own, and a line here.

Its name is also in `strategy_names` of the goals that it serves, which refuse all others.

A user's own strategy needs no line: an object of it is given to the goal (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must
from penstock.goals import Goal, MaxImportance, MaxSubset, Sample
from penstock.strategies.age import Age
from penstock.strategies.base import Model, Needs, Resource, Strategy
from penstock.strategies.best import Best
from penstock.strategies.best_lot import BestLot
from penstock.strategies.by_cost import ByCost
from penstock.strategies.by_partner import ByPartner
from penstock.strategies.cluster import Cluster
from penstock.strategies.coin_flip import CoinFlip
from penstock.strategies.decision import Admit, Decision, Emit, Insert, Probe, Retain, combine
from penstock.strategies.eq_cluster import EqCluster
from penstock.strategies.expected import Expected
from penstock.strategies.fifo import Fifo
from penstock.strategies.grades import GRADES, grade_of, likeliness_of
from penstock.strategies.greedy import Greedy
from penstock.strategies.grub import Grub
from penstock.strategies.ijoin import Ijoin
from penstock.strategies.insert_no_probe import InsertNoProbe
from penstock.strategies.max_subset import MaxSubsetOfValues
from penstock.strategies.orders import (
    LowestRating,
    LowestScore,
    Oldest,
    Order,
    ResidencePriority,
    SampleThreshold,
)
from penstock.strategies.pps_cluster import PpsCluster
from penstock.strategies.prob import Prob
from penstock.strategies.probe_no_insert import ProbeNoInsert
from penstock.strategies.random import Random
from penstock.strategies.random_drop import RandomDrop
from penstock.strategies.sampling import SamplingStrategy
from penstock.strategies.scoring import ScoringStrategy
from penstock.strategies.uniform import Uniform
from penstock.strategies.until_expiry import UntilExpiry
from penstock.strategies.view import KeySample, Rows, SampledRows, StreamView, View, WorkView
from penstock.strategies.worth import Worth

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from penstock.budget import Budget
    from penstock.spec import Specification

__all__ = [
    "GRADES",
    "STRATEGIES",
    "WORK_STRATEGIES",
    "Admit",
    "Age",
    "Best",
    "BestLot",
    "ByCost",
    "ByPartner",
    "Cluster",
    "CoinFlip",
    "Decision",
    "Emit",
    "EqCluster",
    "Expected",
    "Fifo",
    "Greedy",
    "Grub",
    "Ijoin",
    "Insert",
    "InsertNoProbe",
    "KeySample",
    "LowestRating",
    "LowestScore",
    "MaxSubsetOfValues",
    "Model",
    "Needs",
    "Oldest",
    "Order",
    "PpsCluster",
    "Prob",
    "Probe",
    "ProbeNoInsert",
    "Random",
    "RandomDrop",
    "ResidencePriority",
    "Resource",
    "Retain",
    "Rows",
    "SampleThreshold",
    "SampledRows",
    "SamplingStrategy",
    "ScoringStrategy",
    "Strategy",
    "StreamView",
    "Uniform",
    "UntilExpiry",
    "View",
    "WorkView",
    "Worth",
    "combine",
    "grade_of",
    "likeliness_of",
    "reason_for",
    "strategies_for",
    "strategies_of",
]

STRATEGIES: Mapping[str, type[Strategy]] = {
    "fifo": Fifo,  # the oldest leaves first
    "random": Random,  # a random one leaves
    "until-expiry": UntilExpiry,  # arriving rows only find what room is left
    "age": Age,  # by the age curve
    "prob": Prob,  # by the keys' frequencies
    "expected": Expected,  # by both, and by what each has given so far
    "best": Best,  # the one that finds most on trial, or predicts best
    "uniform": Uniform,  # a sample: results drawn one by one
    "eq-cluster": EqCluster,  # a sample: rows with all their matches, equal chances
    "pps-cluster": PpsCluster,  # a sample: the same, with chances by size
    "cluster": Cluster,  # the one of the last two that tells sizes better
    "greedy": Greedy,  # by importance alone
    "ijoin": Ijoin,  # by importance times matches per age, less a penalty
    "worth": Worth,  # by importance times the matches to be expected
}

# Those that keep to a limit of work.
WORK_STRATEGIES: Mapping[str, type[Strategy]] = {
    "coin-flip": CoinFlip,  # rows are dropped
    "insert-no-probe": InsertNoProbe,  # some do not look for results
    "probe-no-insert": ProbeNoInsert,  # some are not inserted
    "max-subset": MaxSubsetOfValues,  # rows of the best values take part
    "by-partner": ByPartner,  # those are inserted that will find most
    "grub": Grub,  # rows probe the parts of windows in which their partners are likely
    "by-cost": ByCost,  # as `grub`, or rows are shed by lot
    "random-drop": RandomDrop,  # rows are dropped, of each stream as many as is best
    "best-lot": BestLot,  # as `probe-no-insert` or as `random-drop`
}

# Other names that papers have for them.
_ALIASES: Mapping[str, str] = {"recent": "fifo", "size": "prob"}

# What `strategy=None` means for each goal that is served.
_CHOICES: Mapping[type[Goal], Callable[[Any], str]] = {
    MaxSubset: lambda goal: "best",  # noqa: ARG005  # the same for all
    MaxImportance: lambda goal: "worth",  # noqa: ARG005
    Sample: lambda goal: "uniform" if goal.of in (goal.matches or ()) else "cluster",
}

# What a goal may say of the streams: an error for a strategy that would not look at it.
_KNOWLEDGE: Mapping[str, str] = {
    "curve": "curves",
    "frequencies": "frequencies",
    "matches": "given_matches",
}


def strategies_for(
    goal: Goal,
    budget: Budget | None = None,
    streams: int = 2,
    *,
    has_index: bool = True,
    finds_partners_only: bool = True,
) -> tuple[Strategy, ...]:
    """Return the strategies of a goal: the one that it names, or that serves it best.

    Where it has one for each resource, the one for memory comes first. A budget says which
    resources are limited; without one it is memory. How many streams there are, and whether an
    index finds partners so that comparisons cost little, or partners only, matters to those that
    save CPU.

    Raises
    ------
    SpecificationError
        If the strategy does not serve the goal, or not the resource. The goal itself refuses a
        name that is none.

    Examples
    --------
    >>> strategies_for(MaxSubset(strategy="fifo"))
    (Fifo(),)
    >>> strategies_for(MaxSubset(strategy=Fifo()))
    (Fifo(),)
    """
    found: tuple[Strategy, ...]
    if budget is not None and budget.cpu is not None:
        found = _with_cpu(
            goal, budget, _choice_of(streams, has_index, finds_partners_only), streams
        )
    elif not isinstance(goal.strategy, Mapping):
        found = (_one(goal, goal.strategy),)
        if type(found[0]) in WORK_STRATEGIES.values():
            raise SpecificationError(
                must(
                    f"strategy of {type(goal).__name__}",
                    "one that saves memory, where cpu is not limited",
                    found[0].name,
                    "give Budget(cpu=...), or choose another strategy",
                )
            )
    else:
        found = (_one(goal, goal.strategy.get("memory")),)
        if "cpu" in goal.strategy:
            found += (_one(goal, goal.strategy["cpu"]),)
        for resource, strategy in zip(("memory", "cpu"), found, strict=False):
            if strategy.spends not in (Resource(resource), Resource.BOTH):
                hint = f"name one that saves {resource}, or leave it out"
                raise SpecificationError(
                    must(
                        f'strategy["{resource}"] of {type(goal).__name__}',
                        f"one that saves {resource}",
                        strategy.name,
                        hint,
                    )
                )
    for what, needed in _KNOWLEDGE.items():
        if getattr(goal, what, None) and not any(getattr(s.needs, needed) for s in found):
            raise SpecificationError(
                must(
                    f"{what} of {type(goal).__name__}",
                    "for a strategy that uses it",
                    found[0].name,
                    f"leave {what} out, or choose another strategy",
                )
            )
    return found


def strategies_of(specification: Specification) -> tuple[Strategy, ...]:
    """Return the strategies of a join: those of its goal, for its budget, streams and predicate."""
    return strategies_for(
        specification.goal,
        specification.budget,
        len(specification.names),
        has_index=specification.on.has_index,
        finds_partners_only=specification.on.finds_partners_only,
    )


def _choice_of(streams: int, has_index: bool, finds_partners_only: bool) -> str:  # noqa: FBT001
    """Return the strategy for CPU of a goal that names none."""
    if not has_index:  # every row in a window is compared, and that is what costs
        return "by-cost"
    if streams == 2:  # by what the model says none is better, as long as its statistics are there
        return "by-partner"
    # By lot. A probe that finds nothing is free only where partners alone are compared.
    return "probe-no-insert" if finds_partners_only else "best-lot"


def _with_cpu(goal: Goal, budget: Budget, choice: str, streams: int) -> tuple[Strategy, ...]:
    """Return the strategies for a limit of work, and for one of memory if there is one."""
    if isinstance(goal, Sample):
        return (_sampling(goal),)
    said = goal.strategy
    by_resource: dict[str, Strategy | None] = {"memory": None, "cpu": None}
    if isinstance(said, Mapping):
        by_resource |= {name: _one(goal, each) for name, each in said.items()}
    elif said is not None:
        only = _one(goal, said)
        by_resource["memory" if only.spends is Resource.MEMORY else "cpu"] = only
    if by_resource["memory"] is not None and not budget.limits_memory:
        raise SpecificationError(
            must(
                f"strategy of {type(goal).__name__}",
                "one that saves cpu, where rows and memory are not limited",
                by_resource["memory"].name,
                "give rows= or memory= too, or choose another strategy",
            )
        )
    cpu = by_resource["cpu"] or _one(goal, choice)
    if streams > 2 and cpu.needs.match_rates:
        by_lot = [name for name, each in WORK_STRATEGIES.items() if not each.needs.match_rates]
        raise SpecificationError(
            must(
                f"strategy of {type(goal).__name__}",
                f"one that sheds by lot, of {streams} streams",
                cpu.name,
                f"choose one of {', '.join(by_lot)}, or leave it out",
            )
        )
    if not budget.limits_memory:
        return (cpu,)
    return (by_resource["memory"] or _one(goal, None), cpu)


def _sampling(goal: Sample) -> Strategy:
    """Return the strategy of a sample, whose fraction keeps to all limits together."""
    said = goal.strategy
    if isinstance(said, Mapping):
        given = list(said.values())
        if any(each != given[0] for each in given):
            hint = "name one: its fraction is the smaller of what memory and cpu allow"
            raise SpecificationError(
                must("strategy of Sample", "the same for memory and cpu", dict(said), hint)
            )
        said = given[0] if given else None
    strategy = _one(goal, said)
    if strategy.spends is Resource.MEMORY:
        hint = "derive it from penstock.strategies.SamplingStrategy, or leave cpu out"
        raise SpecificationError(
            must("strategy of Sample", "one that saves cpu too", strategy.name, hint)
        )
    return strategy


def _one(goal: Goal, said: object) -> Strategy:
    """Return the strategy that is meant by a name, an object, or None."""
    owner = f"strategy of {type(goal).__name__}"
    if isinstance(said, Strategy):
        if not isinstance(goal, said.serves):
            goals = ", ".join(f"{kind.__name__}(...)" for kind in said.serves)
            raise SpecificationError(
                must(owner, "one that serves it", said, f"{said.name} serves {goals}")
            )
        return said
    served = [name for name, kind in STRATEGIES.items() if isinstance(goal, kind.serves)]
    if not served:
        goals = ", ".join(f"{kind.__name__}()" for kind in _CHOICES)
        raise SpecificationError(
            must("goal", "one that a strategy serves", goal, f"served so far: {goals}")
        )
    name = _CHOICES[type(goal)](goal) if said is None else said
    if not isinstance(name, str):
        hint = "derive it from penstock.strategies.Strategy (docs/extending.md)"
        raise SpecificationError(must(owner, "a name or a strategy", said, hint))
    return {**STRATEGIES, **WORK_STRATEGIES}[_ALIASES.get(name, name)]()


def reason_for(goal: Goal) -> str | None:
    """Return why a strategy serves a goal that names none, as far as that follows from the goal.

    >>> reason_for(Sample(of="orders", matches={"orders": "items"}))
    'uniform: numbers of matches are known, and columns of orders are alike in a whole cluster'
    """
    if goal.strategy is not None or not isinstance(goal, Sample):
        return None
    if goal.of in (goal.matches or ()):
        return (
            f"uniform: numbers of matches are known, and columns of {goal.of} are alike in a "
            f"whole cluster"
        )
    return "clusters: numbers of matches are not known, so rows are drawn with all their matches"
