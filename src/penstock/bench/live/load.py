"""What a live benchmark needs to know of its load: rows by the clock, sizes to measure, queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from penstock.bench.live.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.bench.live.speed import Size, Speed
    from penstock.bench.live.truth import Rows, TrueResults
    from penstock.budget import Budget
    from penstock.join import Join

__all__ = ["START", "AnyLoad", "Load", "Query"]

START = 1_767_225_600_000_000
"""2026-01-01, in microseconds: when all streams begin."""


@dataclass(frozen=True)
class Query:
    """A query to be run.

    Attributes
    ----------
    name
        In the tables.
    make
        Returns its frame, from those of the streams and the number of shards.
    waits
        Whether rows wait until the other streams have got to their time.
    is_ours
        Whether it is Penstock's: Spark's own join is faster with its default state store.
    """

    name: str
    make: Callable[[Mapping[str, DataFrame], int], DataFrame]
    waits: bool = False
    is_ours: bool = True

    @classmethod
    def of(cls, name: str, join: Join) -> Query:
        """Return the query that runs one of our joins."""
        return cls(
            name,
            lambda frames, shards: join.stream(dict(frames), shards=shards),
            waits=join.budget is not None,
        )


_Chosen = TypeVar("_Chosen", bound=Plan)


@dataclass(frozen=True)
class Load(ABC, Generic[_Chosen]):
    """Streams with the same times, whose rows follow from their numbers."""

    name: ClassVar[str]
    streams: ClassVar[tuple[str, ...]]
    window: ClassVar[int]
    """Seconds that a row stays in its window."""

    @property
    @abstractmethod
    def warm_up(self) -> int:
        """Seconds that do not count: Spark starts its workers, and windows fill."""

    @property
    @abstractmethod
    def seconds(self) -> int:
        """All of them."""

    @property
    @abstractmethod
    def numbers_per_second(self) -> int:
        """Numbers that the source of each stream counts in a second."""

    @property
    def numbers(self) -> int:
        """All that a source counts."""
        return self.numbers_per_second * self.seconds

    @abstractmethod
    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""

    @abstractmethod
    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""

    @abstractmethod
    def time_and_key(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and key: what results follow from."""

    @abstractmethod
    def count_results(self, rows: Mapping[str, Rows]) -> TrueResults:
        """Return the results that there are."""

    @abstractmethod
    def join(self, budget: Budget | None = None, strategy: str | None = None) -> Join:
        """Return the join: exact, or with a budget."""

    @abstractmethod
    def some_rows(self, count: int) -> pa.Table:
        """Return a few rows of any stream, for the compiler."""

    @property
    @abstractmethod
    def first_sizes(self) -> tuple[Size, ...]:
        """What is measured of the exact join to begin with; the first is the smallest."""

    @abstractmethod
    def rate_within(self, speed: Speed) -> int:
        """Return the rows of each stream that the exact join can just join in time."""

    @abstractmethod
    def size_at(self, rate: int, speed: Speed) -> Size:
        """Return how much is joined with so many rows per second of each stream."""

    @abstractmethod
    def peak(self, plan: _Chosen) -> int:
        """Return the most rows per second of each stream that come with a plan."""

    @abstractmethod
    def steady(self, size: Size, seconds: int) -> Load[_Chosen]:
        """Return streams of one size."""

    @abstractmethod
    def plan(self, speed: Speed, overhead: float | None = None) -> _Chosen:
        """Choose a rate that the exact join is too slow for, and a share of the processor.

        Parameters
        ----------
        speed
            Of the exact join.
        overhead
            Seconds that a micro-batch of the greatest size takes beside its share of the
            processor; None to tell them from the speed.
        """

    @abstractmethod
    def planned(self, plan: _Chosen, speed: Speed) -> Load[_Chosen]:
        """Return the streams that are chosen."""

    @abstractmethod
    def queries(self, plan: _Chosen) -> dict[str, Query]:
        """Return all queries; those that fall behind last, so that they disturb no other."""


AnyLoad: TypeAlias = Load[Any]
