"""The recall of window harvesting, and of what it is compared with, by an amount of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.drop_boxes import best_drop_boxes
from penstock.statistics.harvest_model import HarvestModel
from penstock.strategies.best_lot import results_by_lot
from penstock.strategies.by_cost import harvested
from penstock.strategies.grub import Grub
from penstock.strategies.harvesting import ProbingCost

if TYPE_CHECKING:
    from penstock.capacity.stream_statistics import Statistics, StreamStatistics
    from penstock.capacity.work_models import FullWork

__all__ = ["grub_recall", "random_drop_recall"]


def _probing(statistics: Statistics, full: FullWork, left: float) -> ProbingCost:
    """Return what probing costs and finds, with so much work left for it.

    The rows of a direction are taken to find as many partners at every hop.
    """
    known = statistics.directions
    assert known is not None  # noqa: S101  # the caller has looked
    streams: list[StreamStatistics] = list(statistics.streams.values())
    rates = np.array([stream.rate for stream in streams])
    windows = np.array([stream.window for stream in streams])
    sizes = np.maximum(rates * windows, 1e-300)
    count = len(streams)
    orders = np.array([[j for j in range(count) if j != i] for i in range(count)])
    found = full.results * known.shares / np.maximum(rates, 1e-300)  # of a row that arrives
    at_each_hop = found ** (1.0 / (count - 1))
    selectivity = at_each_hop[:, None] / sizes[None, :]
    model = HarvestModel(
        rates=rates,
        windows=windows,
        selectivity=selectivity,
        orders=orders,
        counts=np.full(count, known.lags.shape[2], np.int64),
        scores=known.lags / np.maximum(known.lags.sum(axis=2, keepdims=True), 1e-300),
    )
    each = full.compared / model.full_cost if model.full_cost else 0.0
    return ProbingCost(model, full.costs.compare * each, full.costs.result, max(left, 0.0))


def grub_recall(statistics: Statistics, full: FullWork, work: float) -> float:
    """Return the share of the results that is found if parts of windows are probed."""
    probing = _probing(statistics, full, work - full.rows * full.costs.insert)
    return harvested(probing, Grub().harvest(probing))


def random_drop_recall(statistics: Statistics, full: FullWork, work: float) -> float:
    """Return the share of the results that is found if rows are dropped, of each as is best."""
    probing = _probing(statistics, full, work)
    throttle = work / max(probing.full + full.rows * full.costs.insert, 1e-300)
    boxes = best_drop_boxes(probing.model, min(max(throttle, 1e-9), 1.0))
    # The boxes are for comparisons. Where insertions cost, as much of them as there is work for.
    found = results_by_lot(probing, boxes, full.costs.insert, work, admits=True)
    whole = float(probing.model.full_output)
    return min(found / whole, 1.0) if whole > 0.0 else 0.0
