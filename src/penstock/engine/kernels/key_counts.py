"""The size of the exact join, from counts: for each arrival, how many live partners have its key.

Rows of heavy keys are counted, as runs. Of the others a random few are kept, without their payload,
each with the chance that it was drawn with. A pair of rows is found when the newer one arrives, and
counts 1 / the chance of the older one. Which keys are heavy is decided before their rows arrive and
whatever was drawn, so the sum is an unbiased estimate of the number of all results.

Its variance has a part of every sampled row, as that of monitored rows has (`kernels.monitoring`),
and one of every run whose rows are leaving the window: where in the run they are is not known. As
if they were spread at random, each of n rows but the first and the last is still in the window with
chance q, and if it is now it was before.

Of three streams and more a result has several rows that waited. There keys are drawn, not rows
(`kernels.count_products`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.engine.kernels.count_layout import RUN, SAMPLED, KeyCounts
from penstock.engine.kernels.count_products import begin_period, epoch_of, meet_more
from penstock.engine.kernels.count_room import (
    NEEDED,
    has_expired,
    keeps_key,
    last_of,
    make_room,
    new_entry,
    row_draw,
    same_cell,
    sweep,
    tag_of,
    unchain,
)
from penstock.engine.kernels.heavy_keys import choose_heavy, fade, observe
from penstock.engine.kernels.jit import inner, kernel, rare, wide
from penstock.engine.kernels.layout import NOTHING, PRODUCT, TICK

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Integers

# Times in a window that heavy keys are chosen again.
_TURNS: Final = 8
# Of the room, the part that is filled by raising the chance again.
_FILL: Final = 0.85


@inner
def _advance(counts: KeyCounts, stream: int, time: float) -> None:
    """Move a stream's clock forward."""
    streams = counts.streams
    rule = counts.rule[0]
    if time > streams[stream]["clock"]:
        streams[stream]["clock"] = time
        for other in range(streams.size):
            if other == stream:
                continue
            horizon = time - streams[stream]["lateness"]
            for third in range(streams.size):
                if third != other:
                    horizon = min(horizon, streams[third]["clock"] - streams[third]["lateness"])
            streams[other]["horizon"] = max(horizon, streams[other]["horizon"])
    if time > rule["now"]:
        rule["now"] = time
        if time >= rule["turn_at"]:
            _turn(counts)


@rare
def _turn(counts: KeyCounts) -> None:
    """Choose heavy keys again, and sample more if there is room."""
    rule = counts.rule[0]
    now = float(rule["now"])
    step = rule["span"] / _TURNS
    rule["turn_at"] = (np.floor(now / step) + 1.0) * step
    if now >= rule["fade_at"]:
        if rule["number"] > 0:
            fade(counts)
        rule["fade_at"] = (np.floor(now / rule["span"]) + 1.0) * rule["span"]
    if rule["number"] == 0:
        rule["epoch"] = epoch_of(counts)
        return
    sweep(counts)
    if rule["chance"] < 1.0:
        choose_heavy(counts)
    if counts.streams.size > 2:
        begin_period(counts, _FILL)
    elif rule["used"] < _FILL * rule["room"] and rule["chance"] < 1.0:
        _raise_chance(counts)


@rare
def _raise_chance(counts: KeyCounts) -> None:
    """Raise the chance of rows to come, as far as there is room for as many as wait now."""
    rule = counts.rule[0]
    rows = 0.0
    for chain in range(counts.heads.size):
        at = wide(counts.heads[chain])
        while at != NOTHING:
            entry = counts.entries[at]
            if entry["kind"] == SAMPLED:
                rows += 1.0 / entry["chance"]
            at = wide(entry["next"])
    room = _FILL * rule["room"] - (rule["used"] - rule["sampled"])
    raised = room / rows if rows > 0.0 else 2.0 * rule["chance"]
    rule["chance"] = min(1.0, max(rule["chance"], raised))


@inner
def _is_within(counts: KeyCounts, stream: int, time: float, other: float) -> bool:
    """Return whether an arriving row and one of the other stream are in one window."""
    if other <= time:
        return time - other <= counts.streams[1 - stream]["window"]
    return other - time <= counts.streams[stream]["window"]


