"""The join that needs no index: each arrival against every row of every other window.

Written to be fast at what it does. The windows are ring buffers of plain numbers. They are scanned
one after another, the second for each match in the first and so on, and a row is rejected as soon
as its value does not go with the members so far. It is handed arrays that are merged in time order
already, and gives row numbers: it reads no Arrow and gathers no payload.

There are three ways to scan. *Plain* is the nested loop as one writes it. *Tuned* has its condition
in a form that the processor can predict. In *blocks*, a whole block is tested without a branch
first, which compiles to vector instructions; only a block that has a match is looked at row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

Scan: TypeAlias = Literal["plain", "tuned", "blocks"]

# Rows: eight of the widest vector instructions, and few enough to scan again.
_BLOCK = 64


def nested_loop(
    times: Integers,
    streams: Integers,
    values: Floats,
    *,
    window: int,
    distance: float,
    scan: Scan = "plain",
) -> Integers:
    """Join streams on values that are all pairwise within a distance.

    Parameters
    ----------
    times, streams, values
        Of each arrival, in time order; streams are numbered from 0.
    window
        How much older than the newest a member may be; the same for all streams.
    distance
        Between any two values, at most.
    scan
        How the windows are scanned.

    Returns
    -------
    numpy.ndarray
        For each result the row number in each stream.

    Examples
    --------
    >>> times, streams = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    >>> values = np.array([1.0, 8.0, 5.0, 1.5, 9.0, 5.2])
    >>> nested_loop(times, streams, values, window=1, distance=0.6).tolist()
    [[0, 1], [1, 2]]
    """
    count = int(streams.max()) + 1
    longest = 1
    for stream in range(count):
        own = times[streams == stream]
        before = np.searchsorted(own, own - window)
        longest = max(longest, int((np.arange(own.size) - before).max(initial=0)) + 1)
    size = 1 << longest.bit_length()  # a power of two: to wrap around is to mask
    return _join(
        times,
        streams,
        values,
        (np.zeros((count, size), np.int64), np.zeros((count, size), np.float64)),
        window,
        distance,
        {"plain": -1, "tuned": 0, "blocks": _BLOCK}[scan],
    )


@njit(cache=True)
def _next_plain(
    ring: Floats, at: int, stop: int, bounds: tuple[float, float], distance: float
) -> int:
    """Return the first place from `at` whose value fits the members so far, or `stop`."""
    least, greatest = bounds
    mask = ring.size - 1
    while at < stop:
        value = ring[at & mask]
        if value - least <= distance and greatest - value <= distance:
            return at
        at += 1
    return stop


@njit(cache=True)
def _next(ring: Floats, at: int, stop: int, bounds: tuple[float, float], distance: float) -> int:
    """Return the same with one condition, which is nearly always false."""
    least, greatest = bounds
    mask = ring.size - 1
    while at < stop:
        value = ring[at & mask]
        # Of two conditions joined by "and" the first is mispredicted for every other row.
        if max(value - least, greatest - value) <= distance:
            return at
        at += 1
    return stop


@njit(cache=True)
def _next_in_blocks(
    ring: Floats, at: int, stop: int, bounds: tuple[float, float], distance: float, block: int
) -> int:
    """Return the same, testing `block` rows at a time."""
    least, greatest = bounds
    mask = ring.size - 1
    while at < stop:
        start = at & mask
        rows = ring[start : start + min(block, stop - at, ring.size - start)]
        matches = 0
        for i in range(rows.size):  # an iterator would not be turned into vector instructions
            value = rows[i]
            matches += (value - least <= distance) & (greatest - value <= distance)
        if matches:
            return _next(ring, at, stop, bounds, distance)
        at += rows.size
    return stop


@njit(cache=True)
def _join(  # noqa: PLR0915  # a compiled loop reads from top to bottom
    times: Integers,
    streams: Integers,
    values: Floats,
    rings: tuple[Integers, Floats],
    window: int,
    distance: float,
    block: int,
) -> Integers:
    ring_times, ring_values = rings
    count, size = ring_values.shape
    mask = size - 1
    head = np.zeros(count, np.int64)  # row numbers: the window is head to tail
    tail = np.zeros(count, np.int64)
    row = np.zeros(count, np.int64)  # of the partial result, by stream
    at = np.zeros(count, np.int64)  # where each depth's scan goes on
    least = np.zeros(count, np.float64)
    greatest = np.zeros(count, np.float64)
    results = np.empty((1024, count), np.int64)
    found = 0
    for i in range(times.size):
        stream = streams[i]
        for other in range(count):
            bound = times[i] - window
            while head[other] < tail[other] and ring_times[other, head[other] & mask] < bound:
                head[other] += 1
        row[stream] = tail[stream]
        least[0] = values[i]
        greatest[0] = values[i]
        at[0] = head[(stream + 1) % count]
        depth = 0
        while depth >= 0:
            other = (stream + 1 + depth) % count
            ring, stop = ring_values[other], tail[other]
            bounds = least[depth], greatest[depth]
            if block > 0:
                place = _next_in_blocks(ring, at[depth], stop, bounds, distance, block)
            elif block < 0:
                place = _next_plain(ring, at[depth], stop, bounds, distance)
            else:
                place = _next(ring, at[depth], stop, bounds, distance)
            if place == stop:
                depth -= 1
                continue
            at[depth] = place + 1
            row[other] = place
            if depth < count - 2:
                value = ring_values[other, place & mask]
                least[depth + 1] = min(least[depth], value)
                greatest[depth + 1] = max(greatest[depth], value)
                depth += 1
                at[depth] = head[(stream + 1 + depth) % count]
                continue
            if found == len(results):
                larger = np.empty((2 * found, count), np.int64)
                larger[:found] = results
                results = larger
            results[found] = row
            found += 1
        ring_times[stream, tail[stream] & mask] = times[i]
        ring_values[stream, tail[stream] & mask] = values[i]
        tail[stream] += 1
    return results[:found]
