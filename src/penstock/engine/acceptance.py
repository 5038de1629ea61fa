"""Batches come into a shard: which rows may take part, and how far each stream has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.engine.alignment import Alignment, Given
from penstock.engine.intake import StreamCounters, accept
from penstock.engine.sizes import table_size
from penstock.engine.stream_progress import StreamProgress, no_progress, progress_of, too_far_ahead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.engine.arrays import Array
    from penstock.engine.plan import Plan


class Accepted(NamedTuple):
    """A batch as it comes in: the rows of each stream, and the times up to which all have come."""

    given: list[Given]
    ticks: list[Array]


class Acceptance:
    """Counts the rows of each batch, sets aside those that are unusable, and moves the clocks.

    Parameters
    ----------
    plan
        The join.
    counters
        One for each stream; rows are counted here.
    alignment
        The streams' clocks, which move with the rows.
    """

    def __init__(self, plan: Plan, counters: list[StreamCounters], alignment: Alignment) -> None:
        self._plan = plan
        self._counters = counters
        self._alignment = alignment

    def take(
        self,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None,
    ) -> Accepted:
        """Take a batch, by the rows of all shards if there are others (`stream_progress`)."""
        count = len(self._plan.sides)
        bounds = [self._bound(s, tables, stream_progress) for s in range(count)]
        given = [self._accept(s, tables, bound) for s, bound in enumerate(bounds)]
        if stream_progress is None:
            self._alignment.advance([_latest(each) for each in given])
            return Accepted(given, [no_progress(self._plan).times] * count)
        for counters, each in zip(self._counters, stream_progress, strict=True):
            counters.whole += each.rows
        both = list(zip(stream_progress, bounds, strict=True))
        self._alignment.advance([each.latest_before(bound) for each, bound in both])
        return Accepted(given, [each.before(bound) for each, bound in both])

    def _bound(
        self,
        s: int,
        tables: Mapping[str, pa.Table],
        stream_progress: Sequence[StreamProgress] | None,
    ) -> float | None:
        """Return the time from which on a stream's rows are too far ahead to be believed."""
        side = self._plan.sides[s]
        if side.max_ahead is None or (stream_progress is None and side.name not in tables):
            return None
        if stream_progress is None:
            known = progress_of(self._plan, s, tables[side.name])
        else:
            known = stream_progress[s]
        return too_far_ahead(known, side.max_ahead, self._counters[s])

    def _accept(self, s: int, tables: Mapping[str, pa.Table], bound: float | None) -> Given:
        """Return a stream's rows of a batch, and which of them may take part."""
        side, counters = self._plan.sides[s], self._counters[s]
        table = tables.get(side.name)
        if table is None:
            table = side.schema.empty_table()
        counters.arrived += table.num_rows
        counters.payload_bytes += table_size(table)
        times, good = accept(
            self._plan,
            side,
            table,
            counters=counters,
            greatest=None if side.is_told else self._alignment.greatest(s),  # results are not late
            bound=bound,
        )
        return Given(table, times, good)


def _latest(given: Given) -> int | float | None:
    """Return the greatest time of the rows that may take part; None if there are none."""
    times = given.times[given.good]
    return times.max().item() if times.size else None
