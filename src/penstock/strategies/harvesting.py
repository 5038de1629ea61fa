"""What strategies that shed comparisons have in common: a model of what probing costs and finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.harvest_model import HarvestModel, scans_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.strategies.base import Floats
    from penstock.strategies.view import View, WorkView

__all__ = ["PARTS", "ProbingCost", "has_seen_results", "probing_cost"]

if TYPE_CHECKING:
    Integers = npt.NDArray[np.int64]

PARTS = 20
"""Parts of a window that are distinguished."""

_BISECTIONS = 30
# What a comparison costs at least, in results, so that results can be counted as comparisons.
_LEAST_COMPARE = 1e-9


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
    skips
        Whether leaving out parts of windows saves their comparisons (`HarvestModel.skips`).
    """

    model: HarvestModel
    compare: float
    result: float
    left: float
    skips: bool = True

    @property
    def by_parts(self) -> HarvestModel:
        """The model by which parts are chosen: it counts results as comparisons, too."""
        result = self.result / max(self.compare, _LEAST_COMPARE * self.result, 1e-300)
        return replace(self.model, result=result, skips=self.skips)

    @property
    def full(self) -> float:
        """Work in a unit of time of probing whole windows."""
        return self.of(self.model.full_cost, self.model.full_output)

    def of(self, compared: float, results: float) -> float:
        """Return the work of so many comparisons and results."""
        return self.compare * compared + self.result * results


def has_seen_results(view: View) -> bool:
    """Return whether anything tells parts of windows apart; without a limit of memory always.

    With one, rows may leave before they are as old as any partner. Then there are few results at
    first, of rows that are kept by lot, and parts probed in vain would find none of them.
    """
    shares = None if view.work is None else view.work.found_shares
    return view.room is None or shares is None or float(np.ptp(shares)) > 0.0


def probing_cost(work: WorkView) -> ProbingCost:
    """Return what probing costs and finds, by what is known now.

    Windows that are not full, by a limit of memory or as they still fill up, count as shorter ones
    that are, and a comparison as dearer if there are more rows in the parts that are probed than
    elsewhere.
    """
    windows = work.lives if work.windows is None else work.windows
    now = windows if work.windows_now is None else work.windows_now
    model = _model(work, windows, now)
    inserted = float(work.rates.sum()) * work.costs.insert
    compare, result = work.costs.compare * work.unevenness, work.costs.result
    if work.comparing is not None:  # an index leaves out most of what the model compares
        compared = work.comparing * float((work.rates * windows).mean()) * float(work.rates.sum())
        compare *= compared / max(model.full_cost, 1e-300)
        result *= float(work.found.sum()) / max(model.full_output, 1e-300)
    return ProbingCost(
        model=model,
        compare=compare,
        result=result,
        left=max(0.0, work.left_for_steps - inserted),
        skips=work.skips,
    )


def _model(work: WorkView, windows: Floats, now: Floats) -> HarvestModel:
    """Return the model of the join with windows, by what was measured with those of now."""
    scanned = work.scanned
    if scanned is not None and now is not windows:
        scanned = _scanned(scanned, work.orders, np.minimum(now / windows, 1.0))
    return HarvestModel(
        rates=work.rates,
        windows=windows,
        selectivity=_selectivities(work, windows),
        orders=work.orders,
        counts=np.full(work.rates.size, work.lags.shape[2], np.int64),
        scores=work.lags,
        scanned=scanned,
        checked=work.checked,
    )


def _selectivities(work: WorkView, windows: Floats) -> Floats:
    """Return selectivities by which results come from the streams that they do come from.

    Those that are measured are of few rows, and the errors of all hops multiply. The last hop of
    each stream that arrives is corrected: it has no effect on comparisons.
    """
    if work.found_shares is None:
        return work.selectivities
    held = (work.rates * windows)[work.orders]
    matches = held * np.take_along_axis(work.selectivities, work.orders, axis=1)
    outputs = work.rates * matches.prod(axis=1)
    corrected = work.selectivities.copy()
    streams = np.arange(work.rates.size)
    wanted = work.found_shares * outputs.sum()
    corrected[streams, work.orders[:, -1]] *= wanted / np.maximum(outputs, 1e-300)
    return corrected


def _scanned(scanned: Floats, orders: Integers, filled: Floats) -> Floats:
    """Return scans for each partial result in full windows, by those in windows filled in part.

    Parameters
    ----------
    scanned
        By stream that arrives and stream that is probed, in windows as they are.
    orders
        The windows that rows of each stream probe, one after the other.
    filled
        The share of each window that is there.

    Examples
    --------
    Half of the window of stream 1 is there. Of 4 partial results in it, 2 are left in the mean, and
    none in 1 of 16 cases.

    >>> orders = np.array([[1, 2], [0, 2], [0, 1]])
    >>> there = np.full((3, 3), 15 / 32)
    >>> round(float(_scanned(there, orders, np.array([1.0, 0.5, 1.0]))[0, 2]), 6)
    0.25
    """
    full = scanned.copy()
    for stream, hops in enumerate(orders):
        share = 1.0
        for hop, other in enumerate(hops):
            if hop and share < 1.0:
                full[stream, other] = _scans_of_all(scanned[stream, other], share)
            share *= float(filled[other])
    return full


def _scans_of_all(scanned: float, share: float) -> float:
    """Return which scans of all partial results lead to these if a share of them is left."""
    low, high = 1e-6, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if scans_of(share, middle) < scanned:
            low = middle
        else:
            high = middle
    return high
