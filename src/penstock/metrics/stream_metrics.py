"""`StreamMetrics`: what became of one stream's rows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class StreamMetrics:
    """What became of one stream's rows.

    Each row that arrived is late, invalid (in one of three ways), or took part. Each that took part
    was dropped, evicted or expired, or is still held. With several shards, a row that was copied to
    more than one of them is counted once in `arrived` and in `copies` for the others.

    Attributes
    ----------
    arrived
        Rows that arrived.
    late
        Rows older than the stream's greatest time by more than its lateness: not used.
    bad_times
        Rows whose time is null, not finite, or 2**61 units or more from 0: not used.
    far_ahead
        Rows further ahead of the stream than `max_ahead`: not used.
    null_keys
        Rows with a null or NaN in a column of the predicate, or an infinity where the predicate
        compares distances: they match nothing.
    bad_importance
        Of a join by importance: rows whose importance is null, NaN, negative, infinite or above
        1e100, or whose value is in no table of a `Lookup` without a default. They take part with an
        importance of 0, so they are counted a second time as held, expired and so on.
    copies
        Further copies that sharding made.
    not_admitted
        Shed on arrival: they neither probed nor were taken into memory.
    not_probed
        Not compared with the other streams' rows, or only with those in some parts of their
        windows; they may have been taken into memory.
    not_inserted
        Not offered a place in memory, although they could still have been joined.
    unseen
        Arrivals of whose lost results no estimate is possible: a step had a chance of 0, or parts
        of windows were not probed.
    dropped
        Rows not taken into memory because it was full; they did probe.
    evicted
        Rows removed from memory before their window had passed, because memory was full.
    expired
        Rows that left memory, or did not need it, because no later row could join them.
    held
        Rows in memory now.
    held_most
        Most rows that were in memory at a time.
    ended
        Rows that have left memory, and those that were dropped.
    lived, lived_squares
        Sum over these rows of the fraction of the window for which each stayed; sum of its square.
    row_bytes
        Mean size of a row's payload.
    waiting, waiting_bytes
        Rows that are ahead of the slowest stream and wait for it, and their bytes, packed.
    waiting_age
        How far the oldest of these may be behind the stream's newest row; None if none wait.
    latest
        Greatest time so far: seconds since 1970 if times are timestamps. None without rows.
    behind
        How far that is behind the latest time of the furthest stream. None without rows.
    """

    arrived: int = 0
    late: int = 0
    bad_times: int = 0
    far_ahead: int = 0
    null_keys: int = 0
    bad_importance: int = 0
    copies: int = 0
    not_admitted: int = 0
    not_probed: int = 0
    not_inserted: int = 0
    unseen: int = 0
    dropped: int = 0
    evicted: int = 0
    expired: int = 0
    held: int = 0
    held_most: int = 0
    ended: int = 0
    lived: float = field(default=0.0, compare=False)
    lived_squares: float = field(default=0.0, compare=False)
    row_bytes: float = 0.0
    waiting: int = 0
    waiting_bytes: int = field(default=0, compare=False)
    waiting_age: float | None = field(default=None, compare=False)
    latest: float | None = None
    behind: float | None = None

    @property
    def invalid(self) -> int:
        """Rows that could not be used: without a usable time or without a key."""
        return self.bad_times + self.far_ahead + self.null_keys
