"""How much rows matter: their importance, from their payload, by what holds at a time.

A row that has no usable importance (null, NaN, negative, infinite) has one of 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.layout import NEVER
from penstock.goals import MaxImportance
from penstock.importance import result_importance

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan


def scores_of(plan: Plan, payloads: Sequence[Payload]) -> ImportanceScores | None:
    """Make the scores of a join whose goal is importance; None for others.

    Raises
    ------
    SchemaError
        If a stream has not the columns that its importance is made of.
    """
    goal = plan.spec.goal
    if not isinstance(goal, MaxImportance):
        return None
    for side in plan.sides:
        goal.importance_of(side.name).check(side.schema, side.name)
    return ImportanceScores(plan, goal, payloads)


class ImportanceScores:
    """The importance of rows that are held or come, and of results.

    It is never saved: it follows from the rows themselves, and from the time.

    Parameters
    ----------
    plan
        Of a join whose goal is importance.
    goal
        That goal.
    payloads
        Each stream's rows.
    """

    def __init__(self, plan: Plan, goal: MaxImportance, payloads: Sequence[Payload]) -> None:
        self._plan = plan
        self.kind = goal.result
        self._payloads = payloads
        self._definitions = [goal.importance_of(side.name) for side in plan.sides]
        self._turns = [
            each.turns(plan.time.type, side.name)
            for each, side in zip(self._definitions, plan.sides, strict=True)
        ]
        # When importance was redefined last, of any stream; the arrivals of this batch before which
        # it is redefined, and those times.
        self._since: int | float = NEVER
        self._places: Integers = np.zeros(0, np.int64)
        self._moments: Array = np.zeros(0)

    # --- The times at which importance is redefined

    def begin_batch(self, arrivals: Array) -> None:
        """Find where importance is redefined."""
        if arrivals.size and any(self._turns):
            since = self._last(np.maximum.accumulate(arrivals["time"]))
            self._places = np.flatnonzero(np.diff(since, prepend=self._since) > 0)
            self._moments = since[self._places]

    def _last(self, times: Array) -> Array:
        """Return when importance was last redefined before each time, of any stream."""
        lasts: Array = np.max([each.last(times) for each in self._turns], axis=0)
        return lasts

    def next_edge(self, at: int, stop: int) -> int:
        """Return where the piece that begins at an arrival ends, at the latest at `stop`."""
        if not self._places.size:
            return stop
        later = self._places[self._places > at]
        return min(stop, int(later[0])) if later.size else stop

    def is_redefined(self, at: int) -> bool:
        """Return whether importance is redefined before an arrival; true once."""
        if not self._places.size:
            return False
        passed = int(np.searchsorted(self._places, at, side="right"))
        if passed:
            self._since = max(self._since, self._moments[passed - 1].item())
            self._places, self._moments = self._places[passed:], self._moments[passed:]
        return passed > 0

    @property
    def is_ever_redefined(self) -> bool:
        """Whether the importance of a row can be another at another time."""
        return bool(self._moments.size)

    def resume(self, now: float) -> None:
        """Go on at a time that was reached before."""
        if any(self._turns) and now > NEVER:
            self._since = self._last(np.array([now])).item()

    # --- Importance

    def now(self, s: int, refs: Integers) -> Floats:
        """Return the importance of a stream's rows as it is defined now."""
        return self.at(s, refs, self._since)

    def at(self, s: int, refs: Integers, time: float) -> Floats:
        """Return the importance of a stream's rows as it is defined at a time."""
        place = int(self._turns[s].index(np.array([time]))[0])
        return _usable(self._scored(s, refs, place))

    def each_at(self, s: int, refs: Integers, times: Array) -> Floats:
        """Return the importance of a stream's rows, each as defined at a time of its own."""
        return _usable(self.given_at(s, refs, times))

    def given_at(self, s: int, refs: Integers, times: Array) -> Floats:
        """Return what `each_at` does, with NaN for rows whose importance cannot be used."""
        if not self._turns[s]:
            return self._scored(s, refs, 0)
        places = self._turns[s].index(times)
        importance = np.empty(refs.size)
        for place in np.unique(places):
            here = places == place
            importance[here] = self._scored(s, refs[here], int(place))
        return importance

    def column(self, s: int, refs: Integers, name: str) -> pa.ChunkedArray:
        """Return a column of a stream's rows."""
        column: pa.ChunkedArray = self._payloads[s].gather(refs).column(name)
        return column

    def of_results(self, refs: Integers, times: Array) -> Floats:
        """Return the importance of results: of each stream's member, as defined when it came."""
        members = [
            self.each_at(s, np.ascontiguousarray(refs[:, s]), times) for s in range(refs.shape[1])
        ]
        return result_importance(self.kind, members)

    def _scored(self, s: int, refs: Integers, place: int) -> Floats:
        def evaluate(table: pa.Table) -> Floats:
            return self._definitions[s].evaluate(place, table, self._plan.sides[s].name)

        return self._payloads[s].look_up(refs, place, evaluate)


def _usable(importance: Floats) -> Floats:
    """Put 0 in the place of NaN."""
    return np.fmax(importance, 0.0, out=importance)
