"""The recall that a share of the processor is expected to give, and the share for a recall."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.budget import is_whole
from penstock.capacity.work_models import (
    BY_LOT,
    BY_VALUE,
    HARVESTING,
    NEEDS_KEYS,
    FullWork,
    recall_of,
)
from penstock.costs import Costs
from penstock.errors import SpecificationError, did_you_mean, must
from penstock.predicates import Compare, Equal
from penstock.strategies import strategies_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.capacity.stream_statistics import Statistics
    from penstock.spec import Specification

__all__ = ["CpuCurve", "CpuPrediction", "check_recall", "predict_cpu"]

Floats = npt.NDArray[np.float64]

# A recall counts as reached if it is missed by no more than this, the error of float sums.
_TOLERANCE = 1e-9
# Halvings of an interval of shares: the last digits that a float has.
_STEPS = 50


@dataclass(frozen=True, eq=False)
class CpuCurve:
    """Recall against the share of the processor.

    Attributes
    ----------
    shares
        Shares of a core in each shard, from 0 to what the exact join takes.
    recall
        For each strategy its recall with each share.
    """

    shares: Floats
    recall: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class CpuPrediction:
    """The recall that each strategy is expected to reach with a share of the processor.

    Attributes
    ----------
    statistics
        The statistics that the prediction is made from.
    share
        Share of the time of one core, in each shard.
    costs
        What the steps cost: in seconds, or in units of time where times are numbers.
    names
        The strategies for which there are formulas.
    strategy
        The one that the join would use; if there is no formula for it, or it was not measured
        where partners are, the best by lot or, of two streams, by value.
    shards
        Parts into which the work is divided, alike.
    recall
        Share of the exact results that each strategy is expected to find, from 0 to 1.

    Examples
    --------
    Two streams with one row in a unit of time, which all match: 10 results in each.

    >>> from penstock.capacity import Statistics, StreamStatistics
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> each = StreamStatistics(rate=1.0, window=5.0, curve=AgeCurve([5]))
    >>> prediction = CpuPrediction(
    ...     Statistics(streams={"a": each, "b": each}), 0.3, Costs(insert=0.05, result=0.05)
    ... )
    >>> prediction
    <CpuPrediction for 30% of a core: coin-flip 46.4%, insert-no-probe 40.0%, \
