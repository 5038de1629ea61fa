"""The simulated join, compiled: buffers, a server, and nested loops over parts of windows."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "COMPARED",
    "DROPPED",
    "FREE_AT",
    "NEXT",
    "RESULTS",
    "Rows",
    "Rules",
    "State",
    "Tally",
    "advance",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Places in State.numbers.
FREE_AT: Final = 0  # when the server is free
RESULTS: Final = 1  # that count
COMPARED: Final = 2  # comparisons in the time that counts
DROPPED: Final = 3  # rows that a full buffer refused in that time
NEXT: Final = 4  # number of the next row that comes


class Rows(NamedTuple):
    """Rows of all streams in order of time, each with two random numbers from 0 to 1."""

    times: Floats
    values: Floats
    streams: Integers
    drop_draws: Floats
    shred_draws: Floats


class State(NamedTuple):
    """What the join holds: windows, buffers (as rings of row numbers), and figures."""

    window_times: Floats
    window_values: Floats
    window_sizes: Integers
    buffers: Integers
    buffer_starts: Integers
    buffer_sizes: Integers
    numbers: Floats


class Rules(NamedTuple):
    """`Settings` and constants, for compiled code."""

    orders: Integers
    places: Floats
    parts: Floats
    boxes: Floats
    windows: Floats
    shredded: float
    first_part: float
    length: float
    epsilon: float
    speed: float
    counts_from: float
    bucket: float


class Tally(NamedTuple):
    """`Interval`, for compiled code."""

    came: Integers
    pushed: Integers
    popped: Integers
    faced: Floats
    found: Floats
    lags: Floats


@njit(cache=True, error_model="numpy")
def advance(rows: Rows, state: State, rules: Rules, tally: Tally, until: float) -> None:
    """Let rows come and be joined until a time."""
    capacity = state.buffers.shape[1]
    most = state.window_times.shape[1]
    hops = rules.orders.shape[1]
    times, values = np.empty((hops, most)), np.empty((hops, most))
    at = int(state.numbers[NEXT])
    while at < rows.times.size and rows.times[at] < until:
        _serve(rows, state, rules, tally, rows.times[at], times, values)
        stream = rows.streams[at]
        tally.came[stream] += 1
        if rows.drop_draws[at] < rules.boxes[stream]:
            tally.pushed[stream] += 1
            size = state.buffer_sizes[stream]
            if size < capacity:
                end = (state.buffer_starts[stream] + size) % capacity
                state.buffers[stream, end] = at
                state.buffer_sizes[stream] = size + 1
            elif rows.times[at] >= rules.counts_from:
                state.numbers[DROPPED] += 1
        at += 1
    state.numbers[NEXT] = at
    _serve(rows, state, rules, tally, until, times, values)


@njit(cache=True, error_model="numpy")
def _serve(
    rows: Rows,
    state: State,
    rules: Rules,
    tally: Tally,
    until: float,
    times: Floats,
    values: Floats,
) -> None:
    """Join the rows in the buffers, the earliest first, while the server is free before a time."""
    m, capacity = state.buffers.shape
    while True:
        first, stream = -1, -1
        for i in range(m):
            if state.buffer_sizes[i] > 0:
                row = state.buffers[i, state.buffer_starts[i]]
                if first < 0 or row < first:
                    first, stream = row, i
        if first < 0:
            return
        begins = max(state.numbers[FREE_AT], rows.times[first])
        if begins >= until:
            return
        state.buffer_starts[stream] = (state.buffer_starts[stream] + 1) % capacity
        state.buffer_sizes[stream] -= 1
        tally.popped[stream] += 1
        compared, results = _join(rows, state, rules, tally, first, times, values)
        state.numbers[FREE_AT] = begins + compared / rules.speed
        if begins >= rules.counts_from:
            state.numbers[COMPARED] += compared
            state.numbers[RESULTS] += results
        end = state.window_sizes[stream]
        state.window_times[stream, end] = rows.times[first]
        state.window_values[stream, end] = rows.values[first]
        state.window_sizes[stream] = end + 1


@njit(cache=True, error_model="numpy")
def _join(
    rows: Rows,
    state: State,
    rules: Rules,
    tally: Tally,
    row: int,
    times: Floats,
    values: Floats,
) -> tuple[float, float]:
    """Join one row with parts of the windows; return the comparisons and the results."""
    i = rows.streams[row]
    now = rows.times[row]
    hops = rules.orders.shape[1]
    is_shredded = rows.shred_draws[row] < rules.shredded
    sizes = np.zeros(hops, np.int64)
    for j in range(hops):
        if is_shredded:
            step = 1.0 / rules.first_part if j == 0 else 1.0
            other = rules.orders[i, j]
            span = (now - rules.windows[other], now)
            sizes[j] = _copy(state, other, span, step, 0, times[j], values[j])
            continue
        for rank in range(rules.parts.shape[2]):
            part = rules.parts[i, j, rank]
            if part <= 0.0:
                break
            newest = now - rules.length * rules.places[i, j, rank]
            oldest = max(newest - part * rules.length, now - rules.windows[rules.orders[i, j]])
            span = (oldest, newest)
            sizes[j] = _copy(state, rules.orders[i, j], span, 1.0, sizes[j], times[j], values[j])
        if sizes[j] == 0:
            return 0.0, 0.0
    # Depth first through the hops: least and greatest value of a partial result by depth.
    lows, highs = np.empty(hops), np.empty(hops)
    places = np.zeros(hops, np.int64)
    members = np.empty(hops + 1)
    members[i] = now
    lows[0] = highs[0] = rows.values[row]
    compared, results = float(sizes[0]), 0.0
    depth = 0
    while depth >= 0:
        # All values of a result are within epsilon of each other.
        low, high = highs[depth] - rules.epsilon, lows[depth] + rules.epsilon
        other = rules.orders[i, depth]
        if depth == hops - 1:
            found = 0
            own = values[depth]
            for p in range(sizes[depth]):
                found += int(low <= own[p] <= high)
            results += found
            if is_shredded:
                tally.faced[i, other] += sizes[depth]
                tally.found[i, other] += found
                if found:
                    size = sizes[depth]
                    last = times[depth, :size][(low <= own[:size]) & (own[:size] <= high)]
                    _note(rules, tally, other, members, last)
            depth -= 1
            continue
        p = places[depth]
        if p == 0 and is_shredded:
            tally.faced[i, other] += sizes[depth]
        while p < sizes[depth] and not low <= values[depth, p] <= high:
            p += 1
        places[depth] = p + 1
        if p == sizes[depth]:
            depth -= 1
            continue
        if is_shredded:
            tally.found[i, other] += 1
        members[other] = times[depth, p]
        lows[depth + 1] = min(lows[depth], values[depth, p])
        highs[depth + 1] = max(highs[depth], values[depth, p])
        depth += 1
        places[depth] = 0
        compared += sizes[depth]
    return compared, results


@njit(cache=True, error_model="numpy")
def _note(rules: Rules, tally: Tally, last: int, members: Floats, times: Floats) -> None:
    """Count the lags of results to the first stream; they differ in their row of one stream."""
    m, buckets = tally.lags.shape
    for time in times:
        members[last] = time
        for stream in range(m):
            lag = members[stream] - members[0]
            bucket = int((lag + rules.windows[stream]) / rules.bucket)
            tally.lags[stream, min(max(bucket, 0), buckets - 1)] += 1.0


@njit(cache=True, error_model="numpy")
def _copy(
    state: State,
    stream: int,
    span: tuple[float, float],
    step: float,
    size: int,
    times: Floats,
    values: Floats,
) -> int:
    """Copy the rows of a span of a window, each or every so many, behind those copied before."""
    held = state.window_times[stream, : state.window_sizes[stream]]
    first = np.searchsorted(held, span[0], side="right")
    end = np.searchsorted(held, span[1], side="right")
    place = first + 0.5 * (step - 1.0)
    while place < end:
        row = int(place)
        times[size] = held[row]
        values[size] = state.window_values[stream, row]
        size += 1
        place += step
    return size
