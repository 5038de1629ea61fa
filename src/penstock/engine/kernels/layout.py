"""The memory of one shard: a few structured arrays that the kernels share.

Glossary: a *row* is one row of a stream that is held in memory; a *slot* is one key (or value
bucket) that is present in a window, with the head of its chain of rows for each stream; the
*queue* holds each stream's rows in time order; a *monitored* row is one of a random few that stay
for life, so that what is lost can be estimated; what is *retained* says which row leaves first
(`engine.retention`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

# Times and windows stay below 2**61 in magnitude, so that time + window and clock - lateness -
# window can never overflow; NEVER is the clock of a stream that has had no rows.
TIME_LIMIT: Final = 2**61
NEVER: Final = -(2**62)
# The window of a stream whose rows leave by number: no row is ever that old.
FOR_EVER: Final = 2**62

NOTHING: Final = -1  # no row, no slot; in a queue: the row that stood here is gone
PENDING: Final = -2  # in a queue: the row of this place is still to come in this batch

# How rows are found.
EQUAL: Final = 0
WITHIN: Final = 1
BAND: Final = 2
COMPARE: Final = 3
SIMILAR: Final = 4

# Compare's operators.
LESS: Final = 0
LESS_OR_EQUAL: Final = 1
UNEQUAL: Final = 2
GREATER_OR_EQUAL: Final = 3
GREATER: Final = 4

# What arrives without a key: a row, or only a tick of how far its stream has come elsewhere.
NO_KEY: Final = 1
TICK: Final = 2

# Steps that an arrival leaves out: `actions` is the sum; 0 for all steps (`engine.actions`).
NOT_ADMITTED: Final = 1
NOT_PROBED: Final = 2
NOT_INSERTED: Final = 4
UNSEEN: Final = 8  # or: of the results that it loses no estimate is possible
IN_PARTS: Final = 16  # or: it probes only some parts of the windows (`kernels.sub_windows`)

# What is noted of results.
NOTES: Final = 1  # the rows that gave them
METERS: Final = 2  # for how many results of the exact join they stand
LAGS: Final = 4  # how old the rows were that waited
BY_COUNT: Final = 8  # with METERS: keys are counted instead, and results are not weighed
FITS: Final = 16  # with METERS: what is found in a row is added up all the same

# What the importance of a result is made of.
MIN: Final = 0
PRODUCT: Final = 1
SUM: Final = 2
MAX: Final = 3

# That all rows held may take up, where it is not limited.
NO_LIMIT: Final = 2**63 - 1

# A row's results are counted up to here.
MOST_MATCHES: Final = 32767

# Columns of `slots`.
KEY_WORD: Final = 0
SUB: Final = 1
COUNT: Final = 2
HEAD: Final = 3

# A payload reference: the row group's number above, the row's place in it below. Number 0 is
# the batch that is being joined.
REF_BITS: Final = 32
REF_MASK: Final = (1 << REF_BITS) - 1

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers


def row_type(time: DType, value: DType) -> DType:
    """Return the record of a row in memory: 64 bytes, one cache line.

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
            # Of its key to match, when it came; 0 if not observed. Where only work is limited, the
            # share of the other stream that was to fit it (`engine.measured_fits`). Its number in
            # its stream, if the window is one of rows: with a budget there are no such windows.
            ("likeliness", np.float64),
            ("arrival_number", np.int64),  # a total order of all rows
            ("monitored", np.int32),  # place in `monitored`, or NOTHING
            ("stream", np.int16),
            ("matches", np.int16),  # results that it took part in while it waited
        ]
    )


def arrival_type(time: DType, value: DType) -> DType:
    """Return the record of an arriving row: 72 bytes.

    >>> arrival_type(np.dtype("i8"), np.dtype("f8")).itemsize
    72
    """
    return np.dtype(
        [
            ("time", time),
            ("key_word", np.int64),
            ("value", value),
            ("rating", np.float64),  # what the strategy says of it (`Strategy.rate`)
            ("likeliness", np.float64),  # of its key to match, or its number (`row_type`)
            ("draw", np.float64),  # in [0, 1): decides which rows are monitored
            ("ref", np.int64),
            ("place", np.int32),
            ("cost", np.int32),  # of the limit that it takes up when it is held
            ("stream", np.int16),
            ("blank", np.int16),  # NO_KEY or TICK: moves the clock, and that is all
            ("grade", np.int16),  # of its rating, where rows leave by score
            ("actions", np.int16),  # steps that it leaves out
        ]
    )


