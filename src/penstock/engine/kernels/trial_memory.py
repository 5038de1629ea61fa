"""Memories on trial: which strategy would find most, of a sample of rows without payload.

A *ghost* is a row of which only the key, the time and what was expected of it are kept. It stays
until it expires. Each *candidate*, a way to score rows, has a memory of its own for ghosts: a list
of those that it would still hold. All arrivals probe: a key's counter for each candidate says how
many of the ghosts with that key it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, kernel, wide
from penstock.engine.kernels.layout import NOTHING

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Indices, Integers, Mask

# Grains of what a ghost's results matter: whole numbers add up to the same in any order.
GRAIN: Final = 2.0**-16
# A candidate's memory gives up so many of its ghosts at a time, a part of what it holds: to look
# for the lowest of all at each arrival would cost as much as all the rest.
_AT_A_TIME: Final = 16

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(32)

GHOST: Final = np.dtype(
    [
        ("time", np.float64),
        ("likely", np.float64),  # as of when it came
        ("draw", np.float64),
        ("matters", np.int64),  # what its results matter, in grains
        ("number", np.int64),  # of its arrival among ghosts
        ("before", np.int64),  # rows of the other stream with its key before it
        ("counted", np.int64),  # its matches when a part of its life last went by
        ("key", np.int32),  # its place among keys
        ("stream", np.int32),
    ]
)
KEY: Final = np.dtype(
    [
        ("word", np.int64),
        ("ghosts", np.int64),
        ("arrived", np.int64, 2),  # rows of each stream since the first of these
        ("likely", np.float64, 2),  # of a row of each stream, as of the last review
    ]
)
TRIAL: Final = np.dtype(
    [
        ("rate", np.float64),  # share of the rows that become ghosts
        ("now", np.float64),
        ("number", np.int64),  # ghosts so far
        ("free", np.int64),  # places for ghosts
        ("free_keys", np.int64),
        ("head", np.int64, 2),  # of each stream's queue
        ("tail", np.int64, 2),
        ("window", np.float64, 2),
        ("span", np.float64, 2),  # length of a part of a life
    ]
)


class Trials(NamedTuple):
    """Ghosts, and the candidates' memories."""

    trial: Array  # one record
    ghosts: Array
    free: Indices  # a stack of free places
    queues: Indices  # queues[stream, place]: ghosts in the order in which they came; a ring
    keys: Array
    free_keys: Indices
    key_words: Integers  # hash table of keys, by their words
    places: Indices  # places[entry]: of the key; NOTHING if free
    matters: Integers  # matters[key, stream, candidate]: what it holds, in grains
    lists: Indices  # lists[candidate, i]: ghosts that it holds
    listed: Indices  # listed[ghost, candidate]: place in its list, or NOTHING
    sizes: Integers  # of the lists
    held: Integers  # held[candidate, stream]
    worth: Floats  # worth[candidate, stream, part]: of an age
    due: Floats  # due[stream, part]: matches of an average row up to an age
    belief: Floats  # of candidates: matches that it takes to doubt a key; -1 if keys do not count
    optimism: Floats  # of candidates: standard deviations of what is not known of a row
    room: Floats  # ghosts that a candidate may hold at full rate
    found: Floats  # found[candidate]: results, for all rows
    scores: Floats  # scratch
    lowest: Indices  # scratch