@rare
def _partly_within(counts: KeyCounts, stream: int, time: float, at: int) -> float:
    """Return how many rows of a run are in one window with an arrival; note the variance of it."""
    entry = counts.entries[at]
    first = float(entry["first"])
    last = float(last_of(entry))
    between = entry["count"] - 2.0
    low = max(float(time - counts.streams[1 - stream]["window"]), first)
    high = min(float(time + counts.streams[stream]["window"]), last)
    share = min(max((high - low) / (last - first), 0.0), 1.0)
    rows = between * share
    if low == first or high == last:
        rows += 1.0
    missing = 1.0 - share
    if between <= 0.0:
        return rows
    gauge = counts.gauges[stream]
    added = between * (share * missing + 2.0 * share * entry["cover"])
    batch_added = between * (share * missing + 2.0 * share * entry["batch_cover"])
    gauge["variance"] += added
    gauge["batch_variance"] += batch_added
    before = float(entry["draw"])
    gauge["fourth"] += (before + added) ** 2 - before**2
    gauge["batch_fourth"] += batch_added**2
    entry["draw"] = before + added
    entry["cover"] += np.float32(missing)
    entry["batch_cover"] += np.float32(missing)
    return rows


@inner
def _note_sampled(counts: KeyCounts, stream: int, at: int) -> None:
    """Add a result of a sampled row."""
    entry = counts.entries[at]
    gauge = counts.gauges[stream]
    weight = 1.0 / entry["chance"]
    gauge["total"] += weight
    gauge["batch_total"] += weight
    missing = 1.0 - entry["chance"]
    if missing <= 0.0:
        return
    cover = float(entry["cover"])
    batch_cover = float(entry["batch_cover"])
    gauge["variance"] += weight * (weight - 1.0 + 2.0 * cover)
    gauge["batch_variance"] += weight * (weight - 1.0 + 2.0 * batch_cover)
    # A row's part of the variance is (1 - p) (y / p)^2, if it has had y results.
    after = cover + weight - 1.0
    batch_after = batch_cover + weight - 1.0
    gauge["fourth"] += (after**4 - cover**4) / missing**2
    gauge["batch_fourth"] += (batch_after**4 - batch_cover**4) / missing**2
    entry["cover"] = after
    entry["batch_cover"] = batch_after


@inner
def _note_worth_of_run(counts: KeyCounts, stream: int, at: int, rows: float, worth: float) -> None:
    """Note the variance of the importance of results of a run that is leaving the window.

    As `_partly_within` has it for numbers: each of n rows but the first and the last is in the
    window with chance q, and if it is now, it was for earlier arrivals. By the sums of the rows'
    importance and of its squares, without those two.
    """
    entry = counts.entries[at]
    gauge = counts.gauges[stream]
    number = float(entry["count"])
    share = rows / number
    missing = 1.0 - share
    if missing <= 0.0 or share <= 0.0 or number < 2.0:
        return
    mean = counts.worths[at] / number
    between = number - 2.0
    sums = counts.worths[at] - 2.0 * mean
    squares = max(counts.worth_squares[at] - 2.0 * mean * mean, 0.0)
    before = max(float(entry["cover"]) - missing, 0.0)  # of the arrivals before this one,
    weighted = counts.worth_covers[at]  # and times their importance
    if counts.rule[0]["combines"] == PRODUCT:
        added = worth * squares * (worth * missing + 2.0 * weighted)
    else:
        added = (between * worth * worth + 2.0 * worth * sums + squares) * missing
        added += 2.0 * ((between * worth + sums) * weighted + (worth * sums + squares) * before)
    gauge["worth_variance"] += share * added
    gauge["worth_fourth"] += (share * added) ** 2
    counts.worth_covers[at] += worth * missing


@inner
def _note_worth(counts: KeyCounts, stream: int, at: int, rows: float, worth: float) -> None:
    """Add the importance of results of an entry, so many of whose rows are in the window."""
    entry = counts.entries[at]
    gauge = counts.gauges[stream]
    own = counts.worths[at] * rows / entry["count"]
    results = worth * own
    if counts.rule[0]["combines"] != PRODUCT:
        results = worth * rows + own
    weight = 1.0 / entry["chance"]
    gauge["worth"] += weight * results
    if entry["kind"] == RUN:
        _note_worth_of_run(counts, stream, at, rows, worth)
        return
    gained = (weight - 1.0) * results
    cover = counts.worth_covers[at]
    gauge["worth_variance"] += weight * results * (gained + 2.0 * cover)
    counts.worth_covers[at] = cover + gained
    if weight > 1.0:
        fourth = ((cover + gained) ** 4 - cover**4) / (1.0 - entry["chance"]) ** 2
        gauge["worth_fourth"] += fourth


