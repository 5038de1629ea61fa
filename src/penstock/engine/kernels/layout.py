"""The memory of one shard: a few structured arrays that the kernels share.

Glossary: a *row* is one buffered tuple; a *slot* is one key (or value bucket) that is present in
a window, with the head of its chain of rows for each stream; the *queue* holds each stream's rows
in time order; the *heap* holds them by priority, where a strategy evicts by priority; a *cell*
holds those of about the same age of which about the same is expected, where it evicts by score; a
*watched* row is one of a random few that stay for life, so that what is lost can be estimated;
a row's *odds* say how it came to be in a sample, where that is what is wanted; its *merit* says
what it has given so far, where rows leave by residence priority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

# Times and windows stay below 2**61 in magnitude, so that time + window and clock - lateness -
# window can never overflow; NEVER is the clock of a stream that has not been heard of.
TIME_LIMIT: Final = 2**61
NEVER: Final = -(2**62)

NOTHING: Final = -1  # no row, no slot; in a queue: the row that stood here is gone
PENDING: Final = -2  # in a queue: the tuple of this place is still to come in this batch

# How rows are found.
EQUAL: Final = 0
WITHIN: Final = 1
BAND: Final = 2
COMPARE: Final = 3

# Compare's operators.
LESS: Final = 0
LESS_OR_EQUAL: Final = 1
UNEQUAL: Final = 2
GREATER_OR_EQUAL: Final = 3
GREATER: Final = 4

# What arrives without a key: a tuple, or only word of how far its stream has come elsewhere.
NO_KEY: Final = 1
TICK: Final = 2

# Who leaves when room is needed.
EVICT_NOBODY: Final = 0
EVICT_OLDEST: Final = 1
EVICT_LOWEST: Final = 2
EVICT_BY_SCORE: Final = 3
EVICT_BY_LOT: Final = 4
EVICT_BY_RESIDENCE: Final = 5

# Where a row stands that leaves by residence priority: in no heap, as it has not matched; in that
# of those who are not mature; in that of the mature.
UNMATCHED: Final = -1
YOUNG: Final = 0
RIPE: Final = 1

# When residence priorities are computed anew.
SUCCESSIVE: Final = 0
K_SUCCESSIVE: Final = 1
ADAPTIVE: Final = 2

# What the importance of a result is made of.
MIN: Final = 0
PRODUCT: Final = 1
SUM: Final = 2
MAX: Final = 3

# The number of a match that is never reached.
NO_MATCH: Final = 2**31 - 1

# Length of `scratch`: more than a heap of all rows that there can be is deep.
SCRATCH: Final = 64

# Columns of `links`: neighbours in a cell's list, the one that came later first; the cell.
LATER: Final = 0
EARLIER: Final = 1
CELL: Final = 2

# A row's place in the heap; at WATCHED and below, WATCHED - place is its place in `watched`.
WATCHED: Final = -2
# A row's results are counted up to here.
MOST_MATCHES: Final = 32767

# Columns of `slots`.
KEY_WORD: Final = 0
SUB: Final = 1
COUNT: Final = 2
HEAD: Final = 3

# A payload reference: the sub-window's number above, the row's place in it below. Number 0 is
# the batch that is being joined.
REF_BITS: Final = 32
REF_MASK: Final = (1 << REF_BITS) - 1

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers


def row_type(time: DType, value: DType) -> DType:
    """Give the record of a buffered tuple: 64 bytes, one cache line.

    >>> row_type(np.dtype("i8"), np.dtype("f8")).itemsize
    64
    """
    return np.dtype(
        [
            ("time", time),
            ("ref", np.int64),
            ("next", np.int32),
            ("prev", np.int32),
            ("slot", np.int32),
            ("place", np.int32),  # in the queue
            ("value", value),
            ("priority", np.float64),
            ("birth", np.int64),
            ("heap", np.int32),  # place in the heap, or in `watched`
            ("stream", np.int16),
            ("matches", np.int16),  # results that it took part in while it waited
        ]
    )


def arrival_type(time: DType, value: DType) -> DType:
    """Give the record of an arriving tuple."""
    return np.dtype(
        [
            ("time", time),
            ("key_word", np.int64),
            ("value", value),
            ("priority", np.float64),
            ("draw", np.float64),  # in [0, 1): who is watched
            ("limit", np.int64),  # rows that may be held once this tuple has been dealt with
            ("ref", np.int64),
            ("place", np.int32),
            ("stream", np.int16),
            ("blank", np.int16),  # NO_KEY or TICK: moves the clock, and that is all
            ("grade", np.int16),  # how much is expected of it, where rows are evicted by score
        ]
    )


def stream_type(time: DType) -> DType:
    """Give the record of a stream: its settings, its clock and its counters."""
    return np.dtype(
        [
            ("window", time),
            ("lateness", time),
            ("clock", time),  # the greatest time heard of
            ("horizon", time),  # no tuple of another stream can still come from before this
            ("share", np.float64),  # the part of the budget that it may claim
            ("chain", np.int64),  # its place in the predicate's order of streams
            ("base", np.int64),  # its queue is queue[base + head : base + tail]
            ("head", np.int64),
            ("tail", np.int64),
            ("first", np.int64),  # rows before this place are all watched
            ("ripened", np.int64),  # and before this place they are all mature
            ("unmatched", np.int64),  # and before this place they have all matched
            ("newest", np.int64),  # beyond this place all are still to come
            ("held", np.int64),
            ("watched", np.int64),  # of those held
            ("held_most", np.int64),
            ("held_at_most", np.int64),  # when the join as a whole held most
            ("inserted", np.int64),
            ("dropped", np.int64),
            ("evicted", np.int64),
            ("expired", np.int64),
            ("ended", np.int64),  # rows that were in memory, or would have been with more of it
            ("lived", np.float64),  # for how much of its window each of them stayed, added up
            ("lived_squares", np.float64),
        ]
    )


def rule_type(value: DType) -> DType:
    """Give the record of what holds for the whole join."""
    return np.dtype(
        [
            ("kind", np.int64),
            ("operator", np.int64),
            ("low", value),
            ("high", value),
            ("inverse", np.float64),  # 1 / width of a value bucket, of floats
            ("shift", np.int64),  # and of whole numbers: 2**shift is its width
            ("slack", value),  # relative rounding error of a bound: 0 for whole numbers
            ("bottom", value),  # the least and the greatest value there is
            ("top", value),
            ("edge", value),  # values beyond it are in one bucket: number `last_bucket`
            ("last_bucket", np.int64),  # 0 if there is no such edge
            ("evict", np.int64),
            ("held", np.int64),
            ("held_most", np.int64),
            ("births", np.int64),
            ("free_row", np.int64),  # head of the list of free rows, linked through `next`
            ("fresh_row", np.int64),  # rows from here on were never used
            ("free_slot", np.int64),
            ("fresh_slot", np.int64),
            ("spare_slots", np.int64),  # how many slots can still be given out
            ("compared", np.int64),
            ("produced", np.int64),
            ("notes", np.int64),  # whether results are noted with the rows that gave them
            ("watched", np.int64),  # rows that are watched
            ("quota", np.int64),  # rows that may be watched
            ("threshold", np.float64),  # who draws below it is watched
            ("fraction", np.float64),  # of a sample: who draws below it times its size is in
            ("by_match", np.int64),  # whether matches are chosen one by one, or rows with all
            ("by_size", np.int64),  # whether rows are chosen by what is expected of them
            ("forced", np.int64),  # how often the fraction fell because memory was full
            ("batch", np.int64),  # number of the batch
            ("weighs", np.int64),  # whether results say which watched row waited for them
            ("favours_old", np.int64),  # whether a newcomer of the lowest priority is turned away
            ("found", np.int64),  # results of the tuple that is being dealt with
            ("result", np.int64),  # what the importance of a result is made of
            ("quality", np.float64),  # importance of all results, where it is asked for
        ]
    )


def watched_type(time: DType) -> DType:
    """Give the record of a watched row."""
    return np.dtype(
        [
            ("row", np.int64),
            ("draw", np.float64),
            ("chance", np.float64),  # of being watched until now
            ("since", time),  # up to when its life is counted in `exposed`
            ("matches", np.int64),
            ("counted", np.int64),  # of these, when its stream's grid last turned
            ("likeliness", np.float64),  # and what its key's frequency said of it then
            ("cover", np.float64),  # sum of (1 / chance - 1) over its matches
            ("batch_cover", np.float64),  # the same, of this batch
        ]
    )


# What the watched rows of a stream have shown: estimates of all results in which its rows waited,
# and of the variance of that estimate; so far, and of this batch.
GAUGE: Final = np.dtype(
    [
        ("total", np.float64),
        ("variance", np.float64),
        ("batch_total", np.float64),
        ("batch_variance", np.float64),
    ]
)


# How a row came to be in a sample. It has drawn `-priority` times its size, or, where matches are
# chosen, `-priority` for its next one.
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


def merit_type(time: DType) -> DType:
    """Give the record of what a row has given so far, where rows leave by residence priority."""
    return np.dtype(
        [
            ("importance", np.float64),
            ("matches", np.float64),  # as of the last one, those before it decayed
            ("last", time),  # when it last matched, or came if it never did
            ("computed", np.float64),  # its priority as computed last, if it has matched since:
            ("epoch", np.int64),  # then this is the number of that computation
            ("keyed", time),  # its last match when its place in the heap was found
            ("standing", np.int64),  # UNMATCHED, YOUNG or RIPE
        ]
    )


def residence_type(time: DType) -> DType:
    """Give the record of how a stream's rows leave by residence priority, and of when they did."""
    return np.dtype(
        [
            ("life", np.float64),  # its window, in which ages are measured
            ("maturity", np.float64),  # in lives, as the next
            ("unproductivity", np.float64),
            ("penalty", np.float64),
            ("decay", np.float64),
            ("scheme", np.int64),  # when priorities are computed anew
            ("every", np.int64),
            ("tolerance", np.float64),
            ("decisions", np.int64),  # so far
            ("epoch", np.int64),  # how many times priorities were computed
            ("computed_at", time),  # when that was last,
            ("births", np.int64),  # and who came from then on
            ("seen", np.float64),  # importance of results at the last decision,
            ("quality", np.float64),  # and between it and the one before
            ("ripe", np.int64),  # rows in the heap of the mature that have matched
            ("young", np.int64),  # and of the others, which is a heap
            ("is_ordered", np.int64),  # only if this says so
            ("horizon", time),  # until when the heaps' bounds hold
            ("began", time),  # since when they do
            ("step", np.float64),  # for how long they were to hold
            ("visited", np.int64),  # rows that were looked at meanwhile
        ]
    )