probe-no-insert 50.0%; the exact join takes 60%>
    >>> round(prediction.share_for(0.5), 3)
    0.3
    """

    statistics: Statistics
    share: float
    costs: Costs
    names: tuple[str, ...] = tuple(BY_LOT)
    strategy: str = "probe-no-insert"
    shards: int = 1
    recall: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        found = {name: self._expect(name, self.share) for name in self.names}
        object.__setattr__(self, "recall", found)

    @property
    def expected(self) -> float:
        """The recall that is expected of `strategy`."""
        return self.recall[self.strategy]

    @property
    def full_share(self) -> float:
        """The least share with which nothing is lost; above 1 if that is more than a core.

        It is a mean: in a burst the exact join takes more.
        """
        return self._full.total / self.shards

    @property
    def arrivals_share(self) -> float:
        """What arrivals alone take, whatever becomes of the rows; with less nothing is found."""
        return self._full.arrivals / self.shards

    def share_for(self, recall: float, strategy: str | None = None) -> float:
        """Return the least share with which a recall is expected; above 1 if no core suffices.

        Parameters
        ----------
        recall
            Share of the exact results, above 0 and at most 1.
        strategy
            Name of a strategy; None for the one that the join would use.

        Raises
        ------
        SpecificationError
            If the recall is out of range, or there is no formula for the strategy.
        """
        check_recall(recall)
        name = self.strategy if strategy is None else strategy
        if name not in self.names:
            hint = did_you_mean(name, self.names, "leave it out for the one that is used")
            known = ", ".join(f'"{each}"' for each in self.names)
            raise SpecificationError(must("strategy", f"one of {known}", strategy, hint))
        least, enough = 0.0, self.full_share
        for _ in range(_STEPS):
            middle = (least + enough) / 2
            if self._expect(name, middle) >= recall - _TOLERANCE:
                enough = middle
            else:
                least = middle
        return enough

    def shards_for(self, share: float = 1.0) -> int | None:
        """Return the least number of shards with which nothing is lost, each with a share.

        The work is taken to be divided alike. All rows of a value are in one shard: None if one
        value alone is too much for it.
        """
        if self.statistics.hottest * self._full.for_results > share:
            return None
        return max(1, math.ceil(self._full.total / share - _TOLERANCE))

    def curve(self, points: int = 101) -> CpuCurve:
        """Return recall against the share, for every strategy.

        Parameters
        ----------
        points
            Number of shares, at equal distances from 0 to what the exact join takes; 2 or more.
        """
        if not is_whole(points, least=2):
            hint = "leave it out for 101"
            raise SpecificationError(must("points", "a whole number of 2 or more", points, hint))
        shares = np.linspace(0.0, self.full_share, points)
        return CpuCurve(
            shares,
            {name: np.array([self._expect(name, s) for s in shares]) for name in self.names},
        )

    @cached_property
    def _full(self) -> FullWork:
        return FullWork.of(self.statistics, self.costs)

    def _expect(self, name: str, share: float) -> float:
        return recall_of(name, self.statistics, self._full, share * self.shards)

    def words(self) -> str:
        """Return the share and the recalls, for a line of text."""
        recalls = ", ".join(f"{name} {recall:.1%}" for name, recall in self.recall.items())
        each = "" if self.shards == 1 else f" in each of {self.shards} shards"
        return f"{100 * self.share:.3g}% of a core{each}: {recalls}"

    def __repr__(self) -> str:
        return (
            f"<CpuPrediction for {self.words()}; the exact join takes {100 * self.full_share:.3g}%>"
        )


def check_recall(recall: object) -> None:
    """Raise unless it is a recall that can be asked for."""
    if not (isinstance(recall, int | float) and 0 < recall <= 1):
        hint = "write 0.9 for nine results in ten"
        raise SpecificationError(must("recall", "above 0 and at most 1", recall, hint))


def predict_cpu(
    specification: Specification, statistics: Statistics, shards: int
) -> CpuPrediction | None:
    """Predict the recall of a join with the share of the processor in its budget.

    Returns None if the processor is not limited.

    Raises
    ------
    SpecificationError
        If times are numbers and the budget has no costs.
    """
    budget = specification.budget
    if budget is None or budget.cpu_share is None:
        return None
    costs = budget.costs
    if costs is None:
        if statistics.units_per_second is None:
            hint = "add costs=penstock.Costs(insert=..., result=...), in the unit of the times"
            requirement = "given where times are numbers"
            raise SpecificationError(must("costs of Budget", requirement, None, hint))
        costs = Costs.usual()
    streams = len(specification.names)
    names = tuple(BY_LOT)
    if streams == 2:
        keys = _has_keys(specification)
        names += tuple(name for name in BY_VALUE if keys or name not in NEEDS_KEYS)
    used = strategies_of(replace(specification, budget=budget))[-1].name
    knows_lags = statistics.directions is not None
    if knows_lags and used == "best-lot":
        names += ("random-drop", "best-lot")
    elif knows_lags and (used in HARVESTING or not specification.on.has_index):
        names += tuple(name for name in HARVESTING if name != "best-lot")
    if used not in names:  # there is no formula for it
        used = "by-partner" if streams == 2 else "probe-no-insert"
    return CpuPrediction(statistics, budget.cpu_share, costs, names, used, shards)


def _has_keys(specification: Specification) -> bool:
    on = specification.on
    return isinstance(on, Equal) or (isinstance(on, Compare) and on.operator == "=")