@inner
def _meet(counts: KeyCounts, stream: int, time: float, tag: int, worth: float) -> int:
    """Count the results of an arriving row; return the run that it belongs to, if there is one."""
    chain = tag & (counts.heads.size - 1)
    run = wide(NOTHING)
    before = wide(NOTHING)
    at = wide(counts.heads[chain])
    while at != NOTHING:
        entry = counts.entries[at]
        after = wide(entry["next"])
        if has_expired(counts, entry):
            unchain(counts, chain, before, at)
            at = after
            continue
        if entry["tag"] == tag:
            if entry["stream"] == stream:
                if entry["kind"] == RUN and same_cell(counts, entry, time):
                    run = at
            elif entry["kind"] == SAMPLED:
                if _is_within(counts, stream, time, entry["first"]):
                    _note_sampled(counts, stream, at)
                    if counts.rule[0]["combines"] >= 0:
                        _note_worth(counts, stream, at, 1.0, worth)
            else:
                rows = float(entry["count"])
                first = _is_within(counts, stream, time, entry["first"])
                last = _is_within(counts, stream, time, last_of(entry))
                if not (first and last):
                    far = entry["first"] > time + counts.streams[stream]["window"]
                    old = last_of(entry) < time - counts.streams[1 - stream]["window"]
                    rows = 0.0
                    if not (far or old) and entry["extent"] > 0.0:
                        rows = _partly_within(counts, stream, time, at)
                gauge = counts.gauges[stream]
                gauge["total"] += rows
                gauge["batch_total"] += rows
                if counts.rule[0]["combines"] >= 0 and rows > 0.0:
                    _note_worth(counts, stream, at, rows, worth)
        before = at
        at = after
    return run


@inner
def _put_in(
    counts: KeyCounts, stream: int, time: float, tag: int, run: int, heavy: int, worth: float
) -> None:
    """Count a row that waits for others, or sample it."""
    rule = counts.rule[0]
    by_key = counts.streams.size > 2
    if heavy == 0 and by_key and not keeps_key(counts, tag):
        return
    if run != NOTHING and (heavy != 0 or by_key):
        entry = counts.entries[run]
        last = max(last_of(entry), time)
        first = min(entry["first"], time)
        entry["first"] = first
        entry["extent"] = np.float32(last - first)
        entry["count"] += 1
        if entry["chance"] > rule["chance"] and heavy == 0:
            entry["chance"] = rule["chance"]
        if rule["combines"] >= 0:
            counts.worths[run] += worth
            counts.worth_squares[run] += worth * worth
        return
    draw = 0.0
    if heavy == 0 and not by_key:
        draw = row_draw(counts)
        if draw >= rule["chance"]:
            return
    at = new_entry(counts, tag, wide(RUN) if heavy != 0 else wide(SAMPLED))
    if at == NOTHING:
        return
    entry = counts.entries[at]
    entry["first"] = time
    entry["stream"] = stream
    if heavy == 0:
        entry["draw"] = draw
        entry["chance"] = rule["chance"]
    if rule["combines"] >= 0:
        counts.worths[at] = worth
        counts.worth_squares[at] = worth * worth
        counts.worth_covers[at] = 0.0


@kernel
def count_keys(
    counts: KeyCounts, arrivals: Array, words: Integers, worths: Floats, start: int, stop: int
) -> None:
    """Take arrivals[start:stop] in: count what they complete in the exact join, and themselves."""
    rule = counts.rule[0]
    for at in range(start, stop):
        stream = wide(arrivals[at]["stream"])
        time = arrivals[at]["time"]
        _advance(counts, stream, time)
        if arrivals[at]["blank"]:
            if arrivals[at]["blank"] != TICK:
                rule["number"] += 1
            continue
        rule["number"] += 1
        if rule["used"] + NEEDED > rule["room"]:
            make_room(counts)
        tag = tag_of(counts, words[at])
        worth = worths[at % worths.size]
        heavy = observe(counts, tag, stream)
        if counts.streams.size == 2:
            run = _meet(counts, stream, time, tag, worth)
        else:
            run = meet_more(counts, stream, time, tag, heavy)
        if counts.streams[stream]["horizon"] - time <= counts.streams[stream]["window"]:
            _put_in(counts, stream, time, tag, run, heavy, worth)


@kernel
def begin_counting(counts: KeyCounts) -> None:
    """Forget what the batch before has shown."""
    for at in range(counts.entries.size):
        counts.entries[at]["batch_cover"] = 0.0
    for stream in range(counts.gauges.size):
        counts.gauges[stream]["batch_total"] = 0.0
        counts.gauges[stream]["batch_variance"] = 0.0
        counts.gauges[stream]["batch_fourth"] = 0.0


@kernel
def keep_to_room(counts: KeyCounts) -> None:
    """Free entries until no more are in use than there is room for."""
    if counts.rule[0]["used"] > counts.rule[0]["room"]:
        make_room(counts)