def make(candidates: int, ghosts: int, parts: int) -> Trials:
    """Return empty memories for so many candidates and ghosts, and lives of so many parts."""
    entries = 1 << (4 * ghosts - 1).bit_length()
    trial = np.zeros(1, TRIAL)
    trial["rate"], trial["now"] = 1.0, -np.inf
    trial["free"] = trial["free_keys"] = ghosts
    return Trials(
        trial,
        np.zeros(ghosts, GHOST),
        np.arange(ghosts, dtype=np.int32)[::-1].copy(),
        np.zeros((2, ghosts), np.int32),
        np.zeros(ghosts, KEY),
        np.arange(ghosts, dtype=np.int32)[::-1].copy(),
        np.zeros(entries, np.int64),
        np.full(entries, NOTHING, np.int32),
        np.zeros((ghosts, 2, candidates), np.int64),
        np.zeros((candidates, ghosts), np.int32),
        np.full((ghosts, candidates), NOTHING, np.int32),
        np.zeros(candidates, np.int64),
        np.zeros((candidates, 2), np.int64),
        np.ones((candidates, 2, parts + 2)),
        np.zeros((2, parts + 2)),
        np.full(candidates, -1.0),
        np.zeros(candidates),
        np.zeros(candidates),
        np.zeros(candidates),
        np.zeros(ghosts),
        np.zeros(ghosts, np.int32),
    )


# --- Keys


@inner
def _entry(trials: Trials, word: int) -> int:
    """Return the entry of a word in the hash table, or the free one where it would be put."""
    mask = trials.key_words.size - 1
    at = wide((np.uint64(word) * _SPREAD) >> _SHIFT) & mask
    while trials.places[at] != NOTHING and trials.key_words[at] != word:
        at = (at + 1) & mask
    return at


@inner
def _add_key(trials: Trials, word: int, entry: int) -> int:
    trial = trials.trial[0]
    trial["free_keys"] -= 1
    key = wide(trials.free_keys[trial["free_keys"]])
    trials.key_words[entry] = word
    trials.places[entry] = key
    record = trials.keys[key]
    record["word"] = word
    record["ghosts"] = 0
    for stream in range(2):
        record["arrived"][stream] = 0
        record["likely"][stream] = 1.0
    return key


@inner
def _remove_key(trials: Trials, key: int) -> None:
    """Take a key out of the table; entries after it move up, so that none is lost."""
    mask = trials.key_words.size - 1
    at = _entry(trials, trials.keys[key]["word"])
    trials.places[at] = NOTHING
    following = (at + 1) & mask
    while trials.places[following] != NOTHING:
        wanted = wide((np.uint64(trials.key_words[following]) * _SPREAD) >> _SHIFT) & mask
        if ((following - wanted) & mask) >= ((following - at) & mask):
            trials.key_words[at] = trials.key_words[following]
            trials.places[at] = trials.places[following]
            trials.places[following] = NOTHING
            at = following
        following = (following + 1) & mask
    trial = trials.trial[0]
    trials.free_keys[trial["free_keys"]] = key
    trial["free_keys"] += 1


# --- Candidates' memories


@inner
def _hold(trials: Trials, candidate: int, ghost: int) -> None:
    """Put a ghost into a candidate's memory."""
    record = trials.ghosts[ghost]
    size = trials.sizes[candidate]
    trials.lists[candidate, size] = ghost
    trials.listed[ghost, candidate] = size
    trials.sizes[candidate] = size + 1
    trials.held[candidate, record["stream"]] += 1
    trials.matters[record["key"], record["stream"], candidate] += record["matters"]


@inner
def _let_go(trials: Trials, candidate: int, ghost: int) -> None:
    """Take a ghost out of a candidate's memory."""
    record = trials.ghosts[ghost]
    at = wide(trials.listed[ghost, candidate])
    last = trials.sizes[candidate] - 1
    moved = trials.lists[candidate, last]
    trials.lists[candidate, at] = moved
    trials.listed[moved, candidate] = at
    trials.listed[ghost, candidate] = NOTHING
    trials.sizes[candidate] = last
    trials.held[candidate, record["stream"]] -= 1
    trials.matters[record["key"], record["stream"], candidate] -= record["matters"]


