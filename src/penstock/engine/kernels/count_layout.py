"""Counters of keys: a few structured arrays that their kernels share.

An *entry* stands for rows of one key and stream that wait for others. It is one of three kinds:

* a *sampled row*, which was drawn with a known chance and stands for 1 / chance rows;
* a *run*: all rows of a heavy key in a part of a window, as a number, and the first and last time;
* of three streams and more, what the results of a sampled key have added up to.

Entries are chained by a hash of their key. A *candidate* is a key that may be heavy, with the
number of its rows of each stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels.layout import GAUGE

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Integers

# Kinds of entries.
SAMPLED: Final = 0
RUN: Final = 1
KEY: Final = 2


def entry_type(time: DType) -> DType:
    """Return the record of an entry: 40 bytes.

    >>> entry_type(np.dtype("i8")).itemsize
    40
    """
    return np.dtype(
        [
            ("first", time),
            ("extent", np.float32),  # from the first row to the last
            ("tag", np.int32),  # a hash of its key
            ("draw", np.float32),  # of a run: what it adds to the variance
            ("chance", np.float32),
            ("cover", np.float32),  # what its results so far make of the next one's variance
            ("batch_cover", np.float32),
            ("count", np.int32),  # rows; of a sampled key, the period of its draw
            ("next", np.int16),
            ("stream", np.int8),
            ("kind", np.int8),
        ]
    )


def candidate_type(streams: int) -> DType:
    """Return the record of a key that may be heavy."""
    return np.dtype(
        [
            ("tag", np.int32),
            ("is_heavy", np.int8),
            ("is_chosen", np.int8),
            ("spare", np.int16),
            ("counts", np.float32, (streams,)),  # 0 in all streams: a free place
        ]
    )


def counted_stream_type(time: DType) -> DType:
    """Return the record of a stream."""
    return np.dtype(
        [
            ("window", time),
            ("lateness", time),
            ("clock", time),
            ("horizon", time),
            ("cell", time),  # a run has rows of one cell of time
            ("reach", np.float64),  # its window, as a part of the longest
            ("arrived", np.float64),  # rows, fading
        ]
    )


def counting_type(time: DType) -> DType:
    """Return the record of what holds for all of them."""
    return np.dtype(
        [
            ("now", time),
            ("seed", np.int64),
            ("number", np.int64),  # rows so far
            ("room", np.int64),  # entries that may be in use
            ("parts", np.int64),  # cells in a window
            ("free", np.int64),
            ("fresh", np.int64),
            ("used", np.int64),
            ("sampled", np.int64),  # of these: rows that were drawn
            ("candidates", np.int64),
            ("planned", np.int64),  # rows when it was last decided which keys are heavy
            ("chance", np.float64),  # of a row, or of a key, to be sampled
            ("next_chance", np.float64),  # of a key in the next period
            ("span", np.float64),  # how long rows wait at most
            ("period", np.float64),  # for which a key has the same draw
            ("epoch", np.int64),  # the number of the period
            ("turn_at", np.float64),
            ("fade_at", np.float64),
            ("combines", np.int64),  # how importance is combined, or -1
        ]
    )


COUNTED: Final = np.dtype(
    [
        *((name, np.float64) for name in GAUGE.names or ()),
        ("worth", np.float64),
        ("worth_variance", np.float64),
        ("worth_fourth", np.float64),
    ]
)
"""What was added up for the arrivals of a stream."""


class KeyCounts(NamedTuple):
    """The counters of one shard."""

    entries: Array
    heads: Array  # by hash: the first entry of a chain
    candidates: Array
    streams: Array
    rule: Array
    gauges: Array
    found: Integers  # entries of an arrival's key, for three streams and more; ranked keys
    certain: Floats  # by stream: rows that are counted, and with them those that are sampled
    full: Floats
    worths: Floats  # by entry: importance of its rows,
    worth_squares: Floats  # the squares of it,
    worth_covers: Floats  # and what its results so far make of the next one's variance
