"""How many rows of each stream to shed by lot, for any number of streams and little work.

What `coin_flip`, `insert_no_probe` and `probe_no_insert` of `work_output` are for two streams, by
search instead of by formula: the rows of a stream take a step always, hardly ever, or with a
chance that is the same for all such streams, or that lets as many rows of each take it. Of all
such divisions that keep to the work the one with most results is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["LotModel", "Step", "best_chances"]

Floats = npt.NDArray[np.float64]
Step = Literal["admit", "probe", "insert"]

_BISECTIONS = 30


@dataclass(frozen=True)
class LotModel:
    """Streams whose rows are all alike, and what their join costs.

    Attributes
    ----------
    rates
        Rows of each stream per unit of time.
    found
        Results of the exact join per unit of time, by the stream whose row came last.
    insert, result
        What a row that is inserted costs, and a result.

    Examples
    --------
    >>> model = LotModel(np.array([2.0, 3.0]), np.array([4.0, 6.0]), insert=0.1, result=0.01)
    >>> model.output(np.ones(2), np.array([1.0, 0.5])).item()
    8.0
    >>> round(model.work(np.ones(2), np.array([1.0, 0.5])).item(), 3)
    0.43
    """

    rates: Floats
    found: Floats
    insert: float
    result: float

    def output(self, probe: Floats, insert: Floats) -> Floats:
        """Return the results per unit of time, for chances of streams along the last axis."""
        others: Floats = np.zeros(insert.shape[:-1])
        for s in range(self.rates.size):
            waiting = np.delete(insert, s, axis=-1).prod(axis=-1)
            others = others + self.found[s] * probe[..., s] * waiting
        return others

    def work(self, probe: Floats, insert: Floats) -> Floats:
        """Return the work per unit of time."""
        inserted: Floats = (insert * self.rates).sum(axis=-1)
        return inserted * self.insert + self.output(probe, insert) * self.result


def best_chances(model: LotModel, capacity: float, step: Step, least: float = 0.0) -> Floats:
    """Return the chances of each stream's rows to take a step that give most for the work.

    Parameters
    ----------
    model
        The streams.
    capacity
        Work per unit of time.
    step
        Which is left out: all of them ("admit"), or one.
    least
        No chance is below.

    Examples
    --------
    >>> model = LotModel(np.array([2.0, 3.0]), np.array([4.0, 6.0]), insert=0.1, result=0.01)
    >>> best_chances(model, 0.3, "insert").round(3).tolist()
    [1.0, 0.118]
    """
    count = model.rates.size
    whole = np.ones(count)
    if model.work(whole, whole) <= capacity:
        return whole
    if step == "probe":  # output and work are in proportion to it, whichever stream it is of
        left = capacity - float(model.rates.sum()) * model.insert
        most = float(model.found.sum()) * model.result
        return np.full(count, max(least, min(1.0, left / most)) if most else 1.0)
    divisions = _divisions(model, step)
    low, high = np.zeros(len(divisions)), np.ones(len(divisions))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        fits = model.work(*_steps(divisions, middle, step, least)) <= capacity
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    probe, insert = _steps(divisions, low, step, least)
    output = np.where(model.work(probe, insert) <= capacity, model.output(probe, insert), -1.0)
    best = int(np.argmax(output))
    return insert[best] if output[best] >= 0.0 else np.full(count, least)


def _divisions(model: LotModel, step: Step) -> Floats:
    """Return by what the chance that is searched is multiplied, for each division and stream.

    Infinity for the streams whose rows always take the step, 0 for those whose rows hardly do.
    """
    as_many: Floats = model.rates.max() / np.maximum(model.rates, 1e-300)
    if step == "admit":
        return as_many.reshape(1, -1)
    kinds = [each for each in product((0.0, np.inf, 1.0), repeat=as_many.size) if 1.0 in each]
    alike = np.array(kinds)
    return np.concatenate([alike, np.where(alike == 1.0, as_many, alike)])


def _steps(divisions: Floats, chances: Floats, step: Step, least: float) -> tuple[Floats, Floats]:
    """Return the chances to probe and to be inserted, of each division and stream."""
    searched = np.where(np.isinf(divisions), 1.0, chances[:, None] * np.minimum(divisions, 1e300))
    taken = np.clip(searched, least, 1.0)
    return (taken if step == "admit" else np.ones_like(taken)), taken