@inner
def _score(trials: Trials, candidate: int, ghost: int) -> float:
    """Return the score of a ghost: as `ScoringStrategy` has it, and comparable between streams."""
    trial = trials.trial[0]
    record = trials.ghosts[ghost]
    stream = wide(record["stream"])
    parts = trials.worth.shape[2] - 2
    age = min(max((trial["now"] - record["time"]) / trial["span"][stream], 0.0), float(parts))
    part = wide(age)
    score = trials.worth[candidate, stream, part] * record["matters"]
    belief = trials.belief[candidate]
    if belief < 0.0:
        return score
    key = trials.keys[record["key"]]
    if belief == np.inf:
        return score * key["likely"][stream]
    low, high = trials.due[stream, part], trials.due[stream, part + 1]
    due = low + (high - low) * (age - part)
    known = belief + (key["arrived"][1 - stream] - record["before"])
    known += trials.optimism[candidate] * np.sqrt(known)
    return score * known / (belief / max(record["likely"], 1e-6) + due)


@inner
def _is_lower(trials: Trials, one: int, other: int) -> bool:
    """Return whether a ghost goes before another, by their scores; of equals, the older one."""
    if trials.scores[one] != trials.scores[other]:
        return trials.scores[one] < trials.scores[other]
    return trials.ghosts[one]["number"] < trials.ghosts[other]["number"]