def grid_type(time: DType) -> DType:
    """Give the record of a stream's grid of cells: grades by ages, where rows go by score."""
    return np.dtype(
        [
            ("span", time),  # length of a part of a row's life
            ("parts", np.int64),  # of a life
            ("ages", np.int64),  # cells of a grade: parts, and two more for those that live longer
            ("cells", np.int64),  # in use: grades times ages
            ("now", np.int64),  # the part of time that it is
            ("cursor", np.int64),  # cells ranked below it are empty
        ]
    )


# For each (stream that arrives, window that is probed): the rows that probes stood against, and
# how many of them fitted. `statistics.selectivity` reads it.
PAIR: Final = np.dtype([("faced", np.int64), ("found", np.int64)])


class Memory(NamedTuple):
    """Everything that the kernels work on."""

    rows: Array
    slots: Integers  # KEY_WORD, SUB, COUNT, then one HEAD per stream
    table: Integers  # open addressing: 0, or a hash tag and slot + 1
    queue: Indices
    heaps: Indices  # one line per stream; two where there is one for the mature
    streams: Array
    rule: Array  # one element
    span: Array  # length of an indexed sub-window, 0 for none; errors of times (`store._span`)
    order: Integers  # order[s]: the windows that a tuple of s probes, in turn
    pairs: Array
    dead: Integers  # dead[s, n]: rows of sub-window n that have left memory
    watched: Array
    gauges: Array  # one per stream
    matched: Floats  # matched[s, part of its life]: what watched rows matched, weighted
    exposed: Floats  # and how long they were in it, in parts, weighted
    grids: Array  # one per stream
    cells: Indices  # cells[s, cell]: its latest row and its earliest
    ranks: Indices  # ranks[s, cell]: its place among the stream's cells, lowest score first
    ranked: Indices  # ranked[s, place]: the cell
    rising: Indices  # rising[s, cell]: whether a row there gains by growing older
    links: Indices  # one line per row
    odds: Array  # one per row
    merits: Array  # one per row
    residences: Array  # one per stream
    scratch: Indices  # two lines, for a walk through a heap
