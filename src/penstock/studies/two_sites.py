"""A stand-in for the trace of two sites: their clocks, and a slow network between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.predicates import Band
from penstock.studies.workload import Workload, first_stream_windowed

__all__ = ["GRANULARITY_MS", "WINDOW_MS", "TwoSites"]

Floats = npt.NDArray[np.float64]
Milliseconds = npt.NDArray[np.int64]

WINDOW_MS = 120_000
GRANULARITY_MS = 100
_LOW_MS, _HIGH_MS = 59_900, 60_100
_STEP_MS = 20  # 50 rows per second
_PHASE_MS = 10  # the second site's clock ticks between the ticks of the first
# The delay is _SECONDS / 2 times the sum of the squares of _NORMALS normal numbers: a gamma law of
# shape 4 and scale 1 s, whose most frequent value is 3 s.
_NORMALS = 8
_SECONDS = 1.0


@dataclass(frozen=True)
class TwoSites:
    """Two sources of 50 rows per second, the second far away; a stand-in for a captured trace.

    Each row has the timestamp of its source, in milliseconds. Rows of the first site arrive at
    once. Those of the second arrive after a delay, clock skew included, that follows a gamma law of
    shape 4 and scale 1 s: most often 3 s, 4 s on average, more than 8 s for one in 24. It is half
    the sum of the squares of eight autoregressive normal processes, so that
    rows sent within less than `wander_seconds` of each other are delayed alike, as by a queue,
    and rows may overtake each other, as they do over UDP. Event time is the time of arrival.

    A row of the first site joins those of the second that are stamped 59.9 to 60.1 s later: ten.
    The window of two minutes loses one result in 10**23.

    Parameters
    ----------
    minutes
        How long the trace is.
    wander_seconds
        Time after which the correlation of the delay has fallen to 1/e.
    seed
        Of the delays.
    window_ms
        W1, which has to be set before the delays are known.

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004), section
    6.1. Rates, predicate, window and granularity are the paper's; so is the peak of the age curve,
    at 63 s. The law of the delay is ours: its age of most results per time, 69.1 s, is near the
    paper's 68.8 s.
    """

    minutes: float = 40.0
    wander_seconds: float = 1.0
    seed: int = 0
    window_ms: int = WINDOW_MS

    @property
    def name(self) -> str:
        """Its name in panels and tables."""
        return "two sites"

    def make(self) -> Workload:
        """Make the two streams, in order of arrival, with their true age curve."""
        sent = np.arange(0, round(self.minutes * 60_000), _STEP_MS, dtype=np.int64)
        delayed = sent + _PHASE_MS + _delays_ms(len(sent), self.wander_seconds, self.seed)
        order = np.argsort(delayed, kind="stable")
        s1 = pa.table({"stamp": sent, "time": sent})
        s2 = pa.table({"stamp": (sent + _PHASE_MS)[order], "time": delayed[order]})
        # The trace ends when the sources do; what is on its way then is not in it.
        s2 = s2.slice(0, int(np.searchsorted(delayed[order], sent[-1], side="right")))
        return Workload(
            streams=first_stream_windowed(self.window_ms),
            on=Band(s1="stamp", s2="stamp", low=_LOW_MS, high=_HIGH_MS),
            tables={"s1": s1, "s2": s2},
            curve=_curve(self.window_ms),
            rate=1 / _STEP_MS,
            window=float(self.window_ms),
            measured_from=2.0 * self.window_ms,
        )


def _delays_ms(count: int, wander_seconds: float, seed: int) -> Milliseconds:
    """Draw the delays of rows that are sent one step after the other."""
    draws = np.random.default_rng(seed).standard_normal((count, _NORMALS))
    kept = math.exp(-_STEP_MS / (1000 * wander_seconds))
    new = math.sqrt(1 - kept**2)
    for now in range(1, count):
        # z(t) = kept z(t - 1) + new e(t): of variance 1 at all times
        draws[now] = kept * draws[now - 1] + new * draws[now]
    seconds = _SECONDS / 2 * (draws**2).sum(axis=1)
    delays: Milliseconds = np.rint(1000 * seconds).astype(np.int64)
    return delays


def _curve(window_ms: int) -> Floats:
    """Return p1: results of a row in each part of its window, by the law of the delay."""
    edges = np.arange(0, window_ms + 1, GRANULARITY_MS)
    apart = [
        later for later in range(_PHASE_MS, _HIGH_MS + 1, _STEP_MS) if _LOW_MS <= later <= _HIGH_MS
    ]
    arrived = sum((_gamma_4((edges - later) / (1000 * _SECONDS)) for later in apart), np.zeros(1))
    return np.diff(arrived)


def _gamma_4(x: Floats) -> Floats:
    """Return the share of a gamma law of shape 4 and scale 1 that is at most x.

    >>> _gamma_4(np.array([-1.0, 3.0, 8.0])).round(3).tolist()
    [0.0, 0.353, 0.958]
    """
    x = np.maximum(x, 0.0)
    return np.asarray(1 - np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6))
