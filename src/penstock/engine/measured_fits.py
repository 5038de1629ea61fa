"""What rows have found while they waited, against what was predicted of them when they came.

A row that waits is worth what will be found in it. By value, that is predicted from how often its
key came in the other stream *before*. Where values come once and not again, or come in one stream
some time after the other, this says nothing, or the contrary. So shortly before rows leave memory,
it is counted what was found in them. Rows are taken together by stream and by what was predicted:
all that fit a share of the other stream's rows between one power of two and the next.

What was counted outweighs what was predicted as soon as there are some dozen such rows. Nothing is
switched, so nothing can go to and fro: with every row that leaves, the prospects of rows like it
are a little more what such rows have found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.row_fields import PREDICTED_FIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Floats, Integers, Mask
    from penstock.engine.store import Store

# The part of its life after which a row is counted: what is found in it later is taken to be alike.
_COUNTED_AFTER = 7.0 / 8.0
# Rows of a stream that are counted at a review, at most: its oldest.
_MOST_ROWS = 512
# Rows like it that a prediction is worth, and lives in which what was counted fades to 1/e.
_PREDICTED_ROWS = 24.0
_FADES = 4.0
# Classes: rows fit more than 1/2 of the other stream's rows, more than 1/4, ..., and the rest.
_CLASSES = 32
_LEAST = 2.0**-_CLASSES
_ROWS, _FACED, _FOUND, _EVER = range(4)


def class_of(fitting: Floats) -> Integers:
    """Return the classes of rows that fit these shares of the other stream's rows.

    >>> class_of(np.array([1.0, 0.6, 0.5, 0.3, 0.0])).tolist()
    [0, 0, 1, 1, 31]
    """
    octaves = np.floor(-np.log2(np.clip(fitting, _LEAST, 1.0)))
    classes: Integers = np.clip(octaves, 0, _CLASSES - 1).astype(np.int64)
    return classes


def noted(predicted: Floats) -> Floats:
    """Return what is noted of rows for which this is predicted: never 0, which is nothing."""
    return np.maximum(np.nan_to_num(predicted), _LEAST)


class MeasuredFits:
    """Counts what was found in rows of two streams, by what was predicted.

    Parameters
    ----------
    store
        Memory; `PREDICTED_FIT` of its rows is the share of the other stream's rows that was to
        fit (`noted`), and 0 where nothing was predicted.
    lives
        How long rows of each stream wait, in units of time.
    """

    def __init__(self, store: Store, lives: Floats) -> None:
        self._store = store
        self._lives = lives
        # Rows of each stream up to these times were counted.
        self._counted_to = np.full(lives.size, np.finfo(np.float64).min)
        # Of each stream and class: rows, rows of the other stream that came meanwhile, and results;
        # and rows that were ever counted.
        self._seen = np.zeros((lives.size, _CLASSES, 4))

    def take_in(self, now: float, passed: float, rates: Floats) -> None:
        """Count what was found in rows that are about to leave; rows come at these rates."""
        self._seen[:, :, :_EVER] *= np.exp(-passed / (_FADES * self._lives.max()))
        for s in np.flatnonzero(self._lives > 0):
            self._count(int(s), now, float(rates[1 - s]))

    def _count(self, s: int, now: float, rate: float) -> None:
        memory = self._store.memory
        rows = self._store.oldest(s, _MOST_ROWS)
        times = memory.rows["time"][rows].astype(np.float64)
        is_due = times > self._counted_to[s]
        is_due &= times <= now - _COUNTED_AFTER * self._lives[s]
        is_due &= memory.rows[PREDICTED_FIT][rows] > 0.0
        if not np.any(is_due):
            return
        rows, times = rows[is_due], times[is_due]
        self._counted_to[s] = times.max()
        shed, classes = memory.shed[rows], class_of(memory.rows[PREDICTED_FIT][rows])
        np.add.at(self._seen[s, :, _ROWS], classes, 1.0)
        np.add.at(self._seen[s, :, _EVER], classes, 1.0)
        np.add.at(self._seen[s, :, _FACED], classes, (now - times) * rate)
        np.add.at(self._seen[s, :, _FOUND], classes, shed["cover"] / shed["weight"])

    def fits(self, rates: Floats, predicted: Floats) -> Floats:
        """Return the shares of the other stream's rows that fit rows of each stream and grade.

        Parameters
        ----------
        rates
            Rows in a unit of time, by stream and grade.
        predicted
            These shares, as predicted.
        """
        fits = predicted.copy()
        for s in np.flatnonzero(self._lives > 0):
            classes = class_of(predicted[s])
            rows = np.bincount(classes, rates[s], _CLASSES)
            sums = np.bincount(classes, rates[s] * predicted[s], _CLASSES)
            usual = np.divide(sums, rows, out=np.zeros(_CLASSES), where=rows > 0)
            counted, faced, found, _ = self._seen[s].T
            # As many rows of the other stream as come while rows of this one wait.
            prior = _PREDICTED_ROWS * float(faced.sum()) / max(float(counted.sum()), 1e-300)
            measured = (found + prior * usual) / np.maximum(faced + prior, 1e-300)
            # Rows of a class keep their order, unless nothing is predicted of them.
            factor = np.divide(measured, usual, out=np.ones(_CLASSES), where=usual > 0)
            own = np.where(usual[classes] > 0, predicted[s] * factor[classes], measured[classes])
            fits[s] = np.where(counted[classes] > 0, own, predicted[s])
        return fits

    def is_tried(self, predicted: Floats) -> Mask:
        """Return whether enough rows were counted of which as much was predicted."""
        ever = np.take_along_axis(self._seen[:, :, _EVER], class_of(predicted), axis=1)
        # Rows of a stream without a window wait for nothing.
        tried: Mask = (ever >= _PREDICTED_ROWS) | (self._lives[:, None] <= 0)
        return tried

    def save(self) -> dict[str, Any]:
        """Return the state, for `restore`."""
        return {"counted_to": self._counted_to.tolist(), "seen": self._seen.tolist()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the saved one stopped."""
        self._counted_to = np.array(saved["counted_to"])
        self._seen = np.array(saved["seen"])
