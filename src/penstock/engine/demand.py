"""What the streams will need: rates, grades of keys and selectivity, as observed recently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.strategies import GRADES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.store import Store

# What was counted fades by this factor from review to review, unless rates have jumped.
_FADES = 1.0 - 1.0 / 32
# Standard deviations of a Poisson count by which a rate has jumped.
_JUMP = 5.0
# Parts of a life by which rows in memory are grouped by age.
_PARTS = 64

_SAVED = (
    "_new",
    "_seen",
    "_found",
    "_shed",
    "_probing",
    "_compared",
    "_compared_before",
    "_inserted",
    "_by_part",
)


class Demand:
    """Observes what arrivals need.

    Parameters
    ----------
    store
        Memory, in which the loop counts.
    lives
        How long rows of each stream wait, in units of time.

    Attributes
    ----------
    elapsed
        Time for which the rates hold, faded; 0 as long as nothing is known.
    """

    def __init__(self, store: Store, lives: Floats) -> None:
        count = lives.size
        self._store = store
        self._lives = lives
        self._new = np.zeros((count, GRADES, 2))  # arrivals, and the shares that fit them
        self._seen = np.zeros((count, GRADES, 2))  # the same, faded,
        self.elapsed = 0.0  # in this time
        self._taken = 0  # how often that was added to
        self._found = np.zeros(count)  # all that arrivals have found so far
        self._shed = np.zeros(count)  # all that have not probed so far
        self._probing = np.zeros((count, 3))  # rows that have probed, found, and faced; faded
        self._compared = np.zeros(2)  # rows that were compared, and results; faded
        self._compared_before = np.zeros(2)  # all of these so far
        self._inserted = np.zeros(count)  # all rows that were inserted so far,
        self._by_part = np.zeros((count, _PARTS, 2))  # by part of a life: its number, and rows

    def note(
        self, arrivals: Array, grades: Integers | None, fitting: Floats | None, every: int
    ) -> None:
        """Note rows that were observed: how many, of which grades, with which prospects.

        Each stands for `every` rows. `fitting` are the shares of the other stream's rows that fit
        them; of two streams.
        """
        own = arrivals["blank"] == 0
        streams = arrivals["stream"][own].astype(np.int64)
        cells = streams * GRADES
        if grades is not None:
            cells += grades[own]
        shape = self._new.shape[:2]
        size = shape[0] * GRADES
        self._new[:, :, 0] += every * np.bincount(cells, minlength=size).reshape(shape)
        if fitting is not None:
            expected = np.nan_to_num(fitting[own])
            self._new[:, :, 1] += every * np.bincount(cells, expected, size).reshape(shape)

    def take_in(self, now: float, passed: float) -> Floats:
        """Add what was noted in some time to what was seen, and return the rows of each stream.

        What was seen before is forgotten if rates have jumped.
        """
        memory = self._store.memory
        new: Floats = self._new[:, :, 0].sum(axis=1)
        expected = self.rates * passed
        jumped = np.abs(new - expected) > _JUMP * np.sqrt(np.maximum(expected, 1.0)) + 1.0
        # At first all is forgotten sooner: little was known of the keys of the first rows.
        self._taken += 1
        fades = min(_FADES, self._taken / (self._taken + 2.0))
        keep = 0.0 if self.elapsed and np.any(jumped) else fades
        self._seen = self._seen * keep + self._new
        self.elapsed = self.elapsed * keep + passed
        self._new[:] = 0.0
        found = memory.streams["found"].astype(np.float64)
        shed = (memory.streams["not_admitted"] + memory.streams["not_probed"]).astype(np.float64)
        probed = np.maximum(new - (shed - self._shed), 0.0)
        held = memory.streams["held"].astype(np.float64)
        waiting = [np.delete(held, s).prod() for s in range(held.size)]
        # What rows find follows from the windows, which no jump of the rates changes at once.
        self._probing *= _FADES
        self._probing[:, 0] += probed
        self._probing[:, 1] += found - self._found
        self._probing[:, 2] += probed * np.array(waiting)
        self._found, self._shed = found, shed
        inserted = memory.streams["inserted"].astype(np.float64)
        for s in np.flatnonzero(self._lives > 0):
            self._spread(int(s), now, passed, float(inserted[s] - self._inserted[s]))
        self._inserted = inserted
        return new

    def _spread(self, s: int, now: float, passed: float, rows: float) -> None:
        """Note rows that were inserted in some time, as many in each part of it."""
        last = int(np.floor(now * _PARTS / self._lives[s]))
        first = min(int(np.floor((now - passed) * _PARTS / self._lives[s])) + 1, last)
        each = rows / (last - first + 1)
        for part in range(max(first, last - _PARTS + 1), last + 1):
            entry = self._by_part[s, part % _PARTS]
            if entry[0] != part:
                entry[:] = part, 0.0
            entry[1] += each

    def compare(self, matches: float) -> None:
        """Take in how many rows were compared for so many matches, of all so far."""
        now = np.array([self._store.memory.rule["compared"][0], matches], np.float64)
        self._compared = self._compared * _FADES + now - self._compared_before
        self._compared_before = now

    @property
    def rates(self) -> Floats:
        """Rows of each stream per unit of time, recently."""
        if not self.elapsed:
            return np.zeros(len(self._seen))
        rates: Floats = self._seen[:, :, 0].sum(axis=1) / self.elapsed
        return rates

    @property
    def seen_rates(self) -> Floats:
        """Rows per unit of time, by stream and grade."""
        rates: Floats = self._seen[:, :, 0] / max(self.elapsed, 1e-300)
        return rates

    @property
    def grades(self) -> Floats:
        """Rows per unit of time, and the matches that they expect, by the rates of now."""
        grades: Floats = self._seen / self.elapsed
        if len(grades) == 2:
            grades[:, :, 1] *= self.rates[::-1, None]
        return grades

    @property
    def selectivity(self) -> float:
        """The share of combinations of rows in the other windows that fit an arriving row."""
        found, faced = float(self._probing[:, 1].sum()), float(self._probing[:, 2].sum())
        return found / faced if faced else 0.0

    @property
    def compared_each(self) -> float:
        """Rows that are compared for each result, recently."""
        compared, results = self._compared.tolist()
        return float(compared / results) if results > 0 else 1.0

    @property
    def found(self) -> Floats:
        """Results that rows of each stream find now, in a unit of time, if all of them probe.

        By what a row has found of those that were there, and by how many are there now.
        """
        held = self._store.memory.streams["held"].astype(np.float64)
        waiting = np.array([np.delete(held, s).prod() for s in range(held.size)])
        _, found_so_far, faced = self._probing.T
        each = np.divide(found_so_far, faced, out=np.zeros(held.size), where=faced > 0)
        found: Floats = self.rates * waiting * each
        return found

    def found_ahead(self, now: float, time: float) -> float:
        """Return the results that rows in memory will give in each unit of some time; two streams.

        Rows that wait expire meanwhile.
        """
        waits = self.found[::-1]  # results by the stream of which a row waited
        return float(sum(waits[s] * self._lasts(s, now) / time for s in range(len(waits))))

    def _lasts(self, s: int, now: float) -> float:
        """Return how long rows of a stream still wait, on average, by when they were inserted."""
        life = float(self._lives[s])
        if not life:
            return 0.0
        parts, rows = self._by_part[s].T
        left = _PARTS - (now * _PARTS / life - (parts + 0.5))
        rows = np.where(left > 0.0, rows, 0.0)
        total = float(rows.sum())
        return (
            float((rows * np.minimum(left, _PARTS)).sum()) / total * life / _PARTS if total else 0.0
        )

    def mean(self, chances: float | Floats) -> Floats:
        """Return the chance of each stream's rows, over their grades."""
        table = np.asarray(chances, np.float64)
        if table.ndim < 2:
            return np.broadcast_to(table, len(self._seen))
        seen = self._seen[:, :, 0]
        means: Floats = (table * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1e-300)
        return means

    def begin(self) -> None:
        """Begin to observe now: what was counted before is not new."""
        memory = self._store.memory
        self._found = memory.streams["found"].astype(np.float64)
        shed = memory.streams["not_admitted"] + memory.streams["not_probed"]
        self._shed = shed.astype(np.float64)
        self._inserted = memory.streams["inserted"].astype(np.float64)
        found = float(memory.streams["found"].sum())
        self._compared_before = np.array([memory.rule["compared"][0], found], np.float64)

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        counted = {name: getattr(self, name).tolist() for name in _SAVED}
        return {"elapsed": self.elapsed, "taken": self._taken, **counted}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self.elapsed, self._taken = saved["elapsed"], saved["taken"]
        for name in _SAVED:
            setattr(self, name, np.array(saved[name]))
