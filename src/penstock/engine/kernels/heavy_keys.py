"""Which keys are heavy: by how often they have come, whatever was drawn.

Keys are counted until there is no more room; then the rarer half is forgotten for one of the next
few new ones. Counts fade by half in each window. From time to time keys are chosen, those first for
which a counter saves most.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.kernels.count_layout import RUN, SAMPLED, KeyCounts
from penstock.engine.kernels.jit import inner, rare, wide
from penstock.engine.kernels.layout import NOTHING

# Of the places for candidates, the most that are taken.
_FILL: Final = 0.75
# Of the room, the part that is planned for; and of what is left, the most that one key may take.
_PLANNED: Final = 0.9
_MOST: Final = 0.75
# Counts fade by half in each window: between two and one times a window's rows, 1.5 on average.
_WINDOWS: Final = 1.5
# A key with fewer rows in memory costs as many entries as it has rows.
_FEWEST: Final = 2.0
_SHIFT: Final = 7
# One of so many arrivals of new keys is counted while there is no room, of so many places. To make
# room costs about as much as all else for 30 arrivals. A prime: streams take turns, and keys may.
_TAKEN: Final = 13
_MANY: Final = 256
# The least that a count fades to.
_LEAST: Final = np.float32(1e-6)


@inner
def _total(counts: KeyCounts, at: int) -> float:
    total = 0.0
    for stream in range(counts.streams.size):
        total += counts.candidates[at]["counts"][stream]
    return total


@inner
def _place_of(counts: KeyCounts, tag: int) -> int:
    """Return where a key is counted, or the free place where it would be."""
    mask = counts.candidates.size - 1
    at = (tag >> _SHIFT) & mask
    while _total(counts, at) > 0.0 and counts.candidates[at]["tag"] != tag:
        at = (at + 1) & mask
    return at


@inner
def observe(counts: KeyCounts, tag: int, stream: int) -> int:
    """Count an arrival; return 1 if its key was heavy before, otherwise 0."""
    rule = counts.rule[0]
    counts.streams[stream]["arrived"] += 1.0
    at = _place_of(counts, tag)
    record = counts.candidates[at]
    if _total(counts, at) > 0.0:
        record["counts"][stream] += np.float32(1.0)
        return wide(record["is_heavy"])
    if rule["candidates"] >= _FILL * counts.candidates.size:
        # Where most keys are new, to make room for each of them would cost more than all else.
        if counts.candidates.size >= _MANY and rule["number"] % _TAKEN != 0:
            return wide(0)
        _forget_rarer(counts)
        at = _place_of(counts, tag)
    _begin(counts, at, tag, stream)
    return wide(0)


@rare
def _begin(counts: KeyCounts, at: int, tag: int, stream: int) -> None:
    """Count a new key."""
    record = counts.candidates[at]
    record["tag"] = tag
    record["is_heavy"] = 0
    for each in range(counts.streams.size):
        record["counts"][each] = 0.0
    record["counts"][stream] = 1.0
    counts.rule[0]["candidates"] += 1


@rare
def _forget_rarer(counts: KeyCounts) -> None:
    """Forget half of the keys, the rarer ones; heavy ones stay."""
    rule = counts.rule[0]
    least = 1.0
    goal = rule["candidates"] // 2
    while rule["candidates"] > goal:
        forgotten = 0
        greater = np.inf
        at = 0
        while at < counts.candidates.size:
            total = _total(counts, at)
            if total > 0.0 and counts.candidates[at]["is_heavy"] == 0:
                if total <= least:
                    _remove(counts, at)
                    forgotten += 1
                    continue  # another key may be here now
                greater = min(greater, total)
            at += 1
        if greater == np.inf and forgotten == 0:
            return
        # The next count there is, or a quarter more.
        least = max(greater, 1.25 * least)


@inner
def _remove(counts: KeyCounts, at: int) -> None:
    """Free a place, and move keys up that were put behind it."""
    candidates = counts.candidates
    mask = candidates.size - 1
    hole = at
    after = (at + 1) & mask
    while _total(counts, after) > 0.0:
        wanted = (wide(candidates[after]["tag"]) >> _SHIFT) & mask
        if (after - wanted) & mask >= (after - hole) & mask:
            candidates[hole] = candidates[after]
            hole = after
        after = (after + 1) & mask
    for stream in range(counts.streams.size):
        candidates[hole]["counts"][stream] = 0.0
    candidates[hole]["is_heavy"] = 0
    counts.rule[0]["candidates"] -= 1


@rare
def fade(counts: KeyCounts) -> None:
    """Let all counts fade by half."""
    for stream in range(counts.streams.size):
        counts.streams[stream]["arrived"] *= 0.5
    for at in range(counts.candidates.size):
        own = counts.candidates[at]["counts"]
        for stream in range(counts.streams.size):
            if own[stream] > 0.0:  # never quite to 0, which is a free place
                own[stream] = max(np.float32(0.5) * own[stream], _LEAST)


@inner
def _entries_sampled(counts: KeyCounts, at: int) -> float:
    """Return how many entries a key would take if all its rows were sampled."""
    if counts.streams.size > 2:
        return _entries_counted(counts, at)  # a key that is drawn takes as much room
    rows = 0.0
    for stream in range(counts.streams.size):
        rows += counts.candidates[at]["counts"][stream] * counts.streams[stream]["reach"]
    return rows / _WINDOWS


@inner
def _entries_counted(counts: KeyCounts, at: int) -> float:
    """Return how many runs its rows would make."""
    runs = 0.0
    for stream in range(counts.streams.size):
        rows = counts.candidates[at]["counts"][stream] * counts.streams[stream]["reach"] / _WINDOWS
        runs += min(rows, counts.rule[0]["parts"] + 1.0)
    return max(runs, 1.0)


@inner
def _surely(counts: KeyCounts, at: int, stream: int) -> float:
    """Return how many rows of a key there are, less what may be chance.

    Of many keys that are alike some have come more often than others, and these are chosen.
    """
    rows = float(counts.candidates[at]["counts"][stream])
    return max(rows - np.sqrt(rows), 0.1 * rows)


@inner
def _spread(counts: KeyCounts, at: int) -> float:
    """Return what a key adds to the variance, if its rows are sampled, up to a common factor.

    Each row of two streams has a draw. Of more streams the key has: its results are one cluster.
    """
    streams = counts.streams
    spread = 0.0
    if streams.size == 2:
        for stream in range(2):
            results = streams[stream]["reach"] * _surely(counts, at, 1 - stream)
            spread += _surely(counts, at, stream) * results * results
        return spread
    for stream in range(streams.size):
        results = _surely(counts, at, stream)
        for other in range(streams.size):
            if other != stream:
                results *= streams[other]["reach"] * _surely(counts, at, other)
        spread += results
    return spread * spread


@inner
def _gain(counts: KeyCounts, at: int) -> float:
    """Return what a counter for a key takes away from the variance, for what it costs."""
    return _spread(counts, at) / _entries_counted(counts, at)


@inner
def _is_before(counts: KeyCounts, at: int, other: int) -> bool:
    gain = _gain(counts, at)
    others = _gain(counts, other)
    return gain > others or (gain == others and at < other)


@rare
def _rank(counts: KeyCounts) -> int:
    """List keys that may be heavy in `found`, those first for which a counter saves most.

    Returns how many there are. A shell sort: it needs no memory.
    """
    found = counts.found
    size = 0
    for at in range(counts.candidates.size):
        if _total(counts, at) > 0.0 and _entries_sampled(counts, at) >= _FEWEST:
            found[size] = at
            size += 1
    gap = size // 2
    while gap > 0:
        for start in range(gap, size):
            at = found[start]
            place = start
            while place >= gap and _is_before(counts, at, found[place - gap]):
                found[place] = found[place - gap]
                place -= gap
            found[place] = at
        gap //= 2
    return size


@rare
def choose_heavy(counts: KeyCounts) -> None:
    """Decide which keys are heavy from now on.

    With the sum S of what keys add to the variance, R rows and G entries, the variance of the
    sampled part is about S R / G. A counter for a key takes its part of S and of R away, and its
    cost of G. So it pays if the first two parts together are greater than the third.
    """
    candidates = counts.candidates
    rule = counts.rule[0]
    rule["planned"] = rule["number"]
    rows = 0.0
    for stream in range(counts.streams.size):
        rows += counts.streams[stream]["arrived"] * counts.streams[stream]["reach"] / _WINDOWS
    spread = 0.0
    rest = rows
    least = np.inf
    for at in range(candidates.size):
        candidates[at]["is_chosen"] = 0
        if _total(counts, at) > 0.0:
            own = _entries_sampled(counts, at)
            rest -= own
            spread += _spread(counts, at)
            if own > 0.0:
                least = min(least, _spread(counts, at) / own)
    if least < np.inf:
        spread += max(rest, 0.0) * least
    left = _PLANNED * rule["room"]
    if counts.streams.size > 2:
        left *= 0.5
    ranked = _rank(counts)
    for chosen in range(min(ranked, candidates.size // 2)):
        best = counts.found[chosen]
        if rows <= left or _gain(counts, best) <= 0.0:
            break
        cost = _entries_counted(counts, best)
        gained = _spread(counts, best) / spread + _entries_sampled(counts, best) / rows
        if gained * left <= cost or cost > _MOST * left:
            break
        candidates[best]["is_chosen"] = 1
        left -= cost
        spread = max(spread - _spread(counts, best), 1e-12 * spread)
        rows = max(rows - _entries_sampled(counts, best), 1e-12)
    for at in range(candidates.size):
        before = candidates[at]["is_heavy"]
        candidates[at]["is_heavy"] = candidates[at]["is_chosen"]
        if before == 0 and candidates[at]["is_heavy"] != 0:
            _gather(counts, wide(candidates[at]["tag"]))


@rare
def _gather(counts: KeyCounts, tag: int) -> None:
    """Make runs of the rows of a key that were sampled for certain."""
    at = wide(counts.heads[tag & (counts.heads.size - 1)])
    while at != NOTHING:
        entry = counts.entries[at]
        if entry["tag"] == tag and entry["kind"] == SAMPLED and entry["chance"] == 1.0:
            entry["kind"] = RUN
            entry["draw"] = 0.0
            entry["cover"] = 0.0
            entry["batch_cover"] = 0.0
            counts.rule[0]["sampled"] -= 1
        at = wide(entry["next"])