def stream_type(time: DType) -> DType:
    """Return the record of a stream: its settings, its clock and its counters."""
    return np.dtype(
        [
            ("window", time),
            ("last_rows", np.int64),  # rows of a window of rows; 0 for one of time
            ("lateness", time),
            ("clock", time),  # the greatest time seen
            ("horizon", time),  # no row of another stream can still come from before this
            ("share", np.float64),  # the part of the budget that it may claim
            ("chain", np.int64),  # its place in the predicate's order of streams
            ("base", np.int64),  # its queue is queue[base + head : base + tail]
            ("head", np.int64),
            ("tail", np.int64),
            ("newest", np.int64),  # beyond this place all are still to come
            ("held", np.int64),
            ("taken", np.int64),  # of the limit, where `has_costs`
            ("monitored", np.int64),  # of those held
            ("held_most", np.int64),
            ("held_at_most", np.int64),  # when the join as a whole held most
            ("inserted", np.int64),
            ("not_admitted", np.int64),
            ("not_probed", np.int64),
            ("not_inserted", np.int64),
            ("found", np.int64),  # results that its rows found as they arrived
            ("whole_compared", np.int64),  # rows compared in whole windows, where LAGS are noted
            ("unseen", np.int64),  # arrivals of whose lost results no estimate is possible
            ("dropped", np.int64),
            ("evicted", np.int64),
            ("expired", np.int64),
            ("ended", np.int64),  # rows that were in memory, or would have been with more of it
            ("lived", np.float64),  # for how much of its window each of them stayed, added up
            ("lived_squares", np.float64),
        ]
    )


def rule_type(value: DType) -> DType:
    """Return the record of what holds for the whole join."""
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
            ("emits_drawn", np.int64),  # whether only drawn matches are emitted
            ("sheds", np.int64),  # whether arrivals may leave out steps
            ("sub_windows", np.int64),  # parts of a window; 0 if all rows probe whole ones
            ("whole_chance", np.float64),  # with which a row probes them whole all the same
            ("held", np.int64),
            ("held_most", np.int64),
            ("limit", np.int64),  # that all rows held may take up together; see `engine.limits`
            ("has_costs", np.int64),  # whether rows take up different parts of it, or 1 each
            ("taken", np.int64),  # where it has; else `held` is
            ("taken_most", np.int64),
            ("arrivals", np.int64),  # so far: the next arrival's number
            ("free_row", np.int64),  # head of the list of free rows, linked through `next`
            ("fresh_row", np.int64),  # rows from here on were never used
            ("free_slot", np.int64),
            ("fresh_slot", np.int64),
            ("spare_slots", np.int64),  # how many slots can still be given out
            ("compared", np.int64),
            ("produced", np.int64),
            ("notes", np.int64),  # what is noted of results: NOTES and so on, added up
            ("monitored", np.int64),  # rows that are monitored
            ("quota", np.int64),  # rows that may be monitored
            ("threshold", np.float64),  # rows that draw below it are monitored
            ("batch", np.int64),  # number of the batch
            ("weighs", np.int64),  # whether results say which monitored row waited for them
            ("found", np.int64),  # results of the row that is being dealt with,
            ("probe_chance", np.float64),  # the chance that it probes,
            ("insert_chance", np.float64),  # that it is inserted,
            ("admit_chance", np.float64),  # that it is admitted, which is part of both,
            ("probe_weight", np.float64),  # how many rows it stands for as it probes,
            ("insert_weight", np.float64),  # and once it is inserted (`kernels.step_weights`),
            ("stands_for", np.float64),  # and for how many its own results stand
            ("result", np.int64),  # what the importance of a result is made of
        ]
    )


def account_type(time: DType) -> DType:
    """Return the record of the account of work, as the loop keeps it while rows are shed."""
    return np.dtype(
        [
            ("now", time),
            ("credit", np.float64),  # what is allowed and not used yet
            ("share", np.float64),  # what is allowed in a unit of time
            ("most", np.float64),  # that is kept; 0 where work is not limited
            ("inserting", np.float64),  # rows that are to be inserted in a unit of time,
            ("coming", np.float64),  # and all that come
            ("arrival", np.float64),  # what steps cost
            ("insert", np.float64),
            ("compare", np.float64),
            ("result", np.float64),
        ]
    )


