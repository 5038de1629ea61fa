"""Arrivals leave out steps where the account of work is low, row by row, while some are shed.

Decisions are made for what rows cost on average. What they really cost differs from row to row and
from second to second, and the account holds a second or so. So each arrival looks at the account:
if it is low, it may not be inserted, and if it is lower still, it may not look for results. Where
rows probe only parts of windows, comparisons are what costs, and all rows are inserted. If the
account is nearly full, rows are admitted and inserted that would not have been: what it cannot hold
is lost.

All of this is by lot, with chances that are known when they are drawn. So what is lost can be
estimated as if they had been decided on, and the work keeps to what is allowed but for one row.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.key_hash import combine_hash
from penstock.engine.kernels.layout import (
    NOT_ADMITTED,
    NOT_INSERTED,
    NOT_PROBED,
    SIMILAR,
    Memory,
)
from penstock.engine.kernels.step_weights import remember, weight_of

# Parts of what the account may hold. Below ENOUGH not all rows are inserted, and below LOW not all
# look for results; above PLENTY more are admitted and inserted.
_LOW: Final = 0.15
_ENOUGH: Final = 0.35
_PLENTY: Final = 0.75
# The least part of a chance that is left: a row stands for at most four times as many as otherwise.
_LEAST: Final = 0.25

# Any numbers, so that these draws have nothing to do with each other nor with any others.
_ADMIT_SALT: Final = np.int64(0x510E527FADE682D1)
_PROBE_SALT: Final = np.int64(0x6A09E667F3BCC908)
_INSERT_SALT: Final = np.int64(0x3B67AE8584CAA73B)
_LARGE: Final = 2.0**53
_UNIT: Final = 2.0**-53
_TO_53: Final = np.uint64(11)

# Columns of `Memory.chances`.
PROBE: Final = 0
INSERT: Final = 1
ADMIT: Final = 2
PROBE_WEIGHT: Final = 3
INSERT_WEIGHT: Final = 4


@inner
def _draw(drawn: float, salt: np.int64) -> float:
    """Return a number in [0, 1) that follows from a row's own draw."""
    mixed = combine_hash(salt, np.int64(drawn * _LARGE))
    return np.float64(np.uint64(mixed) >> _TO_53) * _UNIT


@inner
def go_on(memory: Memory, time: float) -> None:
    """Credit what is allowed for the time that has gone by."""
    account = memory.account[0]
    if time > account["now"]:
        credit = account["credit"] + account["share"] * (time - account["now"])
        account["credit"] = min(credit, account["most"])
        account["now"] = time


@inner
def _chance_at(memory: Memory, level: float, decided: float, stream: int, grade: int) -> float:
    """Return the chance of a row to be inserted at a level of the account.

    Where rows have a worth, those of the least are left out first, and those of the greatest added
    first. Otherwise all alike.
    """
    account = memory.account[0]
    before = memory.ranking[0, stream, grade]
    alike = memory.ranking[1, stream, grade]
    if level < _ENOUGH:
        part = max((level - _LOW) / (_ENOUGH - _LOW), 0.0)
        chance = decided * part
        if alike > 0.0:
            chance = min(decided, (part * account["inserting"] - before) / alike)
        return max(chance, decided * _LEAST)
    part = (level - _PLENTY) / (1.0 - _PLENTY)
    chance = decided + (1.0 - decided) * part
    if alike > 0.0:
        more = account["inserting"] + part * (account["coming"] - account["inserting"])
        chance = max(decided, min((more - before) / alike, 1.0))
    return chance


@inner
def leave_out(memory: Memory, arrival: np.void, at: int, actions: int) -> int:
    """Return the steps that an arrival leaves out; note its chances and what it stands for.

    Nothing is changed that would be different if it came once more: its results may not fit.
    """
    account = memory.account[0]
    probe = memory.chances[at, PROBE]
    insert = memory.chances[at, INSERT]
    admit = memory.chances[at, ADMIT]
    stream = wide(arrival["stream"])
    grade = wide(memory.key_grades[at])
    level = account["credit"] / account["most"] if account["most"] > 0.0 else _ENOUGH
    # The neighbours of a row are found before its turn comes, if it is to be admitted.
    may_admit = memory.rule[0]["kind"] != SIMILAR
    if may_admit and level > _PLENTY and 0.0 < admit < 1.0:
        more = max(admit, (level - _PLENTY) / (1.0 - _PLENTY))
        if _draw(arrival["draw"], _ADMIT_SALT) < (more - admit) / (1.0 - admit):
            actions &= ~NOT_ADMITTED
        probe *= more / admit
        insert *= more / admit
        admit = more
    harvests = memory.rule[0]["sub_windows"] != 0
    low = _ENOUGH if harvests else _LOW
    if level < low:
        part = max(level / low, _LEAST)
        probe *= part
        if _draw(arrival["draw"], _PROBE_SALT) >= part:
            actions |= NOT_PROBED
    if not harvests and (level < _ENOUGH or level > _PLENTY) and admit > 0.0:
        decided = insert / admit
        chance = _chance_at(memory, level, decided, stream, grade)
        insert = chance * admit
        drawn = _draw(arrival["draw"], _INSERT_SALT)
        # Of the rows that were drawn before, or of the others.
        if chance < decided and drawn >= chance / decided:
            actions |= NOT_INSERTED
        elif chance > decided and drawn < (chance - decided) / (1.0 - decided):
            actions &= ~NOT_INSERTED
    rule = memory.rule[0]
    rule["probe_chance"] = probe
    rule["insert_chance"] = insert
    rule["admit_chance"] = admit
    rule["probe_weight"] = weight_of(memory, wide(PROBE), stream, grade, probe)
    rule["insert_weight"] = weight_of(memory, wide(INSERT), stream, grade, insert)
    rule["stands_for"] = 0.0
    return actions


@inner
def charge_arrival(memory: Memory) -> None:
    """Take what a row without a key has cost from the account."""
    memory.account[0]["credit"] -= memory.account[0]["arrival"]


@inner
def charge(memory: Memory, arrival: np.void, at: int, compared: int, inserted: int) -> None:
    """Take what an arrival has cost from the account; remember its chances and what it stood for.

    `compared` and `inserted` were counted before it.
    """
    account = memory.account[0]
    rule = memory.rule[0]
    stream = wide(arrival["stream"])
    account["credit"] -= (
        account["arrival"]
        + account["insert"] * (memory.streams[stream]["inserted"] - inserted)
        + account["compare"] * (rule["compared"] - compared)
        + account["result"] * rule["found"]
    )
    grade = wide(memory.key_grades[at])
    remember(memory, wide(PROBE), stream, grade, rule["probe_chance"], rule["probe_weight"])
    remember(memory, wide(INSERT), stream, grade, rule["insert_chance"], rule["insert_weight"])
    chances = memory.chances
    chances[at, PROBE] = rule["probe_chance"]
    chances[at, INSERT] = rule["insert_chance"]
    chances[at, ADMIT] = rule["admit_chance"]
    chances[at, PROBE_WEIGHT] = rule["probe_weight"]
    chances[at, INSERT_WEIGHT] = rule["insert_weight"]
