"""The arrivals of one stream, or its rows in memory, picked out of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import KEY_WORD, NOTHING, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Integers


def selected_type(value: DType) -> DType:
    """Return the record of an arrival of which something is to be said."""
    return np.dtype([("at", np.int64), ("value", value), ("key_word", np.int64)])


@kernel
def select(arrivals: Array, stream: int, at: int, stop: int, into: Array) -> int:
    """List the arrivals of a stream that have a key, in order; return their number."""
    count = 0
    for place in range(at, stop):
        if arrivals[place]["stream"] == stream and arrivals[place]["blank"] == 0:
            into[count]["at"] = place
            into[count]["value"] = arrivals[place]["value"]
            into[count]["key_word"] = arrivals[place]["key_word"]
            count += 1
    return count


@kernel
def set_likeliness(arrivals: Array, places: Integers, likeliness: Floats) -> None:
    """Set how likely arrivals are to match."""
    for i in range(places.size):
        arrivals[places[i]]["likeliness"] = likeliness[i]


def gathered_type(time: DType, value: DType) -> DType:
    """Return the record of a row that is to be rated again."""
    return np.dtype(
        [
            ("row", np.int64),
            ("time", time),
            ("value", value),
            ("key_word", np.int64),
            ("likeliness", np.float64),
            ("matches", np.float64),
        ]
    )


@kernel
def gather(memory: Memory, stream: int, into: Array) -> int:
    """List a stream's rows that may leave, in time order, with all that they are rated by.

    Returns their number. One pass: the rows lie in main memory, and each would be fetched again
    for each column.
    """
    record = memory.streams[stream]
    count = 0
    for place in range(record["base"] + record["head"], record["base"] + record["tail"]):
        row = memory.queue[place]
        if row < 0 or memory.rows[row]["monitored"] != NOTHING:
            continue
        into[count]["row"] = row
        into[count]["time"] = memory.rows[row]["time"]
        into[count]["value"] = memory.rows[row]["value"]
        into[count]["key_word"] = memory.slots[memory.rows[row]["slot"], KEY_WORD]
        into[count]["likeliness"] = memory.rows[row]["likeliness"]
        into[count]["matches"] = memory.rows[row]["matches"]
        count += 1
    return count
