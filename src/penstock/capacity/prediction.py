"""The recall that a budget is expected to give, and the budget that a recall needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.budget import is_whole
from penstock.capacity.cpu_prediction import CpuPrediction, check_recall, predict_cpu
from penstock.capacity.row_bytes import kept_beside
from penstock.capacity.strategy_models import MODELS, Expected, expect
from penstock.capacity.stream_statistics import Statistics
from penstock.errors import SpecificationError, did_you_mean, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.spec import Specification

__all__ = ["Prediction", "RecallCurve", "predict"]

Floats = npt.NDArray[np.float64]

# A recall counts as reached if it is missed by no more than this, the error of float sums.
_TOLERANCE = 1e-9
# Recalls that differ by less than this are treated as equal: no sample is that exact.
_EQUAL = 1e-3


@dataclass(frozen=True, eq=False)
class RecallCurve:
    """Recall against memory.

    Attributes
    ----------
    rows
        Amounts of memory in rows, from 0 to what the exact join needs.
    recall
        For each strategy its recall with each amount.
    """

    rows: Floats
    recall: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Prediction:
    """The recall that each strategy is expected to reach with a join's budget.

    Attributes
    ----------
    statistics
        The statistics that the prediction is made from.
    rows
        The budget in rows; None if there is none.
    cpu
        The same for the share of the processor, a `penstock.capacity.CpuPrediction`: `recall` of
        each strategy, `full_share` with which nothing is lost, and `share_for(recall)`. None if the
        processor is not limited.
    kept_beside
        Bytes that the join's strategy keeps with each row, besides those of `statistics`: a sample
        and IJOIN keep some.
    recall
        Share of the exact results that each strategy is expected to find, from 0 to 1. If only the
        processor is limited, this is `cpu.recall`.
    division
        For each strategy the rows that each stream may hold, by the stream's name.
    """

    statistics: Statistics
    rows: int | None
    cpu: CpuPrediction | None = None
    kept_beside: int = 0
    recall: Mapping[str, float] = field(init=False)
    division: Mapping[str, Mapping[str, float]] = field(init=False)

    def __post_init__(self) -> None:
        if self.rows is None and self.cpu is not None:
            object.__setattr__(self, "recall", self.cpu.recall)
            object.__setattr__(self, "division", {})
            return
        rows = math.inf if self.rows is None else self.rows
        expected = {name: self._expect(name, rows) for name in MODELS}
        names = tuple(self.statistics.streams)
        object.__setattr__(self, "recall", {n: each.recall for n, each in expected.items()})
        divided = {n: dict(zip(names, each.rows, strict=True)) for n, each in expected.items()}
        object.__setattr__(self, "division", divided)

    @property
    def best(self) -> str:
        """The strategy with the highest expected recall; of equal ones the first in `recall`."""
        most = max(self.recall.values())
        return next(name for name, recall in self.recall.items() if recall >= most - _EQUAL)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in memory, in the stream with the largest rows; 0 if not known."""
        known = self.statistics.row_bytes
        return known + self.kept_beside if known else 0.0

    @property
    def lower_recall(self) -> float:
        """A lower guess of the recall with all limits.

        It is the recall of the best strategy for memory, times that of the strategy for the
        processor. Rows that are not held take no work, so the join should find more than this.
        """
        memory = 1.0 if self.rows is None else max(self.recall.values())
        return memory * (1.0 if self.cpu is None else self.cpu.expected)

    def rows_for(self, recall: float, strategy: str | None = None) -> int:
        """Return the smallest number of rows with which a recall is expected.

        Parameters
        ----------
        recall
            Share of the exact results, above 0 and at most 1.
        strategy
            Name of a strategy; None for the one that needs the fewest rows.

        Raises
        ------
        SpecificationError
            If the recall is out of range, or there is no formula for the strategy.
        """
        check_recall(recall)
        if strategy is None:
            return min(self.rows_for(recall, name) for name in MODELS)
        if strategy not in MODELS:
            hint = did_you_mean(strategy, MODELS, "leave it out for the best one")
            known = ", ".join(f'"{name}"' for name in MODELS)
            raise SpecificationError(must("strategy", f"one of {known}", strategy, hint))
        least, enough = 0, math.ceil(self.statistics.needed_rows)
        while enough - least > 1:
            middle = (least + enough) // 2
            if self._expect(strategy, middle).recall >= recall - _TOLERANCE:
                enough = middle
            else:
                least = middle
        # A budget has at least one row for each stream.
        return max(enough, len(self.statistics.streams))

    def curve(self, points: int = 101) -> RecallCurve:
        """Return recall against memory for every strategy.

        Parameters
        ----------
        points
            Number of amounts of memory, at equal distances from 0 to what the exact join needs;
            2 or more.
        """
        if not is_whole(points, least=2):
            hint = "leave it out for 101"
            raise SpecificationError(must("points", "a whole number of 2 or more", points, hint))
        rows = np.linspace(0.0, self.statistics.needed_rows, points)
        return RecallCurve(
            rows,
            {name: np.array([self._expect(name, r).recall for r in rows]) for name in MODELS},
        )

    def _expect(self, name: str, rows: float) -> Expected:
        return expect(name, list(self.statistics.streams.values()), rows)

    def __repr__(self) -> str:
        if self.rows is None and self.cpu is not None:
            return f"<Prediction for {self.cpu.words()}>"
        memory = "no limit" if self.rows is None else f"{self.rows:,} rows"
        words = ", ".join(f"{name} {recall:.1%}" for name, recall in self.recall.items())
        cpu = "" if self.cpu is None else f"; for {self.cpu.words()}"
        return f"<Prediction for {memory}: {words}{cpu}>"


def predict(specification: Specification, statistics: Statistics, shards: int = 1) -> Prediction:
    """Predict the recall of a join with its budget; see `Join.predict`.

    Raises
    ------
    SpecificationError
        If the statistics are not of the join's streams, if a window is one of rows, if the budget
        is in bytes and the size of a row is not known, or if it has a share of the processor, times
        are numbers, and it has no costs.
    """
    if not is_whole(shards, least=1):
        hint = "leave it out for one shard"
        raise SpecificationError(must("shards", "a whole number of 1 or more", shards, hint))
    if not isinstance(statistics, Statistics):
        hint = "measure them with Join.measure"
        kind = type(statistics).__name__
        raise SpecificationError(must("statistics", "penstock.Statistics", kind, hint))
    if set(statistics.streams) != set(specification.names):
        requirement = f"of the join's streams {', '.join(map(repr, specification.names))}"
        hint = "measure them with the same join"
        raise SpecificationError(must("statistics", requirement, tuple(statistics.streams), hint))
    specification.time_windows("a prediction")
    budget = specification.budget
    rows = None if budget is None else budget.rows
    beside = kept_beside(specification, statistics)
    if budget is not None and budget.memory_bytes is not None:
        if not statistics.row_bytes:
            hint = "give row_bytes, or a budget in rows"
            requirement = "known for a budget in bytes"
            raise SpecificationError(must("row_bytes of the statistics", requirement, 0.0, hint))
        rows = max(
            int(budget.memory_bytes / (statistics.row_bytes + beside)), len(specification.names)
        )
    return Prediction(statistics, rows, predict_cpu(specification, statistics, shards), beside)
