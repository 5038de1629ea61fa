"""Rows of a random sample: each is in it while what it has drawn is below a threshold.

Each row has drawn a ratio: a random number in [0, 1), divided by its size. It is in the sample as
long as its ratio is below the sampling fraction, so its chance is its size times the least fraction
since it came, at most 1. When memory is full the fraction falls to the greatest ratio there is, and
the row that has it leaves (priority sampling); that is why a result's weight is always 1 / its
chance, however often and however far the fraction has had to fall.

Where matches are chosen (UNIFORM) it is the same with each match: a row has skipped to its next
match whose draw is below the fraction, and has the draw of that one. When the fraction falls to it
the row skips on, and leaves if the match that it comes to is beyond those that it can expect.

The greatest ratio is found by heaps with minus the ratio as key. This file has the arrays and the
draws; `thinning` has what happens when the fraction falls and when matches are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, kernel, wide
from penstock.engine.kernels.key_hash import combine_hash
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.retention import heap

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats

# The key of a row that is held but not in the sample: the first to go.
OUT: Final = -np.inf
# The number of a match that is never reached.
NO_MATCH: Final = 2**31 - 1
_UNIT: Final = 2.0**-53
_SHIFT: Final = np.uint64(11)
_LARGE: Final = 2.0**53

# What holds for the whole sample.
SETTINGS: Final = np.dtype(
    [
        ("fraction", np.float64),  # rows that draw below it times their size are in
        ("by_match", np.int64),  # whether matches are chosen one by one, or rows with all
        ("by_size", np.int64),  # whether rows are chosen by what is expected of them
        ("forced", np.int64),  # how often the fraction fell because memory was full
    ]
)

# How a row came to be in the sample.
ODDS: Final = np.dtype(
    [
        ("size", np.float64),  # its chance is this times the fraction
        ("least", np.float64),  # the least fraction since it drew, as of when it was last noted
        ("expected", np.float64),  # matches, by what was known when it came
        ("key", np.int64),  # from which its next random number follows
        ("cover", np.float64),  # sum of (1 / chance - 1) over its matches
        ("batch_cover", np.float64),  # the same, of one batch
        ("batch", np.int32),  # that batch
        ("seen", np.int32),  # matches so far
        ("next", np.int32),  # the number of the match that is chosen
        ("limit", np.int32),  # matches that it is taken to have
    ]
)


class SampleArrays(NamedTuple):
    """What was drawn."""

    settings: Array  # one element
    odds: Array  # one per row
    whole: Floats  # of each stream: how many results those for which its rows waited stand for


class Lot(NamedTuple):
    """What an arriving row has drawn."""

    ratio: float
    size: float
    expected: float
    key: np.int64
    next: np.int64
    limit: np.int64


def make(streams: int) -> SampleArrays:
    """Return the arrays of so many streams, with room for no row."""
    settings = np.zeros(1, SETTINGS)
    settings["fraction"] = np.inf
    return SampleArrays(settings, np.zeros(0, ODDS), np.zeros(streams))


def grown(sample: SampleArrays, size: int) -> SampleArrays:
    """Return the arrays with room for so many rows."""
    odds = np.zeros(size, ODDS)
    odds[: sample.odds.size] = sample.odds
    return sample._replace(odds=odds)


@inner
def skip(key: np.int64, fraction: float) -> tuple[np.int64, float, np.int64]:
    """Draw how far it is to the next match whose draw is below the fraction, and that draw.

    X ~ G(p), by inversion; the key follows from the one before.
    """
    key = combine_hash(key, np.int64(1))
    first = np.float64(np.uint64(key) >> _SHIFT) * _UNIT
    key = combine_hash(key, np.int64(2))
    second = np.float64(np.uint64(key) >> _SHIFT) * _UNIT
    steps = 1.0
    if fraction < 1.0:
        steps = min(1.0 + np.floor(np.log1p(-first) / np.log1p(-fraction)), float(NO_MATCH))
    return np.int64(steps), second * min(fraction, 1.0), key


@inner
def draw(memory: Memory, arrival: np.void) -> Lot:
    """Draw for an arriving row; `is_out` says whether it is in the sample."""
    settings = memory.retained.sample.settings[0]
    expected = arrival["rating"]
    if settings["by_match"]:
        limit = np.int64(min(expected, float(NO_MATCH - 1)))
        key = np.int64(arrival["draw"] * _LARGE)
        steps, ratio, key = skip(key, settings["fraction"])
        return Lot(ratio, 1.0, expected, key, steps, limit)
    size = expected if settings["by_size"] else 1.0
    ratio = arrival["draw"] / size
    taken = np.int64(0) if ratio < settings["fraction"] else np.int64(NO_MATCH)
    return Lot(ratio, size, expected, np.int64(0), taken, np.int64(0))


@inner
def is_out(memory: Memory, lot: Lot) -> bool:
    """Return whether an arriving row is not to be in the sample.

    While all matches are wanted no row leaves, however many it has had: memory suffices.
    """
    settings = memory.retained.sample.settings[0]
    if settings["by_match"] and settings["fraction"] >= 1.0:
        return False
    return bool(lot.next > lot.limit)


@inner
def draw_again(memory: Memory, lot: Lot) -> Lot:
    """Let the fraction fall to an arriving row's ratio, and see whether it is still wanted."""
    settings = memory.retained.sample.settings[0]
    if lot.ratio < settings["fraction"]:
        settings["forced"] += 1
        settings["fraction"] = lot.ratio
    if not settings["by_match"]:
        return Lot(lot.ratio, lot.size, lot.expected, lot.key, np.int64(NO_MATCH), lot.limit)
    steps, ratio, key = skip(lot.key, settings["fraction"])
    further = np.int64(min(lot.next + steps, np.int64(NO_MATCH)))
    return Lot(ratio, lot.size, lot.expected, key, further, lot.limit)


@inner
def note_lot(memory: Memory, row: int, lot: Lot) -> None:
    """Note what a row that was taken in has drawn."""
    odds = memory.retained.sample.odds[row]
    odds["size"] = lot.size
    odds["least"] = memory.retained.sample.settings[0]["fraction"]
    odds["expected"] = lot.expected
    odds["key"] = lot.key
    odds["cover"] = 0.0
    odds["batch_cover"] = 0.0
    odds["batch"] = 0
    odds["seen"] = 0
    odds["next"] = NO_MATCH if is_out(memory, lot) else lot.next
    odds["limit"] = lot.limit


@inner
def first_to_go(memory: Memory) -> int:
    """Return the row with the greatest ratio, of all streams, or NOTHING."""
    first = wide(NOTHING)
    keys = memory.retained.heap.keys
    for stream in range(memory.streams.size):
        row = heap.lowest(memory, stream)
        if row != NOTHING and (first == NOTHING or keys[row] < keys[first]):
            first = row
    return first


@kernel
def note_fraction(memory: Memory) -> None:
    """Note the least fraction so far with every row, before it is raised for those to come."""
    fraction = memory.retained.sample.settings[0]["fraction"]
    odds = memory.retained.sample.odds
    for stream in range(memory.streams.size):
        record = memory.streams[stream]
        for place in range(record["base"] + record["head"], record["base"] + record["tail"]):
            row = memory.queue[place]
            if row >= 0:
                odds[row]["least"] = min(odds[row]["least"], fraction)
