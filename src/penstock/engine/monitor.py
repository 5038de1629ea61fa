"""The monitored rows: which they are, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.identity import bits, number_among_equals
from penstock.engine.intake import is_hashed
from penstock.engine.kernels import layout
from penstock.engine.kernels.key_hash import combine_hash, draw_each
from penstock.engine.kernels.monitoring import begin_batch, keep_to_quota

if TYPE_CHECKING:
    from penstock.budget import Budget
    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.strategies import Needs

# Any word: so that these draws have nothing to do with those of strategies.
_SALT = np.int64(0x5DEECE66D)
# Of the quota: a threshold is raised no further than to fill so much of it, so that chance does
# not lower it again at once.
_FILL = 0.9


class Monitor:
    """Keeps the number of monitored rows to its quota, and draws for the rows that come."""

    def __init__(self, plan: Plan, store: Store, budget: Budget, needs: Needs, shard: int) -> None:
        # Copies of a row in several shards are to be drawn apart: each is a cluster of its own.
        self._salt = _SALT + shard if plan.is_sample else _SALT
        # A sample of rows with all their matches says itself what there is to find.
        self._monitors = needs.monitoring
        self._always = needs.matches  # results are noted even if no row is monitored
        self._plan = plan
        self._store = store
        self._budget = budget
        self._allowed: int | None = None  # rows that the quota was set for

    def allow(self, rows: int, *, less: int = 0) -> None:
        """Set the quota, where so many rows may be held; `less` of it is for counters of keys."""
        if rows == self._allowed:
            return
        self._allowed = rows
        quota = self._budget.monitored(rows) - less if self._monitors else 0
        self._store.reserve_monitored(quota)
        rule = self._store.memory.rule[0]
        rule["quota"] = quota
        rule["notes"] &= ~layout.NOTES
        if quota > 0 or self._always:
            rule["notes"] |= layout.NOTES
        if rule["monitored"] > quota:
            keep_to_quota(self._store.memory)

    def begin_batch(self) -> None:
        """Forget what the batch before has shown."""
        begin_batch(self._store.memory.of_any_kind)
        self._store.memory.rule["batch"] += 1

    def arrival_numbers(self) -> Integers:
        """Return the arrival numbers of the monitored rows."""
        memory = self._store.memory
        rows = memory.monitored["row"][: memory.rule["monitored"][0]]
        numbers: Integers = memory.rows["arrival_number"][rows]
        return numbers

    def review(self) -> None:
        """Raise the threshold if fewer rows are monitored than may be."""
        memory = self._store.memory
        rule = memory.rule[0]
        monitored = memory.monitored[: rule["monitored"]]
        if rule["monitored"] >= _FILL * rule["quota"]:
            return
        if not monitored.size:
            rule["threshold"] = min(1.0, 2 * rule["threshold"])
            return
        # As many rows are alive, shed ones included, as the monitored ones stand for.
        alive = float(np.sum(1.0 / monitored["chance"]))
        raised = max(rule["threshold"], _FILL * rule["quota"] / alive)
        rule["threshold"] = min(1.0, raised)

    def draws(self, s: int, times: Array, key_words: Integers, values: Array) -> Floats:
        """Draw for rows of one stream, in time order: by their times, keys and places."""
        keys = key_words
        if self._plan.rule.kind != layout.EQUAL or is_hashed(self._plan):
            keys = bits(values)
        start = combine_hash(self._salt, np.int64(self._plan.spec.seed))
        start = combine_hash(np.int64(s), start)
        drawn = np.empty(times.size)
        draw_each(start, bits(times), keys, _number_in_order(times, keys), drawn)
        return drawn


def _number_in_order(times: Array, keys: Integers) -> Integers:
    """Number the rows of the same time and key, in the order in which they stand."""
    if not np.any(times[1:] == times[:-1]):
        return np.zeros(times.size, np.int64)
    order = np.lexsort((np.arange(times.size), keys, times))
    numbers = np.empty(times.size, np.int64)
    numbers[order] = number_among_equals(times[order], keys[order])
    return numbers
