"""The strategies, in one table: a new one is a module of its own and a line here."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.goals import Goal, MaxImportance, MaxSubset, Sample
from penstock.strategies.age import Age
from penstock.strategies.base import (
    Arriving,
    Evict,
    Population,
    SamplingStrategy,
    ScoringStrategy,
    Settings,
    Strategy,
    Waiting,
)
from penstock.strategies.best import Best
from penstock.strategies.cluster import Cluster
from penstock.strategies.eq_cluster import EqCluster
from penstock.strategies.expected import Expected
from penstock.strategies.fifo import Fifo
from penstock.strategies.greedy import Greedy
from penstock.strategies.ijoin import Ijoin
from penstock.strategies.pps_cluster import PpsCluster
from penstock.strategies.prob import Prob
from penstock.strategies.random import Random
from penstock.strategies.uniform import Uniform
from penstock.strategies.until_expiry import UntilExpiry
from penstock.strategies.worth import Worth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = [
    "STRATEGIES",
    "Arriving",
    "Evict",
    "Population",
    "SamplingStrategy",
    "ScoringStrategy",
    "Settings",
    "Strategy",
    "Waiting",
    "reason_for",
    "strategy_for",
]

STRATEGIES: Mapping[str, type[Strategy]] = {
    "fifo": Fifo,  # the oldest leaves first
    "random": Random,  # a random one leaves
    "until-expiry": UntilExpiry,  # newcomers only find what room is left
    "age": Age,  # by the age curve
    "prob": Prob,  # by the values' frequencies
    "expected": Expected,  # by both, and by what each has given so far
    "best": Best,  # the one of the last three that predicts best
    "uniform": Uniform,  # a sample: results drawn one by one
    "eq-cluster": EqCluster,  # a sample: tuples with all their matches, equal chances
    "pps-cluster": PpsCluster,  # a sample: the same, with chances by size
    "cluster": Cluster,  # the one of the last two that tells sizes better
    "greedy": Greedy,  # by importance alone
    "ijoin": Ijoin,  # by importance times matches per age, less a penalty
    "worth": Worth,  # by importance times the matches to be expected
}

# What only IJOIN uses.
_OF_IJOIN = ("maturity", "unproductivity", "penalty", "decay", "recompute", "every", "tolerance")

# Other names that papers have for them.
_ALIASES: Mapping[str, str] = {"recent": "fifo", "size": "prob"}

# What `strategy=None` means for each goal that is served.
_CHOICES: Mapping[type[Goal], Callable[[Any], str]] = {
    MaxSubset: lambda goal: "best",  # noqa: ARG005  # the same for all
    MaxImportance: lambda goal: "worth",  # noqa: ARG005
    Sample: lambda goal: "uniform" if goal.of in (goal.matches or ()) else "cluster",
}


def strategy_for(goal: Goal) -> Strategy:
    """Give the strategy that a goal names, or the one that serves it best.

    Raises
    ------
    SpecificationError
        If no strategy serves the goal, or none has that name.

    Examples
    --------
    >>> strategy_for(MaxSubset(strategy="fifo")).name
    'fifo'
    """
    served = [name for name, kind in STRATEGIES.items() if isinstance(goal, kind.serves)]
    if not served:
        goals = ", ".join(f"{kind.__name__}()" for kind in _CHOICES)
        raise SpecificationError(
            must("goal", "one that a strategy serves", goal, f"served so far: {goals}")
        )
    name = _CHOICES[type(goal)](goal) if goal.strategy is None else goal.strategy
    name = _ALIASES.get(name, name)
    if name not in served:
        names = [*served, *(alias for alias, each in _ALIASES.items() if each in served)]
        hint = did_you_mean(name, names, "leave it out to have one chosen")
        known = ", ".join(f'"{each}"' for each in names)
        raise SpecificationError(
            must(f"strategy of {type(goal).__name__}", f"one of {known}", name, hint)
        )
    kind = STRATEGIES[name]
    _check_use(goal, name, "curve", used=kind.needs_curve)
    _check_use(goal, name, "frequencies", used=kind.needs_frequencies)
    _check_use(goal, name, "matches", used=kind is Uniform)
    _check_use(goal, name, "rounding", used=kind is Uniform)
    _check_use(goal, name, "fairness", used=kind is Worth)
    for what in _OF_IJOIN:
        scheme = {"every": "k-successive", "tolerance": "adaptive"}.get(what)
        is_used = scheme is None or getattr(goal, "recompute", None) == scheme
        _check_use(goal, name, what, used=kind is Ijoin and is_used)
    return kind.of(goal)


def reason_for(goal: Goal) -> str | None:
    """Say why a strategy serves a goal that names none, as far as that follows from the goal.

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
    return "clusters: numbers of matches are not known, so tuples are drawn with all their matches"


def _check_use(goal: Goal, name: str, what: str, *, used: bool) -> None:
    """Refuse what the user knows if the strategy would not look at it."""
    usual = {each.name: each.default for each in fields(goal)}
    if what in usual and getattr(goal, what) != usual[what] and not used:
        raise SpecificationError(
            must(
                f"{what} of {type(goal).__name__}",
                "for a strategy that uses it",
                name,
                f"leave {what} out, or choose another strategy",
            )
        )
