"""Sizes of joins of three streams and more, from counts: products, by key.

A result has a row of each stream, and all but the newest have waited. If rows were drawn one by
one, few results would have all of them. So keys are drawn, with all their rows. A key's draw holds
for a *period* of a few windows; one window before the next period begins, rows of the keys that are
drawn for that one are taken in too. So periods are independent of each other, and a key's results
in one period are a cluster.

Results all of whose rows that waited are counted in runs count once. The others count 1 / chance if
their key is drawn.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.kernels.count_layout import KEY, RUN, SAMPLED, KeyCounts
from penstock.engine.kernels.count_room import (
    EPOCHS,
    has_expired,
    key_draw,
    last_of,
    new_entry,
    next_epoch,
    same_cell,
    sweep,
    unchain,
)
from penstock.engine.kernels.jit import inner, rare, wide
from penstock.engine.kernels.layout import NOTHING

# Windows before the next period that its keys are sampled: one, and the time between two turns.
_AHEAD: Final = 1.25
# More than any time.
_NO_TIME: Final = np.inf


@inner
def epoch_of(counts: KeyCounts) -> int:
    """Return the number of the period that it is."""
    return wide(np.floor(float(counts.rule[0]["now"]) / counts.rule[0]["period"])) & EPOCHS


@rare
def begin_period(counts: KeyCounts, fill: float) -> None:
    """Go on to the next period if it has begun, or begin to sample for it."""
    rule = counts.rule[0]
    now = float(rule["now"])
    epoch = epoch_of(counts)
    if epoch != rule["epoch"]:
        # If nothing was sampled for it there was no row for a window: no results are missed.
        rule["chance"] = rule["next_chance"] or 1.0
        if epoch != next_epoch(counts):
            rule["chance"] = 1.0
        rule["next_chance"] = 0.0
        rule["epoch"] = epoch
        sweep(counts)
    ends = (np.floor(now / rule["period"]) + 1.0) * rule["period"]
    if rule["next_chance"] == 0.0 and now >= ends - _AHEAD * rule["span"]:
        # What is sampled now could be so much more, or less; then it falls as it has to.
        certain = rule["used"] - rule["sampled"]
        raised = (fill * rule["room"] - certain) / max(rule["sampled"], 1)
        rule["next_chance"] = min(1.0, max(raised, 0.1) * rule["chance"])


@inner
def _rows_until(counts: KeyCounts, at: int, newest: float, until: float) -> float:
    """Return how many rows of an entry came no later than a time, and are in the window then."""
    entry = counts.entries[at]
    window = counts.streams[wide(entry["stream"])]["window"]
    first = entry["first"]
    last = last_of(entry)
    if first > until or newest - last > window:
        return 0.0
    if last <= until and newest - first <= window:
        return float(entry["count"])
    if entry["extent"] == 0.0:
        return 0.0
    low = max(float(newest - window), float(first))
    high = min(float(until), float(last))
    rows = (entry["count"] - 2.0) * max(high - low, 0.0) / (float(last) - float(first))
    if low == float(first) or high == float(last):
        rows += 1.0
    return rows


@inner
def _products(
    counts: KeyCounts, found: int, stream: int, newest: float, until: float, sampled: int
) -> tuple[float, float]:
    """Return the results with an arrival: of rows that are counted, and with those sampled."""
    for other in range(counts.streams.size):
        counts.certain[other] = 0.0
        counts.full[other] = 0.0
    for place in range(found):
        at = wide(counts.found[place])
        other = wide(counts.entries[at]["stream"])
        if other == stream:
            continue
        rows = _rows_until(counts, at, newest, until)
        if counts.entries[at]["kind"] == RUN:
            counts.certain[other] += rows
            counts.full[other] += rows
        elif sampled != 0:
            counts.full[other] += rows
    certain = full = 1.0
    for other in range(counts.streams.size):
        if other != stream:
            certain *= counts.certain[other]
            full *= counts.full[other]
    return certain, full


@inner
def _next_time(counts: KeyCounts, found: int, stream: int, after: float) -> float:
    """Return the next time after one at which an entry of another stream ends."""
    soonest = _NO_TIME
    for place in range(found):
        entry = counts.entries[wide(counts.found[place])]
        if entry["stream"] != stream:
            last = float(last_of(entry))
            if after < last < soonest:
                soonest = last
    return soonest


@inner
def meet_more(counts: KeyCounts, stream: int, time: float, tag: int, heavy: int) -> int:
    """Count the results of an arriving row; return the entry that it belongs to, if there is one.

    Rows of a sampled key are put together as well: otherwise it would take too much room.
    """
    rule = counts.rule[0]
    chain = tag & (counts.heads.size - 1)
    run = wide(NOTHING)
    key = wide(NOTHING)
    before = wide(NOTHING)
    found = 0
    at = wide(counts.heads[chain])
    while at != NOTHING:
        entry = counts.entries[at]
        after = wide(entry["next"])
        if has_expired(counts, entry):
            unchain(counts, chain, before, at)
            at = after
            continue
        if entry["tag"] == tag:
            if entry["kind"] == KEY:
                key = at
            else:
                counts.found[found] = at
                found += 1
                own = entry["stream"] == stream and (entry["kind"] == RUN) == (heavy != 0)
                # While there is room for all rows, only those of one time are put together.
                alike = entry["extent"] == 0.0 and entry["first"] == time
                if rule["chance"] < 1.0 or heavy != 0:
                    alike = same_cell(counts, entry, time)
                if own and alike:
                    run = at
        before = at
        at = after
    if found == 0:
        return run
    sampled = wide(key_draw(counts, tag, wide(rule["epoch"])) < rule["chance"])
    certain, full = _products(counts, found, stream, time, time, sampled)
    if certain > 0.0:
        _note_partial(counts, found, stream, time)
    # A row that comes late joins newer ones too: result by result of which one of these is newest.
    until = float(time)
    newest = _next_time(counts, found, stream, until)
    while newest < _NO_TIME and newest - time <= counts.streams[stream]["window"]:
        more, more_full = _products(counts, found, stream, newest, newest, sampled)
        less, less_full = _products(counts, found, stream, newest, until, sampled)
        certain += more - less
        full += more_full - less_full
        until = newest
        newest = _next_time(counts, found, stream, until)
    gauge = counts.gauges[stream]
    gauge["total"] += certain
    gauge["batch_total"] += certain
    if sampled != 0 and full > certain:
        _note_key(counts, stream, tag, key, full - certain)
    return run


@rare
def _note_key(counts: KeyCounts, stream: int, tag: int, key: int, results: float) -> None:
    """Add results of a sampled key."""
    gauge = counts.gauges[stream]
    chance = counts.rule[0]["chance"]
    weight = 1.0 / chance
    gauge["total"] += weight * results
    gauge["batch_total"] += weight * results
    missing = 1.0 - chance
    if missing <= 0.0:
        return
    if key == NOTHING:
        key = new_entry(counts, tag, wide(KEY))
        if key == NOTHING:
            return
        counts.entries[key]["count"] = counts.rule[0]["epoch"]
        counts.entries[key]["stream"] = 0
    entry = counts.entries[key]
    cover = float(entry["cover"])
    batch_cover = float(entry["batch_cover"])
    gained = (weight - 1.0) * results
    gauge["variance"] += weight * results * (gained + 2.0 * cover)
    gauge["batch_variance"] += weight * results * (gained + 2.0 * batch_cover)
    after = cover + gained
    batch_after = batch_cover + gained
    gauge["fourth"] += (after**4 - cover**4) / missing**2
    gauge["batch_fourth"] += (batch_after**4 - batch_cover**4) / missing**2
    entry["cover"] = after
    entry["batch_cover"] = batch_after


@rare
def _note_partial(counts: KeyCounts, found: int, stream: int, time: float) -> None:
    """Add the variance of what is not known of runs that are leaving the window."""
    gauge = counts.gauges[stream]
    for place in range(found):
        entry = counts.entries[wide(counts.found[place])]
        other = wide(entry["stream"])
        if other == stream or entry["kind"] == SAMPLED or entry["extent"] == 0.0:
            continue
        last = float(last_of(entry))
        low = float(time - counts.streams[other]["window"])
        between = entry["count"] - 2.0
        if between <= 0.0 or low <= entry["first"] or low > last:
            continue
        share = (last - low) / float(entry["extent"])
        each = 1.0
        for third in range(counts.streams.size):
            if third not in (stream, other):
                each *= counts.certain[third]
        missing = (1.0 - share) * each
        added = between * share * each * (missing + 2.0 * entry["cover"])
        gauge["variance"] += added
        gauge["batch_variance"] += between * share * each * (missing + 2.0 * entry["batch_cover"])
        before = float(entry["draw"])
        gauge["fourth"] += (before + added) ** 2 - before**2
        entry["draw"] = before + added
        entry["cover"] += np.float32(missing)
        entry["batch_cover"] += np.float32(missing)