def monitored_type(time: DType) -> DType:
    """Return the record of a monitored row."""
    return np.dtype(
        [
            ("row", np.int64),
            ("draw", np.float64),
            ("chance", np.float64),  # of being monitored until now
            ("since", time),  # up to when its life is counted in `exposed`
            ("matches", np.int64),
            ("counted", np.int64),  # of these, when its stream last began a part of a life
            ("likeliness", np.float64),  # and what its key's frequency said of it then
            ("insert_weight", np.float64),  # how many rows it stands for as it was taken in at all
            ("cover", np.float64),  # sum of what its results stand for, each times 1 - its chance
            ("batch_cover", np.float64),  # the same, of this batch
            ("part", np.float64),  # its part of the variance of the estimate,
            ("batch_part", np.float64),  # and of this batch
        ]
    )


# Of a row in memory, where rows are shed by lot and none is evicted.
SHED: Final = np.dtype(
    [
        ("chance", np.float64),  # with which it was inserted
        ("weight", np.float64),  # how many rows it stands for
        ("cover", np.float64),  # what its results stand for,
        ("batch_cover", np.float64),  # and those of a batch,
        ("batch", np.int64),  # which is this one
    ]
)

# What the monitored rows of a stream show, or, where none is evicted, what its arrivals have found:
# estimates of all results, and of the variance of that estimate, and the sum of the squares of the
# rows' parts of that variance (0 if it is not known); so far, and of this batch.
GAUGE: Final = np.dtype(
    [
        ("total", np.float64),
        ("variance", np.float64),
        ("fourth", np.float64),
        ("batch_total", np.float64),
        ("batch_variance", np.float64),
        ("batch_fourth", np.float64),
    ]
)


def life_type(time: DType) -> DType:
    """Return the record of how a stream's time is divided: into parts of a row's life."""
    return np.dtype(
        [
            ("span", time),  # length of a part
            ("parts", np.int64),  # of a life
            ("now", np.int64),  # the part of time that it is
        ]
    )


# For each (stream that arrives, window that is probed): the rows that probes stood against, and
# how many of them fitted. `statistics.selectivity` reads it.
PAIR: Final = np.dtype([("faced", np.int64), ("found", np.int64)])


class Memory(NamedTuple):
    """Everything that the kernels work on."""

    rows: Array
    costs: Indices  # of the limit, one per row; empty where each takes up 1
    slots: Integers  # KEY_WORD, SUB, COUNT, then one HEAD per stream
    table: Integers  # open addressing: 0, or a hash tag and slot + 1
    queue: Indices
    streams: Array
    rule: Array  # one element
    span: Array  # length of a time slice of the index, 0 for none; errors of times (`store._span`)
    order: Integers  # order[s]: the windows that a row of s probes, in turn
    pairs: Array
    chances: Floats  # chances[arrival] that it probes, is inserted, is admitted; then its weights
    key_grades: Indices  # of each arrival, where steps are shed by them
    weighing: Floats  # [mean chance or debt, step, stream, grade]; see `kernels.step_weights`
    account: Array  # of work, one element
    ranking: Floats  # [rows worth more, rows, stream, grade], in a unit of time; 0 rows: by lot
    probed: Floats  # probed[s, o, part]: how much of this part of o's window a row of s probes
    parts_probed: Floats  # parts_probed[s, o]: how many parts these are, by the rows that are there
    lags: Floats  # lags[s, o, part]: results of rows of s by where their rows of o were; no parts
    # where that is not asked for
    shed: Array  # one SHED per row; empty as long as nothing is shed, and where rows are monitored
    dead: Integers  # dead[s, n]: rows of row group n that have left memory
    monitored: Array
    gauges: Array  # one per stream
    lives: Array  # one per stream
    matched: Floats  # matched[s, part of its life]: what monitored rows matched, weighted
    exposed: Floats  # and how long they were in it, in parts, weighted
    retained: Any  # the arrays of the kind of retention in use, one of `engine.retention.retained`

    @property
    def of_any_kind(self) -> Memory:
        """The same without what is retained, for kernels that are compiled once for all kinds."""
        return self._replace(retained=())
