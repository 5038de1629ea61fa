"""What each join of a workload is expected to make of an amount, from measured statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.capacity import predict
from penstock.capacity.strategy_models import MODELS
from penstock.engine.shared_resources import PARTS_OF_A_CORE, least_share
from penstock.errors import SpecificationError, must
from penstock.goals import MaxImportance, MaxSubset, Sample
from penstock.statistics.allotment import QualityCurve
from penstock.strategies import strategies_of
from penstock.strategies.quality import sample_errors
from penstock.strategies.sampling import Population, SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.capacity import Statistics
    from penstock.capacity.stream_statistics import StreamStatistics
    from penstock.engine.joint_plan import JointSpecification
    from penstock.spec import Specification

__all__ = ["ERROR", "RECALL", "RECALL_OF_RESULTS", "curves_of", "measure_of"]

Floats = npt.NDArray[np.float64]

RECALL, RECALL_OF_RESULTS, ERROR = "recall", "recall of results", "expected error"
_POINTS, _SAMPLE_POINTS = 101, 25
# As while the join runs: no size is below this, and the largest average is 1.
_LEAST_SIZE = 0.02


def measure_of(spec: JointSpecification) -> str:
    """Return in what quality is measured."""
    goals = [join.goal for join in spec.joins.values()]
    if isinstance(goals[0], Sample):
        return ERROR
    return RECALL_OF_RESULTS if any(isinstance(each, MaxImportance) for each in goals) else RECALL


def curves_of(
    spec: JointSpecification, statistics: Mapping[str, Statistics], shards: int
) -> dict[str, QualityCurve]:
    """Return what each join is expected to make of memory or, without a limit, of the processor.

    Raises
    ------
    SpecificationError
        If there is no formula for a join's strategy.
    """
    curve = _of_processor if not spec.budget.limits_memory else _of_memory
    return {
        name: curve(spec, name, join, statistics[name], shards) for name, join in spec.joins.items()
    }


def _of_memory(
    spec: JointSpecification, name: str, join: Specification, statistics: Statistics, shards: int
) -> QualityCurve:
    known = predict(join, statistics, shards)
    size = 1.0 if spec.budget.rows is not None else known.row_bytes
    least = len(join.names)
    if isinstance(join.goal, Sample):
        amounts = np.linspace(0.0, statistics.needed_rows, _SAMPLE_POINTS)
        errors = _errors(name, join, statistics, amounts)
        quality = 1.0 / errors if spec.objective == "least" else np.maximum(1.0 - errors, 0.0)
        return _from_least(least, amounts, quality, size)
    drawn = known.curve(_POINTS)
    strategy = join.goal.strategy
    models = [strategy] if isinstance(strategy, str) and strategy in MODELS else list(MODELS)
    recall = np.max([drawn.recall[model] for model in models], axis=0)
    return _from_least(least, drawn.rows, recall, size)


def _of_processor(
    spec: JointSpecification, name: str, join: Specification, statistics: Statistics, shards: int
) -> QualityCurve:
    known = predict(join, statistics, shards).cpu
    if known is None or not isinstance(join.goal, MaxSubset):
        hint = "give rows or memory"
        requirement = "MaxSubset() for a prediction of the processor"
        raise SpecificationError(must(f'goal of join "{name}"', requirement, join.goal, hint))
    drawn = known.curve(_POINTS)
    share = spec.budget.cpu_share or 0.0
    least = least_share(share, len(spec.joins))
    return _from_least(least, drawn.shares * PARTS_OF_A_CORE, drawn.recall[known.strategy], 1.0)


def _from_least(least: float, amounts: Floats, quality: Floats, size: float) -> QualityCurve:
    """Return a curve that begins with the least that a join can run with."""
    more = amounts > least
    first = np.interp(least, amounts, quality)
    return QualityCurve(np.append(least, amounts[more]) * size, np.append(first, quality[more]))


def _errors(name: str, join: Specification, statistics: Statistics, amounts: Floats) -> Floats:
    """Return the expected error of a count of one window's results, by the strategy's equations."""
    strategy = strategies_of(join)[0]
    assert isinstance(strategy, SamplingStrategy)  # noqa: S101  # no other serves the goal
    solvers: list[SamplingStrategy] = [
        each for each in strategy.needs.models if isinstance(each, SamplingStrategy)
    ]
    found = []
    for solver in solvers or [strategy]:
        sizes = _matches if solver.by_match else _scaled(statistics)
        populations = [_population(each, sizes) for each in statistics.streams.values()]
        errors = sample_errors(solver, populations, amounts, by_size=solver.by_size)
        if errors is None:
            hint = "measure them on a sample with results"
            raise SpecificationError(must(f'statistics of join "{name}"', "of some", 0, hint))
        found.append(errors)
    # With several models the one with the smaller error is followed.
    least: Floats = np.min(found, axis=0)
    return least


def _population(
    stream: StreamStatistics, sizes: Callable[[StreamStatistics], Floats]
) -> Population:
    """Return the rows of a stream that are alive at a time, by value."""
    return Population(stream.needed_rows, sizes(stream), stream.own, np.zeros(0))


def _matches(stream: StreamStatistics) -> Floats:
    """Return the matches that rows of each value wait for."""
    mean = float(np.sum(stream.own * stream.partner))
    likely = stream.partner / mean if mean else np.ones(stream.own.size)
    matches: Floats = likely * stream.curve.total
    return matches


def _scaled(statistics: Statistics) -> Callable[[StreamStatistics], Floats]:
    """Return a function: the sizes of clusters of each value, on one scale for all streams."""
    largest = max(each.curve.total for each in statistics.streams.values() if each.needed_rows)
    return lambda stream: np.maximum(_matches(stream) / largest, _LEAST_SIZE)
