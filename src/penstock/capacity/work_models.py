"""A formula for each strategy: the recall that it reaches with an amount of work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.capacity.harvest_forecast import grub_recall, random_drop_recall
from penstock.capacity.strategy_models import newest_shares
from penstock.capacity.value_groups import ValueGroups
from penstock.statistics.work_by_lot import LotModel, Step, best_chances
from penstock.statistics.work_output import (
    WorkModel,
    coin_flip,
    fill,
    max_subset,
    probe_no_insert,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.capacity.stream_statistics import Statistics
    from penstock.costs import Costs
    from penstock.statistics.work_output import Steps

__all__ = ["BY_LOT", "BY_VALUE", "HARVESTING", "NEEDS_KEYS", "FullWork", "recall_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FullWork:
    """The steps of the exact join in a unit of time, and what they cost.

    Attributes
    ----------
    rows
        Rows that arrive, of which each is inserted.
    results, compared
        Results, and rows that are compared to find them.
    costs
        Of the steps, in units of time.
    """

    rows: float
    results: float
    compared: float
    costs: Costs

    @classmethod
    def of(cls, statistics: Statistics, costs: Costs) -> FullWork:
        """Return the work of a join; costs are in seconds, or in units of numeric times."""
        streams = statistics.streams.values()
        # All members of a result have waited, but for the newest.
        results = sum(stream.waiting for stream in streams) / (len(streams) - 1)
        return cls(
            rows=sum(stream.rate for stream in streams),
            results=results,
            compared=statistics.compared * results,
            costs=costs.times(statistics.units_per_second or 1),
        )

    @property
    def arrivals(self) -> float:
        """What arrivals cost, whatever becomes of them."""
        return self.rows * self.costs.arrival

    @property
    def for_results(self) -> float:
        """What results cost, with the comparisons that it takes to find them."""
        return self.results * self.costs.result + self.compared * self.costs.compare

    @property
    def total(self) -> float:
        """What all steps cost together."""
        return self.costs.of(
            arrivals=self.rows,
            inserted=self.rows,
            compared=self.compared,
            results=self.results,
        )


@dataclass(frozen=True)
class _Measured(WorkModel):
    """A model in which the results that rows have waited for are measured, not computed."""

    waiting: Floats | None = None

    @property
    def found(self) -> Floats:
        """Results in which rows of each stream and value have waited, of the exact join."""
        return np.zeros_like(self.rates) if self.waiting is None else self.waiting

    def only(self, value: int) -> _Measured:
        """Return the model of one value alone."""
        return replace(self, rates=self.rates[:, [value]], waiting=self.found[:, [value]])


_ONE_VALUE = ValueGroups(np.ones((2, 1)), np.ones(1))


def _measured(statistics: Statistics, full: FullWork, values: ValueGroups) -> _Measured:
    first, second = statistics.streams.values()
    waiting = np.array([[first.waiting], [second.waiting]])
    return _Measured(
        rates=np.array([[first.rate], [second.rate]]) * values.own,
        windows=(first.window, second.window),
        insert=full.costs.insert,
        result=full.for_results / full.results,
        waiting=waiting * values.results,
    )


Formula: TypeAlias = "Callable[[Statistics, FullWork, float], float]"
"""From an amount of work, arrivals not counted, to the share of the results that are found."""


def _alike(
    solve: Callable[[WorkModel, float], Steps],
    statistics: Statistics,
    full: FullWork,
    work: float,
) -> float:
    """Shed rows of a stream alike, whatever their values."""
    model = _measured(statistics, full, _ONE_VALUE)
    return model.output(solve(model, work)) / full.results


def _max_subset(statistics: Statistics, full: FullWork, work: float) -> float:
    model = _measured(statistics, full, statistics.values or _ONE_VALUE)
    return model.output(max_subset(model, work)) / full.results


def _by_partner(statistics: Statistics, full: FullWork, work: float) -> float:
    """Insert the rows that find most; each stream has its own groups of values.

    Comparisons that find nothing are taken to be as many for one row as for another.
    """
    costs = full.costs
    in_vain = max(statistics.compared - 1.0, 0.0) * costs.compare
    gains, inserts = [], []
    for stream in statistics.streams.values():
        shares = stream.own * stream.partner
        known = shares.sum() > 0
        gains.append(stream.waiting * (shares / shares.sum() if known else stream.own))
        inserts.append(stream.own * (stream.rate * costs.insert + stream.waiting * in_vain))
    gain = np.concatenate(gains)
    chances = fill(gain, np.concatenate(inserts), full.for_results / full.results - in_vain, work)
    return float((chances * gain).sum()) / full.results


def _insert_no_probe(statistics: Statistics, full: FullWork, work: float) -> float:
    """Let as many rows probe as there is work left for: all else is in proportion to that."""
    del statistics
    left = work - full.rows * full.costs.insert
    return left / full.for_results if left > 0 and full.for_results else 0.0


@dataclass(frozen=True)
class _Lots(LotModel):
    """Three streams or more; comparisons that find no result cost `in_vain`.

    These go with the rows that probe and the rows that were inserted, as if each were the first
    in its chain. Of later ones fewer are left if rows are shed, so the work is no more than this.
    """

    in_vain: float = 0.0

    def work(self, probe: Floats, insert: Floats) -> Floats:
        """Return the work per unit of time."""
        first: Floats = probe.mean(axis=-1) * insert.mean(axis=-1)
        return super().work(probe, insert) + first * self.in_vain


def _many(step: Step, statistics: Statistics, full: FullWork, work: float) -> float:
    """Shed rows of a stream alike, for three streams and more: all steps, or insertion."""
    streams = list(statistics.streams.values())
    last = min(full.results, full.compared)
    model = _Lots(
        rates=np.array([stream.rate for stream in streams]),
        found=full.results * newest_shares(streams),
        insert=full.costs.insert,
        result=full.costs.result + last / full.results * full.costs.compare,
        in_vain=(full.compared - last) * full.costs.compare,
    )
    chances = best_chances(model, work, step)
    probe = chances if step == "admit" else np.ones_like(chances)
    return float(model.output(probe, chances)) / full.results


def _by_cost(statistics: Statistics, full: FullWork, work: float) -> float:
    """Do as `grub`, or shed by lot, whichever finds more.

    By lot is as `probe-no-insert` of two streams, and as `best-lot` of more.
    """
    if len(statistics.streams) == 2:
        by_lot = BY_LOT["probe-no-insert"][0](statistics, full, work)
    else:
        by_lot = _best_lot(statistics, full, work)
    return max(grub_recall(statistics, full, work), by_lot)


def _best_lot(statistics: Statistics, full: FullWork, work: float) -> float:
    """Do as one of the two that finds more."""
    many = len(statistics.streams) > 2
    return max(
        random_drop_recall(statistics, full, work),
        BY_LOT["probe-no-insert"][many](statistics, full, work),
    )


BY_LOT: Mapping[str, tuple[Formula, Formula]] = {
    # For two streams, each stream's rows with its best chance; and for more.
    "coin-flip": (partial(_alike, coin_flip), partial(_many, "admit")),
    "insert-no-probe": (_insert_no_probe, _insert_no_probe),
    "probe-no-insert": (partial(_alike, probe_no_insert), partial(_many, "insert")),
}
"""Strategies that shed by lot, whatever the values of rows."""

BY_VALUE: Mapping[str, Formula] = {
    "max-subset": _max_subset,
    "by-partner": _by_partner,
}
"""Strategies that go by the values of rows, for two streams."""

NEEDS_KEYS = ("max-subset",)
"""Those of them that need keys: values that the rows of both streams have in common."""


HARVESTING: Mapping[str, Formula] = {
    "grub": grub_recall,
    "by-cost": _by_cost,
    "random-drop": random_drop_recall,
    "best-lot": _best_lot,
}
"""Those for joins in which comparisons cost most, if it was measured where partners are."""


def recall_of(name: str, statistics: Statistics, full: FullWork, capacity: float) -> float:
    """Return the recall to expect of a strategy with so much work in a unit of time.

    Parameters
    ----------
    name
        A name in `BY_LOT`, for two streams in `BY_VALUE`, or in `HARVESTING`.
    statistics
        Of the streams.
    full
        The work of the exact join.
    capacity
        What may be done in a unit of time.

    References
    ----------
    `ayad05` 3.2.2 and 3.3, see `penstock.statistics.work_output`. Departs from it in that an
    arrival costs something, whatever becomes of it, and in that the results that rows wait for are
    those of the sample: where all auctions come before their bids, only auctions have to wait.
    """
    if capacity >= full.total:
        return 1.0
    work = capacity - full.arrivals
    if work <= 0:
        return 0.0
    many = len(statistics.streams) > 2
    one = HARVESTING.get(name) or BY_VALUE.get(name)
    formula = BY_LOT[name][many] if one is None else one
    return min(max(formula(statistics, full, work), 0.0), 1.0)
