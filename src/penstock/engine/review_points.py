"""Where in a batch decisions are reviewed: at points that any cut into batches shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.limits import review_interval
from penstock.statistics.selectivity import probe_order

if TYPE_CHECKING:
    from penstock.engine.arrays import Array
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.limits import Limits
    from penstock.engine.monitor import Monitor
    from penstock.engine.reviewing import Reviewer
    from penstock.engine.store import Store
    from penstock.engine.work import Work

# Counts of selectivity are halved beyond this, so that the order of probing follows change.
_MANY = 1 << 34


class ReviewPoints:
    """Divides a batch into pieces, before each of which everything that is due is reviewed.

    Parameters
    ----------
    store, limits
        Memory, and how much of it may be held.
    scores, monitor, reviewer, work
        What is reviewed, as far as there is a budget, and importance.

    Attributes
    ----------
    reviewed
        Arrivals at the last review; -1 before the first.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        scores: ImportanceScores | None,
        monitor: Monitor | None,
        reviewer: Reviewer | None,
        work: Work | None,
    ) -> None:
        self._store, self._limits = store, limits
        self._scores, self._monitor = scores, monitor
        self._reviewer, self._work = reviewer, work
        self.reviewed = -1

    def begin_piece(self, arrivals: Array, at: int, until: int) -> int:
        """Act on what has changed before an arrival; return where the next change may be.

        At the latest that is at `until`.
        """
        arrived = int(self._store.memory.rule["arrivals"][0])
        interval = self._interval
        is_due = self.reviewed < 0 or arrived >= self.reviewed + interval
        if is_due:
            self.reviewed = arrived
            is_due = self._work is None or not self._work.look()
            self._limits.review()
            interval = self._interval
        stop = min(at + self.reviewed + interval - arrived, until)
        if self._scores is not None:
            stop = self._scores.next_edge(at, stop)
            if self._scores.is_redefined(at) and self._reviewer is not None:
                self._reviewer.redefine()
        if is_due:
            self._review(self._limits.rows or 0)
            stop = min(stop, at + self._interval)
        if self._reviewer is not None:
            stop = self._reviewer.next_edge(at, stop)
            self._reviewer.begin_piece(arrivals, at, stop)
        return stop

    @property
    def _interval(self) -> int:
        """Arrivals between two reviews."""
        if self._work is not None and self._limits.rows is None:
            return self._work.pace.interval
        interval = review_interval(self._limits.rows)
        return interval if self._work is None else min(interval, self._work.pace.interval)

    def _review(self, rows: int) -> None:
        """Reconsider what is decided on, where so many rows may be held."""
        self._review_order()
        if self._monitor is not None:
            self._monitor.allow(rows)
            self._monitor.review()
        if self._reviewer is not None:
            self._reviewer.review(rows)

    def _review_order(self) -> None:
        """Let the windows be probed with the smallest expected number of matches first."""
        memory = self._store.memory
        if memory.order.shape[1] < 2:
            return
        memory.order[:] = probe_order(
            memory.pairs["faced"], memory.pairs["found"], memory.streams["held"]
        )
        if memory.pairs["faced"].sum() > _MANY:
            for name in ("faced", "found"):
                memory.pairs[name] //= 2
