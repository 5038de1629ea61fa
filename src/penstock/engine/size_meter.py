"""The size of the exact result of an equality join, from counts of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.identity import bits
from penstock.engine.intake import is_hashed
from penstock.engine.kernels import layout
from penstock.engine.kernels.count_layout import (
    COUNTED,
    RUN,
    KeyCounts,
    candidate_type,
    counted_stream_type,
    counting_type,
    entry_type,
)
from penstock.engine.kernels.key_counts import begin_counting, count_keys, keep_to_room
from penstock.engine.lives import lengths_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.plan import Plan
    from penstock.strategies import Needs

# Entries of a shard, of 56 bytes each: itself (40), its part of the chains (2 to 4) and of the
# candidates (12).
_ENTRIES = 2048
# Windows for which a key of three streams and more has the same draw.
_WINDOWS = 4.0
# Parts of a window that rows of a heavy key are distinguished by, and the room from which on.
_PARTS = ((128, 4), (24, 2), (0, 1))

_COMBINED = {"product": layout.PRODUCT, "sum": layout.SUM}
_ENTRY_FIELDS = entry_type(np.dtype(np.int64)).names or ()
WORTHS = ("worths", "worth_squares", "worth_covers")
"""What is kept of the importance of entries, if that is counted."""
_CANDIDATE_FIELDS = ("tag", "is_heavy", "counts")
_STREAM_FIELDS = ("clock", "horizon", "cell", "arrived")
_RULE_FIELDS = (
    "now",
    "number",
    "room",
    "parts",
    "free",
    "fresh",
    "used",
    "sampled",
    "candidates",
    "planned",
    "chance",
    "next_chance",
    "epoch",
    "turn_at",
    "fade_at",
)


def meters_sizes(plan: Plan, needs: Needs) -> bool:
    """Return whether the size of a join's exact result is estimated from counts.

    Samples tell the size by themselves.
    """
    budget = plan.spec.budget
    if plan.is_sample or budget is None or budget.monitor == 0:
        return False
    return plan.rule.kind == layout.EQUAL and needs.monitoring


class SizeMeter:
    """Counts keys as they arrive, and adds up what each arrival completes in the exact join.

    Parameters
    ----------
    plan
        An equality join.
    scores
        Importance of rows; None if it is not the goal.
    shard
        Which part of the join this is: shards draw independently of each other.
    waits
        Whether rows wait for those of slower streams.
    """

    def __init__(
        self, plan: Plan, scores: ImportanceScores | None, shard: int, *, waits: bool
    ) -> None:
        self._plan = plan
        self._hashes = is_hashed(plan)
        time = plan.time.dtype
        count = len(plan.sides)
        self.counts_worth = (
            scores is not None
            and count == 2
            and scores.kind in _COMBINED
            and not scores.is_ever_redefined
        )
        longest = float(max(lengths_of(plan)) + (plan.align or 0)) or 1.0
        windows = max(float(side.window) for side in plan.sides) or 1.0
        streams = np.zeros(count, counted_stream_type(time))
        for name in ("window", "lateness"):
            streams[name] = [getattr(side, name) for side in plan.sides]
        streams["reach"] = [float(side.window) / windows for side in plan.sides]
        streams["clock"] = streams["horizon"] = layout.NEVER
        rule = np.zeros(1, counting_type(time))
        rule["now"] = layout.NEVER
        rule["seed"] = plan.spec.seed + (shard << 32)
        rule["free"] = layout.NOTHING
        rule["chance"] = 1.0
        rule["span"] = longest
        rule["period"] = _WINDOWS * longest if waits else np.inf
        rule["epoch"] = -1
        rule["turn_at"] = rule["fade_at"] = -np.inf
        rule["combines"] = -1
        if scores is not None and self.counts_worth:
            rule["combines"] = _COMBINED[scores.kind]
        self._counts = KeyCounts(
            entries=np.zeros(0, entry_type(time)),
            heads=np.full(1, layout.NOTHING, np.int16),
            candidates=np.zeros(1, candidate_type(count)),
            streams=streams,
            rule=rule,
            gauges=np.zeros(count, COUNTED),
            found=np.zeros(0, np.int64),
            certain=np.zeros(count),
            full=np.zeros(count),
            worths=np.zeros(0),
            worth_squares=np.zeros(0),
            worth_covers=np.zeros(0),
        )
        self._worths: Floats = np.zeros(1)
        self._arrivals: Array = np.zeros(0)
        self._taken = 0  # arrivals that were counted

    # --- Room

    @property
    def can_begin_late(self) -> bool:
        """Whether counting may begin when rows are about to be lost: until then memory has all.

        Where memory is limited it is not known before which arrival that is. And the importance of
        rows in memory is not known.
        """
        budget = self._plan.spec.budget
        return budget is not None and not budget.limits_memory and not self.counts_worth

    def allow(self, entries: int = _ENTRIES) -> None:
        """Set how many entries there may be. A meter that has missed rows stays off."""
        rule = self._counts.rule[0]
        if entries == rule["room"] or (rule["room"] == 0 and rule["number"] > 0):
            return
        rule["room"] = entries
        if rule["fresh"] == 0 or entries > self._counts.entries.size:
            self._reserve(entries)
        keep_to_room(self._counts)

    def _reserve(self, room: int) -> None:
        """Make arrays for so many entries; what is in them stays."""
        counts = self._counts
        rule = counts.rule[0]
        rule["parts"] = next(parts for least, parts in _PARTS if room >= least)
        if counts.streams.size > 2:
            rule["parts"] = max(rule["parts"] // 2, 1)  # drawn keys are as large as heavy ones
        integer = self._plan.time.dtype.kind == "i"
        for side, stream in zip(self._plan.sides, counts.streams, strict=True):
            cell = side.window / float(rule["parts"])
            stream["cell"] = int(np.ceil(cell)) if integer else cell
        entries = _longer(counts.entries, room)
        heads = np.full(_power_of_two(room), layout.NOTHING, np.int16)
        for head in counts.heads.tolist():
            at = head
            while at != layout.NOTHING:
                after = int(entries["next"][at])
                chain = int(entries["tag"][at]) & (heads.size - 1)
                entries["next"][at] = heads[chain]
                heads[chain] = at
                at = after
        known = counts.candidates[counts.candidates["counts"].sum(axis=1) > 0]
        candidates = np.zeros(max(_power_of_two(room) // 2, 8), counts.candidates.dtype)
        for each in known[-(candidates.size // 2) :]:
            at = (int(each["tag"]) >> 7) & (candidates.size - 1)
            while candidates["counts"][at].sum() > 0:
                at = (at + 1) & (candidates.size - 1)
            candidates[at] = each
        rule["candidates"] = min(known.size, candidates.size // 2)
        worths = room if self.counts_worth else 0
        self._counts = counts._replace(
            entries=entries,
            heads=heads,
            candidates=candidates,
            found=np.zeros(max(room, candidates.size), np.int64),
            worths=_longer(counts.worths, worths),
            worth_squares=_longer(counts.worth_squares, worths),
            worth_covers=_longer(counts.worth_covers, worths),
        )

    # --- The batch

    @property
    def is_on(self) -> bool:
        """Whether there is room to count."""
        return bool(self._counts.rule["room"][0])

    def begin_batch(self) -> None:
        """Forget what the batch before has shown."""
        begin_counting(self._counts)

    def begin_arrivals(self, arrivals: Array, worths: Floats | None = None) -> None:
        """Set the arrivals that take part now, and their importance."""
        self._arrivals, self._taken = arrivals, 0
        self._worths = np.zeros(1) if worths is None or not self.counts_worth else worths

    def take(self, stop: int) -> None:
        """Count the arrivals before a place, in the order in which they are joined."""
        start, self._taken = self._taken, stop
        if self.is_on and stop > start:
            arrivals = self._arrivals
            words = bits(arrivals["value"]) if self._hashes else arrivals["key_word"]
            words = np.ascontiguousarray(words)
            count_keys(self._counts, arrivals, words, self._worths, start, stop)

    def begin_with(self, held: Array, completed: Floats) -> None:
        """Begin with the rows that are in memory, of a join that has lost nothing so far.

        Parameters
        ----------
        held
            The rows as arrivals, in the order in which they came.
        completed
            By stream: results that its arrivals have completed.
        """
        self._count_no_importance()  # of rows that came before it was asked for
        self.allow()
        self.begin_arrivals(held)
        self.take(held.size)
        # What was completed so far is known: only from now on entries make it vary.
        entries, gauges = self._counts.entries, self._counts.gauges
        entries["cover"] = entries["batch_cover"] = 0.0
        entries["draw"][entries["kind"] == RUN] = 0.0
        gauges[:] = 0
        gauges["total"] = completed

    def begin_at(self, at: int, held: Array, completed: Floats, in_batch: Floats) -> None:
        """Begin before an arrival of the batch, with the rows that are in memory.

        Nothing, if rows were lost that were not counted.

        Parameters
        ----------
        at
            The arrival's place.
        held, completed
            See `begin_with`.
        in_batch
            Of the results that were completed, those of this batch.
        """
        if self._counts.rule["number"][0] > 0:
            return
        arrivals, worths = self._arrivals, self._worths
        self.begin_with(held, completed)
        self._counts.gauges["batch_total"] = in_batch
        self._arrivals, self._worths, self._taken = arrivals, worths, at

    def stay_off(self) -> None:
        """Count nothing, as rows were lost that were not counted."""
        self._counts.rule["room"] = 0
        self._counts.rule["number"] += 1

    def _count_no_importance(self) -> None:
        self.counts_worth = False
        self._counts.rule["combines"] = -1

    # --- What it says

    @property
    def sums(self) -> dict[str, float]:
        """The estimate of all results, its variance and so on: as gauges have them."""
        gauges = self._counts.gauges
        return {name: float(gauges[name].sum()) for name in COUNTED.names or ()}

    @property
    def completed(self) -> Floats:
        """By stream: results that its arrivals complete in the exact join, as estimated."""
        totals: Floats = self._counts.gauges["total"].copy()
        return totals

    # --- State

    def save(self) -> dict[str, Array]:
        """Return the state, for `restore`."""
        counts = self._counts
        fresh = int(counts.rule["fresh"][0])
        saved: dict[str, Array] = {"heads": counts.heads}
        saved |= {f"entry.{n}": counts.entries[n][:fresh] for n in _ENTRY_FIELDS}
        saved |= {f"candidate.{n}": counts.candidates[n] for n in _CANDIDATE_FIELDS}
        saved |= {f"stream.{n}": counts.streams[n] for n in _STREAM_FIELDS}
        saved |= {f"rule.{n}": counts.rule[n] for n in _RULE_FIELDS}
        saved |= {f"gauge.{n}": counts.gauges[n] for n in COUNTED.names or ()}
        if self.counts_worth:
            saved |= {name: getattr(counts, name)[:fresh] for name in WORTHS}
        return saved

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped; without importance if that was not counted."""
        if "worths" not in saved:
            self._count_no_importance()
        fresh = int(saved["rule.fresh"][0])
        self._reserve(max(int(saved["rule.room"][0]), fresh))
        counts = self._counts
        for name in _ENTRY_FIELDS:
            counts.entries[name][:fresh] = saved[f"entry.{name}"]
        candidates = np.zeros(len(saved["candidate.tag"]), counts.candidates.dtype)
        for name in _CANDIDATE_FIELDS:
            candidates[name] = saved[f"candidate.{name}"]
        for name in _STREAM_FIELDS:
            counts.streams[name] = saved[f"stream.{name}"]
        for name in _RULE_FIELDS:
            counts.rule[name] = saved[f"rule.{name}"]
        for name in COUNTED.names or ():
            counts.gauges[name] = saved[f"gauge.{name}"]
        if self.counts_worth:
            for name in WORTHS:
                getattr(counts, name)[:fresh] = saved[name]
        self._counts = counts._replace(heads=saved["heads"].copy(), candidates=candidates)


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


def _longer(array: Array, size: int) -> Array:
    larger = np.zeros(max(size, array.size), array.dtype)
    larger[: array.size] = array
    return larger
