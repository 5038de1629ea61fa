"""Room for counters: what has expired goes, then the chance of what is sampled falls."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.kernels.count_layout import KEY, RUN, SAMPLED, KeyCounts
from penstock.engine.kernels.heavy_keys import choose_heavy
from penstock.engine.kernels.jit import inner, rare, wide
from penstock.engine.kernels.key_hash import combine_hash
from penstock.engine.kernels.layout import NOTHING

# Any numbers, so that these draws have nothing to do with each other nor with any others.
_ROW_SALT: Final = np.int64(0x1F83D9ABFB41BD6B)
_KEY_SALT: Final = np.int64(0x5BE0CD19137E2179)
_TAG_SALT: Final = np.int64(0x428A2F98D728AE22)
_TO_53: Final = np.uint64(11)
_UNIT: Final = 2.0**-53
EPOCHS: Final = wide(0x3FFFFFFF)
"""Periods are numbered with 30 bits."""
_31_BITS: Final = np.int64(0x7FFFFFFF)

# One part of so many of the room is made free at a time.
_PARTS: Final = 16
# By which the chance of what is sampled falls at a time.
_STEP: Final = 0.9
# Of the room, the most that runs have where keys are sampled.
_MOST_RUNS: Final = 0.6

NEEDED: Final = 2
"""Entries that an arrival can need: for itself, and for its key."""


@inner
def tag_of(counts: KeyCounts, word: np.int64) -> int:
    """Return a hash of a key, of 31 bits."""
    return wide(combine_hash(word, combine_hash(_TAG_SALT, counts.rule[0]["seed"])) & _31_BITS)


@inner
def row_draw(counts: KeyCounts) -> float:
    """Return the draw of the arrival: by its number."""
    start = combine_hash(_ROW_SALT, counts.rule[0]["seed"])
    return _fraction(combine_hash(counts.rule[0]["number"], start))


@inner
def key_draw(counts: KeyCounts, tag: int, epoch: int) -> float:
    """Return the draw of a key in a period."""
    start = combine_hash(_KEY_SALT, counts.rule[0]["seed"])
    return _fraction(combine_hash(np.int64(tag), combine_hash(np.int64(epoch), start)))


@inner
def _fraction(hashed: np.int64) -> float:
    # With the precision of what is kept of it.
    return float(np.float32(np.float64(np.uint64(hashed) >> _TO_53) * _UNIT))


@inner
def next_epoch(counts: KeyCounts) -> int:
    """Return the number of the next period."""
    return wide((counts.rule[0]["epoch"] + 1) & EPOCHS)


@inner
def keeps_key(counts: KeyCounts, tag: int) -> bool:
    """Return whether the rows of a key are sampled: for this period, or for the next one."""
    rule = counts.rule[0]
    if key_draw(counts, tag, wide(rule["epoch"])) < rule["chance"]:
        return True
    return key_draw(counts, tag, next_epoch(counts)) < rule["next_chance"]


@inner
def last_of(entry: np.void) -> float:
    """Return the time of the last row of an entry."""
    return entry["first"] + entry["extent"]


@inner
def has_expired(counts: KeyCounts, entry: np.void) -> bool:
    """Return whether no row still to come can join those of an entry."""
    if entry["kind"] == KEY:
        return entry["count"] != counts.rule[0]["epoch"]
    stream = counts.streams[wide(entry["stream"])]
    late = stream["horizon"] - entry["first"]
    return late - wide(np.ceil(entry["extent"])) > stream["window"]


@inner
def unchain(counts: KeyCounts, chain: int, before: int, at: int) -> None:
    """Take an entry out of its chain, and free it."""
    entry = counts.entries[at]
    if before == NOTHING:
        counts.heads[chain] = entry["next"]
    else:
        counts.entries[before]["next"] = entry["next"]
    rule = counts.rule[0]
    entry["next"] = rule["free"]
    rule["free"] = at
    rule["used"] -= 1
    if entry["kind"] != RUN:
        rule["sampled"] -= 1


@rare
def sweep(counts: KeyCounts) -> None:
    """Free what has expired, and what is no longer drawn."""
    rule = counts.rule[0]
    by_key = counts.streams.size > 2
    chance = np.float32(rule["chance"])
    for chain in range(counts.heads.size):
        before = wide(NOTHING)
        at = wide(counts.heads[chain])
        while at != NOTHING:
            entry = counts.entries[at]
            after = wide(entry["next"])
            goes = has_expired(counts, entry)
            if not goes and entry["kind"] == KEY:
                draw = key_draw(counts, wide(entry["tag"]), wide(rule["epoch"]))
                goes = draw >= rule["chance"]
            elif not goes and entry["kind"] == SAMPLED:
                if by_key:
                    goes = not keeps_key(counts, wide(entry["tag"]))
                elif entry["chance"] > chance:
                    goes = entry["draw"] >= chance
                    entry["chance"] = chance
            if goes:
                unchain(counts, chain, before, at)
            else:
                before = at
            at = after


@inner
def _add_worth(counts: KeyCounts, at: int, other: int) -> None:
    if counts.rule[0]["combines"] >= 0:
        counts.worths[at] += counts.worths[other]
        counts.worth_squares[at] += counts.worth_squares[other]


@rare
def _merge_runs(counts: KeyCounts) -> None:
    """Make one of every two runs of the same key and stream."""
    for chain in range(counts.heads.size):
        at = wide(counts.heads[chain])
        while at != NOTHING:
            if counts.entries[at]["kind"] == RUN:
                _merge_with_next(counts, chain, at)
            at = wide(counts.entries[at]["next"])


@inner
def _merge_with_next(counts: KeyCounts, chain: int, at: int) -> None:
    """Add the next run of the same key and stream, if there is one, to a run."""
    entry = counts.entries[at]
    before = at
    other = wide(entry["next"])
    while other != NOTHING:
        run = counts.entries[other]
        same = run["kind"] == RUN and run["tag"] == entry["tag"]
        if same and run["stream"] == entry["stream"]:
            first = min(run["first"], entry["first"])
            last = max(last_of(run), last_of(entry))
            entry["first"] = first
            entry["extent"] = np.float32(last - first)
            entry["count"] += run["count"]
            entry["draw"] += run["draw"]
            _add_worth(counts, at, other)
            unchain(counts, chain, before, other)
            return
        before = other
        other = wide(run["next"])


@rare
def make_room(counts: KeyCounts) -> None:
    """Free some entries: what has expired, then by counting heavy keys, or by sampling less."""
    rule = counts.rule[0]
    most = rule["room"] - max(NEEDED, rule["room"] // _PARTS)
    sweep(counts)
    if rule["used"] > most and rule["chance"] >= 1.0:
        choose_heavy(counts)
        _merge_runs_by_cell(counts)
    # A sampled key takes as much room as a heavy one: some room is left for them.
    most_runs = rule["room"] if counts.streams.size == 2 else _MOST_RUNS * rule["room"]
    while rule["used"] > most:
        used = rule["used"]
        if rule["sampled"] == 0 or used - rule["sampled"] > most_runs:
            _merge_runs(counts)
        if rule["used"] < used:
            continue
        if rule["sampled"] == 0:
            return
        # The greater of the two: keys of the next period are sampled beside those of this one.
        if rule["next_chance"] > rule["chance"]:
            rule["next_chance"] *= _STEP
        else:
            rule["chance"] *= _STEP
        sweep(counts)


@inner
def same_cell(counts: KeyCounts, entry: np.void, time: float) -> bool:
    """Return whether a time is in the part of the window that a run has."""
    cell = counts.streams[wide(entry["stream"])]["cell"]
    if cell == 0:
        return entry["first"] == time
    return entry["first"] // cell == time // cell


@rare
def _merge_runs_by_cell(counts: KeyCounts) -> None:
    """Make one run of those in the same part of a window: rows that have just become runs.

    Where keys are sampled, all of their rows.
    """
    by_key = counts.streams.size > 2
    for chain in range(counts.heads.size):
        at = wide(counts.heads[chain])
        while at != NOTHING:
            entry = counts.entries[at]
            before = at
            other = wide(entry["next"])
            while other != NOTHING and (entry["kind"] == RUN or by_key):
                run = counts.entries[other]
                after = wide(run["next"])
                same = run["kind"] == entry["kind"] != KEY and run["tag"] == entry["tag"]
                if (
                    same
                    and run["stream"] == entry["stream"]
                    and same_cell(counts, entry, run["first"])
                ):
                    first = min(run["first"], entry["first"])
                    last = max(last_of(run), last_of(entry))
                    entry["first"] = first
                    entry["extent"] = np.float32(last - first)
                    entry["count"] += run["count"]
                    entry["chance"] = min(entry["chance"], run["chance"])
                    _add_worth(counts, at, other)
                    unchain(counts, chain, before, other)
                else:
                    before = other
                other = after
            at = wide(entry["next"])


@inner
def new_entry(counts: KeyCounts, tag: int, kind: int) -> int:
    """Return a new entry of a key, in its chain; NOTHING if there is no room at all."""
    rule = counts.rule[0]
    if rule["used"] >= rule["room"]:
        return wide(NOTHING)
    at = rule["free"]
    if at != NOTHING:
        rule["free"] = counts.entries[at]["next"]
    else:
        at = rule["fresh"]
        rule["fresh"] = at + 1
    rule["used"] += 1
    if kind != RUN:
        rule["sampled"] += 1
    chain = tag & (counts.heads.size - 1)
    entry = counts.entries[at]
    entry["tag"] = tag
    entry["kind"] = kind
    entry["extent"] = 0.0
    entry["draw"] = 0.0
    entry["chance"] = 1.0
    entry["cover"] = 0.0
    entry["batch_cover"] = 0.0
    entry["count"] = 1
    entry["next"] = counts.heads[chain]
    counts.heads[chain] = at
    return wide(at)