@inner
def _make_room(trials: Trials, candidate: int) -> None:
    """Let the lowest ghosts of a candidate go if it holds too many."""
    room = max(1.0, trials.room[candidate] * trials.trial[0]["rate"])
    at_a_time = max(wide(1), wide(room / _AT_A_TIME))
    size = trials.sizes[candidate]
    if size <= room + at_a_time // 2:
        return
    leaving = size - max(wide(1), wide(room - (at_a_time - 1) // 2))
    count = wide(0)
    lowest = trials.lowest
    for i in range(size):
        ghost = wide(trials.lists[candidate, i])
        trials.scores[ghost] = _score(trials, candidate, ghost)
        # `lowest` is in order, the highest first.
        if count == leaving:
            if not _is_lower(trials, ghost, wide(lowest[0])):
                continue
            at = wide(0)
            while at + 1 < count and _is_lower(trials, ghost, wide(lowest[at + 1])):
                lowest[at] = lowest[at + 1]
                at += 1
            lowest[at] = ghost
        else:
            at = count
            while at > 0 and _is_lower(trials, wide(lowest[at - 1]), ghost):
                lowest[at] = lowest[at - 1]
                at -= 1
            lowest[at] = ghost
            count += 1
    for i in range(count):
        _let_go(trials, candidate, wide(lowest[i]))


# --- Ghosts


@inner
def _remove(trials: Trials, ghost: int) -> None:
    """Forget a ghost; its place in the queue is the caller's."""
    trial = trials.trial[0]
    for candidate in range(trials.sizes.size):
        if trials.listed[ghost, candidate] != NOTHING:
            _let_go(trials, candidate, ghost)
    key = wide(trials.ghosts[ghost]["key"])
    trials.keys[key]["ghosts"] -= 1
    if trials.keys[key]["ghosts"] == 0:
        _remove_key(trials, key)
    trials.free[trial["free"]] = ghost
    trial["free"] += 1


@inner
def _expire(trials: Trials, stream: int) -> None:
    trial = trials.trial[0]
    head = trial["head"][stream]
    size = trials.queues.shape[1]
    while head < trial["tail"][stream]:
        ghost = wide(trials.queues[stream, head % size])
        if trial["now"] - trials.ghosts[ghost]["time"] <= trial["window"][stream]:
            break
        _remove(trials, ghost)
        head += 1
    trial["head"][stream] = head


@inner
def _halve(trials: Trials) -> None:
    """Let every second ghost go, by its draw: there are as many as there may be."""
    trial = trials.trial[0]
    trial["rate"] /= 2.0
    size = trials.queues.shape[1]
    for stream in range(2):
        kept = trial["head"][stream]
        for at in range(trial["head"][stream], trial["tail"][stream]):
            ghost = wide(trials.queues[stream, at % size])
            if trials.ghosts[ghost]["draw"] < trial["rate"]:
                trials.queues[stream, kept % size] = ghost
                kept += 1
            else:
                _remove(trials, ghost)
        trial["tail"][stream] = kept


@inner
def _add(
    trials: Trials, key: int, stream: int, time: float, draw: float, likely: float, matters: int
) -> None:
    trial = trials.trial[0]
    trial["free"] -= 1
    ghost = wide(trials.free[trial["free"]])
    record = trials.ghosts[ghost]
    record["time"] = time
    record["likely"] = likely
    record["draw"] = draw
    record["matters"] = matters
    record["number"] = trial["number"]
    record["before"] = trials.keys[key]["arrived"][1 - stream]
    record["counted"] = 0
    record["key"] = key
    record["stream"] = stream
    trial["number"] += 1
    trials.keys[key]["ghosts"] += 1
    trials.keys[key]["likely"][stream] = likely
    trials.queues[stream, trial["tail"][stream] % trials.queues.shape[1]] = ghost
    trial["tail"][stream] += 1
    for candidate in range(trials.sizes.size):
        _hold(trials, candidate, ghost)
        _make_room(trials, candidate)


@kernel
def take(
    trials: Trials,
    times: Floats,
    streams: Indices,
    draws: Floats,
    key_words: Integers,
    likely: Floats,
    matters: Floats,
) -> None:
    """Take rows through all memories on trial.

    Parameters
    ----------
    trials
        The memories.
    times, streams, draws, key_words, likely, matters
        Of each row, in the order of the loop: its time, its stream (NOTHING if it has no key), its
        draw, its key, how likely it is to match, and what its results matter.
    """
    trial = trials.trial[0]
    for at in range(times.size):
        if times[at] > trial["now"]:
            trial["now"] = times[at]
            _expire(trials, wide(0))
            _expire(trials, wide(1))
        if streams[at] == NOTHING:
            continue
        stream = wide(streams[at])
        word = key_words[at]
        entry = _entry(trials, word)
        key = wide(trials.places[entry])
        if key != NOTHING:
            trials.keys[key]["arrived"][stream] += 1
            scale = GRAIN / trial["rate"]
            for candidate in range(trials.sizes.size):
                trials.found[candidate] += scale * trials.matters[key, 1 - stream, candidate]
        if draws[at] >= trial["rate"] or trial["window"][stream] <= 0.0:
            continue
        while trial["free"] == 0 and draws[at] < trial["rate"]:
            _halve(trials)
            entry = _entry(trials, word)
            key = wide(trials.places[entry])
        if draws[at] >= trial["rate"]:
            continue
        if key == NOTHING:
            key = _add_key(trials, word, entry)
            trials.keys[key]["arrived"][stream] = 1
        _add(trials, key, stream, times[at], draws[at], likely[at], wide(matters[at] / GRAIN))


@kernel
def find_again(trials: Trials, ghosts: int, keys: int) -> None:
    """Put ghosts and keys, which are at the first places, back where they are looked for."""
    trial = trials.trial[0]
    for key in range(keys):
        entry = _entry(trials, trials.keys[key]["word"])
        trials.key_words[entry] = trials.keys[key]["word"]
        trials.places[entry] = key
    for ghost in range(ghosts):
        stream = wide(trials.ghosts[ghost]["stream"])
        trials.queues[stream, trial["tail"][stream] % trials.queues.shape[1]] = ghost
        trial["tail"][stream] += 1


@kernel
def hold_again(trials: Trials, held: Mask) -> None:
    """Let candidates hold other ghosts: those at which `held`, by ghost and candidate, is True."""
    for candidate in range(trials.sizes.size):
        while trials.sizes[candidate] > 0:
            _let_go(trials, candidate, wide(trials.lists[candidate, 0]))
        for ghost in range(trials.ghosts.size):
            if held[ghost, candidate]:
                _hold(trials, candidate, wide(ghost))
