"""What a join of two streams puts out for an amount of work, from the frequencies of values.

The model of `ayad05`: to take a row into a window and out again costs `insert` (C_u), a result
`result` (C_p), and the work in a unit of time is limited (C). Ways to keep to it by lot:

`coin_flip`           rows are dropped before anything is done with them (CF)
`insert_no_probe`     all rows are inserted, some do not look for results (INP)
`probe_no_insert`     all rows look for results, some are not inserted (PNI)
`max_subset`          rows of some values take part in full, the others not (Online Max-Subset)
`by_partner`          all rows look for results, and those are inserted whose value is frequent in
                      the other stream (ours: the optimum where a probe that finds nothing is free)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Boundary",
    "Steps",
    "WorkModel",
    "by_partner",
    "coin_flip",
    "fill",
    "insert_no_probe",
    "max_subset",
    "probe_no_insert",
]

Floats = npt.NDArray[np.float64]
Boundary = Literal["probe-no-insert", "coin-flip", "insert-no-probe"]


@dataclass(frozen=True)
class Steps:
    """With which chance rows take their steps, by stream and value.

    Attributes
    ----------
    admit
        That a row is not dropped at once.
    probe, insert
        That a row which was admitted looks for results, and that it is inserted.
    """

    admit: Floats
    probe: Floats
    insert: Floats


@dataclass(frozen=True)
class WorkModel:
    """Two streams, and what their join costs.

    Attributes
    ----------
    rates
        Rows per unit of time, by stream and value: lambda f(v).
    windows
        T of each stream, in units of time.
    insert, result
        C_u and C_p.
    selectivity
        f: the share of pairs of rows of one value that are results. 1 for an equality by value;
        where all rows count as of one value, the selectivity of the join. One number, or one for
        each value.
    charged
        T of each stream within which what rows find is charged, if that is less than `windows`: of
        rows inserted from now on, as much as falls into the time that is planned for.

    Examples
    --------
    >>> model = WorkModel(np.array([[3.0, 1.0], [2.0, 2.0]]), (5.0, 5.0), insert=0.01, result=0.001)
    >>> model.full_output, round(model.full_work, 3)
    (80.0, 0.16)
    """

    rates: Floats
    windows: tuple[float, float]
    insert: float
    result: float
    selectivity: float | Floats = 1.0
    charged: tuple[float, float] | None = None

    @property
    def whole(self) -> Steps:
        """All rows take all steps: the exact join."""
        ones = np.ones_like(self.rates)
        return Steps(ones, ones, ones)

    @property
    def full_output(self) -> float:
        """Results of the exact join in a unit of time; eqs. 5 and 6."""
        return self.output(self.whole)

    @property
    def full_work(self) -> float:
        """Work of the exact join in a unit of time; eq. 2."""
        return self.work(self.whole)

    @property
    def found(self) -> Floats:
        """Results in which rows of each stream and value have waited, of the exact join."""
        return self._found_in(self.windows)

    @property
    def found_charged(self) -> Floats:
        """Those of them that are charged."""
        return self.found if self.charged is None else self._found_in(self.charged)

    def _found_in(self, windows: tuple[float, float]) -> Floats:
        pairs: Floats = self.rates.prod(axis=0) * np.array(windows)[:, None]
        found: Floats = pairs * self.selectivity
        return found

    def output(self, steps: Steps) -> float:
        """Return the results in a unit of time."""
        probes = (steps.admit * steps.probe)[::-1]
        return float((self.found * steps.admit * steps.insert * probes).sum())

    def work(self, steps: Steps) -> float:
        """Return the work in a unit of time."""
        inserted = float((self.rates * steps.admit * steps.insert).sum())
        return inserted * self.insert + self.output(steps) * self.result

    def only(self, value: int) -> WorkModel:
        """Return the model of one value alone."""
        share = np.broadcast_to(np.asarray(self.selectivity), self.rates.shape[1])
        return replace(self, rates=self.rates[:, [value]], selectivity=float(share[value]))

    def all_alike(self, *, admit: Floats, probe: Floats, insert: Floats) -> Steps:
        """Return steps with the same chances for all values of a stream."""
        ones = np.ones_like(self.rates)
        return Steps(ones * admit[:, None], ones * probe[:, None], ones * insert[:, None])


_ALL = np.ones(2)


def coin_flip(model: WorkModel, capacity: float) -> Steps:
    """Drop rows by lot, as many of each stream as is best; eqs. 10 and 11.

    For the same output it costs least to admit as many rows of one stream as of the other. A
    stream that has no more than that is admitted whole.
    """
    if model.full_work <= capacity:
        return model.whole
    rates = model.rates.sum(axis=1)
    full = model.full_output
    few, many = np.argsort(rates, kind="stable")
    # Admitted rows y of each stream: 2 y C_u + y^2 F C_p / (lambda_L lambda_R) = C.
    square = full * model.result / max(rates.prod(), 1e-300)
    linear = 2.0 * model.insert
    y = 2.0 * capacity / (linear + np.sqrt(linear * linear + 4.0 * square * capacity))
    chances = np.ones(2)
    if y < rates[few]:
        chances[:] = y / rates
    else:
        left = capacity - rates[few] * model.insert
        chances[many] = left / (rates[many] * model.insert + full * model.result)
    return model.all_alike(admit=chances, probe=_ALL, insert=_ALL)


def insert_no_probe(model: WorkModel, capacity: float) -> Steps:
    """Insert all rows, and let some look for results; eqs. 12 and 13.

    The optimum fixes only T_L x_R + T_R x_L: both streams have the same chance here. If insertion
    alone is too much there is no solution, and nothing is put out.
    """
    if model.full_work <= capacity:
        return model.whole
    left = capacity - float(model.rates.sum()) * model.insert
    if left < 0.0:
        nothing = np.zeros(2)
        return model.all_alike(admit=nothing, probe=nothing, insert=nothing)
    chance = left / (model.full_output * model.result)
    return model.all_alike(admit=_ALL, probe=np.full(2, chance), insert=_ALL)


def probe_no_insert(model: WorkModel, capacity: float) -> Steps:
    """Let all rows look for results, and insert some; eqs. 14 and 15.

    What a stream adds and what it costs are in proportion to its chance, so the stream that gives
    more for the work comes first.
    """
    chances = fill(
        model.found.sum(axis=1),
        model.rates.sum(axis=1) * model.insert,
        model.result,
        capacity,
        charged=model.found_charged.sum(axis=1),
    )
    return model.all_alike(admit=_ALL, probe=_ALL, insert=chances)


def by_partner(model: WorkModel, capacity: float) -> Steps:
    """Let all rows look for results, and insert those that find most for their cost.

    As PNI, for each stream and value by itself: what a row of a stream gives while it waits
    depends on how frequent its value is in the *other* stream.
    """
    chances = fill(
        model.found.ravel(), model.rates.ravel() * model.insert, model.result, capacity
    ).reshape(model.rates.shape)
    ones = np.ones_like(model.rates)
    return Steps(ones, ones, chances)


def max_subset(
    model: WorkModel,
    capacity: float,
    *,
    boundary: Boundary = "probe-no-insert",
    worth: Floats | None = None,
) -> Steps:
    """Let the values take part that give most for their cost, in both streams; Fig. 2.

    A value for which there is not enough work left is shed by lot (line 14, which names no way),
    and all that give less have no chance. Values that match nothing have none either, unless there
    is enough work for all. What values give is as the model has it, or as `worth` says.
    """
    output = model.found.sum(axis=0)
    inserting = model.rates.sum(axis=0) * model.insert
    cost = inserting + model.found_charged.sum(axis=0) * model.result
    if cost.sum() <= capacity:
        return model.whole
    if worth is None:
        # By gain per cost, which is in the order of gains per insertion whatever a result costs.
        worth = np.divide(output, inserting, out=np.full(output.size, np.inf), where=inserting > 0)
    admit = np.zeros_like(model.rates)
    probe, insert = np.ones_like(model.rates), np.ones_like(model.rates)
    order = np.argsort(-worth, kind="stable")
    order = order[output[order] > 0]
    before = np.cumsum(cost[order]) - cost[order]
    fits = before + cost[order] <= capacity
    admit[:, order[fits]] = 1.0
    if not fits.all():
        at = int(np.argmin(fits))
        value = int(order[at])
        part = _BY_LOT[boundary](model.only(value), max(capacity - float(before[at]), 0.0))
        admit[:, value] = part.admit[:, 0]
        probe[:, value], insert[:, value] = part.probe[:, 0], part.insert[:, 0]
        admit[:, order[at + 1 :]] = 0.0
    return Steps(admit, probe, insert)


_BY_LOT: Mapping[str, Callable[[WorkModel, float], Steps]] = {
    "probe-no-insert": probe_no_insert,
    "coin-flip": coin_flip,
    "insert-no-probe": insert_no_probe,
}


def fill(
    gains: Floats,
    costs: Floats,
    result: float,
    capacity: float,
    at_once: float = np.inf,
    charged: Floats | None = None,
) -> Floats:
    """Return the chances of items that gain most together: a fractional knapsack.

    Each gains `gains` results, which cost `result` each, and costs `costs` besides, of which all
    together may cost `at_once`. Items that gain nothing have no chance, unless there is room for
    all. Of the results `charged` have to be paid for, if that is given.

    >>> fill(np.array([6.0, 1.0]), np.array([1.0, 1.0]), result=0.5, capacity=5.0).tolist()
    [1.0, 0.6666666666666666]
    """
    whole = costs + (gains if charged is None else charged) * result
    if whole.sum() <= capacity and costs.sum() <= at_once:
        return np.ones(gains.size)
    chances = np.zeros(gains.size)
    # By gain per cost, which is in the order of gains / costs whatever a result costs.
    worth = np.divide(gains, costs, out=np.full(gains.size, np.inf), where=costs > 0)
    worth[gains == 0] = 0.0
    order = np.argsort(-worth, kind="stable")
    order = order[gains[order] > 0]
    limits = [(capacity, whole[order]), (at_once, costs[order])]
    chances[order] = np.min([_filled(limit, sizes) for limit, sizes in limits], axis=0)
    return chances


def _filled(limit: float, sizes: Floats) -> Floats:
    """Return how much of each item fits if they come one after the other.

    >>> _filled(5.0, np.array([2.0, 4.0, 1.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    before = np.cumsum(sizes) - sizes
    parts: Floats = np.divide(limit - before, sizes, out=np.ones(sizes.size), where=sizes > 0)
    return np.where(before > limit, 0.0, np.clip(parts, 0.0, 1.0))
