"""What strategies that shed comparisons have in common: a model of what probing costs and finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.harvest_model import HarvestModel

if TYPE_CHECKING:
    from penstock.strategies.view import WorkView

__all__ = ["PARTS", "ProbingCost", "probing_cost"]

PARTS = 20
"""Parts of a window that are told apart."""


@dataclass(frozen=True)
class ProbingCost:
    """What probing costs and finds, and what there is for it.

    Attributes
    ----------
    model
        Rates, windows, selectivities, and where partners are.
    compare, result
        What a comparison of the model costs, and a result. An index makes fewer comparisons than
        the model counts: then each of these costs less.
    left
        Work in a unit of time that is left for probing, if all rows are inserted.
    """

    model: HarvestModel
    compare: float
    result: float
    left: float

    @property
    def full(self) -> float:
        """Work in a unit of time of probing whole windows."""
        return self.of(self.model.full_cost, self.model.full_output)

    def of(self, compared: float, results: float) -> float:
        """Return the work of so many comparisons and results."""
        return self.compare * compared + self.result * results


def probing_cost(work: WorkView) -> ProbingCost:
    """Return what probing costs and finds, by what is known now.

    With a limit of memory as well windows are not full. They count as shorter ones that are, and a
    comparison as dearer if there are more rows in the parts that are probed than elsewhere.
    """
    windows = work.lives
    if work.held is not None:
        windows = np.minimum(np.maximum(work.held, 1.0) / work.rates, windows)
    model = HarvestModel(
        rates=work.rates,
        windows=windows,
        selectivity=work.selectivities,
        orders=work.orders,
        counts=np.full(work.rates.size, work.lags.shape[2], np.int64),
        scores=work.lags,
    )
    inserted = float(work.rates.sum()) * work.costs.insert
    return ProbingCost(
        model=model,
        compare=work.costs.compare * work.comparing,
        result=work.costs.result,
        left=max(0.0, work.left_for_steps - inserted),
    )
