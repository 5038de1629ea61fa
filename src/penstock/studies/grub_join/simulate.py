"""Run a way to shed load on streams, from one adaptation step to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.studies.grub_join.kernel import (
    COMPARED,
    DROPPED,
    FREE_AT,
    RESULTS,
    Rows,
    Rules,
    State,
    Tally,
    advance,
)
from penstock.studies.grub_join.policy import Interval

if TYPE_CHECKING:
    from penstock.studies.grub_join.policy import Policy, Settings
    from penstock.testing import LaggedStreams

__all__ = ["Machine", "Run", "simulate"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Machine:
    """The join and what it runs on, as in section 6.2.

    Attributes
    ----------
    speed
        Comparisons in a unit of time; infinite for a machine that is never too slow.
    window
        w of all streams, in units of time; a whole number of sub-windows.
    length
        b, of a sub-window.
    interval
        Delta, time between two adaptation steps.
    buffer
        Rows that the input buffer of each stream holds.
    epsilon
        Values of a result are at most so far apart.
    buckets_per_sub_window
        How finely lags are counted.
    """

    speed: float = np.inf
    window: float = 20.0
    length: float = 2.0
    interval: float = 5.0
    buffer: int = 10
    epsilon: float = 1.0
    buckets_per_sub_window: int = 4


@dataclass(frozen=True, eq=False)
class Run:
    """What a run has shown, from when it counts.

    Attributes
    ----------
    output
        Results in a unit of time.
    work
        Comparisons in a unit of time.
    dropped
        Rows in a unit of time that full buffers refused.
    times, fractions, rates
        Each adaptation step: when it was, z after it, and rows of all streams in a unit of time
        before it.
    last
        What was learned in the last interval.
    """

    output: float
    work: float
    dropped: float
    times: Floats
    fractions: Floats
    rates: Floats
    last: Interval


def simulate(
    streams: LaggedStreams,
    policy: Policy,
    machine: Machine,
    *,
    duration: float = 60.0,
    counts_from: float = 20.0,
    seed: int = 0,
) -> Run:
    """Join streams by a way to shed load.

    Parameters
    ----------
    streams
        What is joined: an epsilon join of their values.
    policy
        The way; a new one for each run, as it learns.
    machine
        The join and what it runs on.
    duration, counts_from
        The run ends at one time, and what happens from the other on counts.
    seed
        Of the draws for drop boxes and shredding.

    Examples
    --------
    >>> from penstock.studies.grub_join import Exact
    >>> from penstock.testing import lagged_streams
    >>> streams = lagged_streams(rate=10.0, duration=40.0, lags=(0.0, 5.0), deviations=(2.0, 2.0))
    >>> run = simulate(streams, Exact(), Machine(), duration=40.0)
    >>> round(run.output, 1), round(run.work)
    (10.2, 4346)
    """
    if not 0.0 <= counts_from < duration:
        raise SpecificationError(
            must("counts_from", f"from 0 to below {duration:g}", counts_from, "let it run longer")
        )
    rows = _rows(streams, seed)
    m = len(streams.tables)
    windows = np.full(m, machine.window)
    most = int(np.bincount(rows.streams, minlength=m).max()) + 1
    state = State(
        np.zeros((m, most)),
        np.zeros((m, most)),
        np.zeros(m, np.int64),
        np.zeros((m, machine.buffer), np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(5),
    )
    settings = policy.begin(windows, machine.length)
    times, fractions, rates = [], [], []
    now = 0.0
    while True:
        until = min(duration, now + machine.interval)
        tally = _tally(m, machine)
        advance(rows, state, _rules(settings, machine, windows, counts_from), tally, until)
        interval = Interval(until - now, *tally)
        now = until
        if now >= duration:
            break
        settings = policy.adapt(interval)
        state.numbers[FREE_AT] = max(state.numbers[FREE_AT], now) + settings.effort / machine.speed
        times.append(now)
        fractions.append(policy.fraction)
        rates.append(float(interval.came.sum()) / interval.length)
    counted = duration - counts_from
    return Run(
        output=float(state.numbers[RESULTS]) / counted,
        work=float(state.numbers[COMPARED]) / counted,
        dropped=float(state.numbers[DROPPED]) / counted,
        times=np.array(times),
        fractions=np.array(fractions),
        rates=np.array(rates),
        last=interval,
    )


def _rows(streams: LaggedStreams, seed: int) -> Rows:
    tables = list(streams.tables.values())
    times = np.concatenate([table["time"].to_numpy() for table in tables])
    values = np.concatenate([table["value"].to_numpy() for table in tables])
    numbers = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    order = np.argsort(times, kind="stable")
    draws = np.random.default_rng([seed, 1]).random((2, times.size))
    return Rows(times[order], values[order], numbers[order], draws[0], draws[1])


def _tally(m: int, machine: Machine) -> Tally:
    buckets = round(machine.buckets_per_sub_window * 2.0 * machine.window / machine.length)
    return Tally(
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros((m, m)),
        np.zeros((m, m)),
        np.zeros((m, buckets)),
    )


def _rules(settings: Settings, machine: Machine, windows: Floats, counts_from: float) -> Rules:
    return Rules(
        settings.orders,
        settings.places.astype(np.float64),
        settings.parts,
        settings.boxes,
        windows,
        float(settings.shredded),
        float(settings.first_part),
        float(machine.length),
        float(machine.epsilon),
        float(machine.speed),
        float(counts_from),
        float(machine.length) / machine.buckets_per_sub_window,
    )
