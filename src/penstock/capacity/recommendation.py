"""Which strategy to use for a join, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from penstock.engine.replay import replay
from penstock.goals import MaxSubset
from penstock.strategies import STRATEGIES, WORK_STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from penstock.capacity import Prediction
    from penstock.spec import Specification

    Step = Callable[[str], AbstractContextManager[object]]

__all__ = [
    "ALIKE",
    "OWN_CHOICE",
    "Recommendation",
    "recommend",
    "try_strategies",
    "try_work_strategies",
]

OWN_CHOICE = "own choice"
"""Stands for "no strategy named": the join then chooses one, and may change it later."""

ALIKE = 0.005
"""Recalls that differ by less than this are treated as equal: a sample is not that exact."""

# The join's own choice is recommended if its recall is at most this share below the best one,
# because it adapts when the streams change.
_SHORT_OF_BEST = 0.03


class Recommendation(NamedTuple):
    """A strategy's name, or `OWN_CHOICE`, and the reason for it."""

    name: str
    reason: str


def try_strategies(
    join: Specification, tables: Mapping[str, pa.Table], results: int, step: Step
) -> dict[str, float]:
    """Run every strategy over the sample, with the join's budget.

    Parameters
    ----------
    join
        The join, with its budget.
    tables
        The sample.
    results
        Number of results of the exact join.
    step
        Shows what is going on while the body of a ``with`` runs.

    Returns
    -------
    dict
        The recall of each strategy, and last that of the join's own choice.
    """
    served = [name for name, kind in STRATEGIES.items() if MaxSubset in kind.serves]
    return _try_each(served, join, tables, results, step)


def try_work_strategies(
    names: Iterable[str],
    join: Specification,
    tables: Mapping[str, pa.Table],
    results: int,
    step: Step,
) -> dict[str, float]:
    """Run the strategies for a share of the processor over the sample; as `try_strategies`.

    Parameters
    ----------
    names
        Of the strategies; those that do not run yet are left out.
    join, tables, results, step
        As in `try_strategies`. The budget has only a share of the processor.
    """
    known = [name for name in names if name in WORK_STRATEGIES]
    return _try_each(known, join, tables, results, step)


def _try_each(
    names: Iterable[str],
    join: Specification,
    tables: Mapping[str, pa.Table],
    results: int,
    step: Step,
) -> dict[str, float]:
    recalls: dict[str, float] = {}
    for name in (*names, None):
        with step(f"Trying {name or OWN_CHOICE} on the sample ..."):
            metrics = replay(replace(join, goal=MaxSubset(strategy=name)), tables, 1).metrics
        recalls[name or OWN_CHOICE] = metrics.emitted / results
    return recalls


def recommend(
    prediction: Prediction, tried: Mapping[str, float], format_time: Callable[[float], str]
) -> Recommendation:
    """Recommend the strategy with the highest recall: measured if any was tried, else predicted.

    Parameters
    ----------
    prediction
        The recall that is expected of each strategy.
    tried
        The recall of strategies that were run over the sample; empty if none was.
    format_time
        Writes a length of time, in units, as text.
    """
    recall = prediction.recall
    random = recall["random"]
    if tried:
        name = max(tried, key=tried.__getitem__)
        if tried.get(OWN_CHOICE, 0.0) >= (1 - _SHORT_OF_BEST) * tried[name]:
            name = OWN_CHOICE
        share = f"It found {tried[name]:.1%} of the sample's results"
        random = tried.get("random", 0.0)
        return Recommendation(name, f"{share}{_compared(tried[name], random)}.")
    if max(recall["age"], recall["prob"]) <= random + ALIKE:
        return Recommendation(
            OWN_CHOICE,
            "Neither the age of a row nor the earlier matches of its value predict which rows to "
            "keep: every strategy is expected to find as much as random. What rows match while "
            "they wait may predict it: add --try to measure that.",
        )
    best = prediction.best
    reason = f"{_reason(prediction, format_time)}{_compared(recall[best], random)}."
    return Recommendation(best, reason)


def _reason(prediction: Prediction, format_time: Callable[[float], str]) -> str:
    recall = prediction.recall
    if prediction.best == "prob":
        return (
            "The matches of a value in the first half of the sample predict its matches in the "
            "second half better than the age of a row does"
        )
    if recall["age"] <= recall["fifo"] + ALIKE:
        return "Rows match soon after they arrive, so it keeps the newest ones, as fifo does"
    streams = prediction.statistics.streams
    name = max(streams, key=lambda each: streams[each].waiting)
    part = streams[name].curve.best_age / streams[name].curve.parts
    age = f"up to the age of {format_time(part * streams[name].window)}"
    if part == 1.0:
        age = "to the end of their window"
    return f"Rows of {name} give most results per row of memory if they are kept {age}"


def _compared(recall: float, random: float) -> str:
    """Compare a recall with that of random, if it is clearly higher.

    >>> _compared(0.3, 0.2), _compared(0.3, 0.3)
    (': 1.5 times what random finds', '')
    """
    if not random or recall / random < 1.05:
        return ""
    return f": {recall / random:.1f} times what random finds"
