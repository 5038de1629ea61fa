"""The kinds of retention, in one table: which one keeps the rows in a decided order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penstock.engine.kernels.layout import NOTHING
from penstock.engine.retention import grid, heap, ijoin, queue, sample, thinning
from penstock.engine.retention import residence_priority as merits
from penstock.engine.retention.base import Retention
from penstock.engine.retention.retained import Graded, Ordered, Queued, Residing, Sampled
from penstock.errors import SpecificationError, must
from penstock.strategies import (
    LowestRating,
    LowestScore,
    Oldest,
    Order,
    ResidencePriority,
    SampleThreshold,
)
from penstock.strategies.division import score_grades

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, DType, Floats, Integers
    from penstock.engine.kernels.layout import Memory

__all__ = ["keep_all", "retention_for"]

# An age that is worth less than this part of the best is worth nothing.
_WORTHLESS = 2.0**-60
_SCHEMES = {
    "successive": merits.SUCCESSIVE,
    "k-successive": merits.K_SUCCESSIVE,
    "adaptive": merits.ADAPTIVE,
    "adaptive-below": merits.ADAPTIVE_BELOW,
}
_MERIT_FIELDS = ("matches", "last", "computed", "epoch")  # the rest follows from the rows
_RESIDENCE_FIELDS = ("decisions", "epoch", "computed_at", "arrivals", "seen", "quality")


class OldestFirst(Retention):
    """The oldest row leaves first."""

    def make(self, time: DType, streams: int) -> Queued:
        """Return what is known of the streams' queues."""
        del time
        return Queued(queue.make(streams))

    def queue_moved(self, memory: Memory, s: int) -> None:
        """Begin to look for the oldest row at the start."""
        memory.retained.queue.first[s] = 0


class LowestRatingFirst(Retention):
    """The row of the lowest rating leaves first."""

    def make(self, time: DType, streams: int) -> Ordered:
        """Return a heap for each stream."""
        del time
        return Ordered(heap.make(streams))

    def grown(self, retained: Ordered, size: int) -> Ordered:
        """Return the heaps with room for so many rows."""
        return retained._replace(heap=heap.grown(retained.heap, size))

    def apply(self, memory: Memory, order: Order, streams: Sequence[int]) -> None:
        """Note which of two rows of the same rating goes."""
        super().apply(memory, order, streams)
        assert isinstance(order, LowestRating)  # noqa: S101  # `retention_for` has chosen by it
        memory.retained.heap.favours_held[0] = order.favours_held

    def rate_again(self, memory: Memory, s: int, rows: Integers, ratings: Floats) -> None:
        """Order a stream's rows by other ratings."""
        heap.rebuild(memory, s, rows, ratings)

    def ratings(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return the ratings as they came."""
        ratings: Floats = memory.retained.heap.keys[rows]
        return ratings


class LowestScoreFirst(Retention):
    """The row of the lowest score leaves first."""

    rates_again_every: ClassVar[int] = 4

    @property
    def _order(self) -> LowestScore:
        assert isinstance(self.order, LowestScore)  # noqa: S101  # `retention_for` has chosen by it
        return self.order

    def make(self, time: DType, streams: int) -> Graded:
        """Return the cells of each stream."""
        del time
        return Graded(grid.make(streams, self._order.grades, *self.parts))

    def grown(self, retained: Graded, size: int) -> Graded:
        """Return the cells with room for so many rows."""
        return retained._replace(grid=grid.grown(retained.grid, size))

    def apply(self, memory: Memory, order: Order, streams: Sequence[int]) -> None:
        """Rank the cells of some streams by what their ages are worth now."""
        super().apply(memory, order, streams)
        for s in streams:
            self._rank(memory, s, self._order.worth[s])

    def resume(self, memory: Memory, order: Order) -> None:
        """Rank all cells as before a restart."""
        self.apply(memory, order, range(memory.streams.size))

    @property
    def reads_likeliness_again(self) -> bool:
        """Whether the likeliness of today counts."""
        return self._order.rates_again

    def _rank(self, memory: Memory, s: int, worth: Floats) -> None:
        worth = np.append(worth, 0.0)  # rows that have outlived their time
        rises = np.append(np.diff(worth) > 1e-12 * np.abs(worth[1:]), False)
        some = worth > worth.max() * _WORTHLESS
        levels = max(1, self._order.grades_per_octave) * np.log2(np.where(some, worth, 1.0))
        whole = np.floor(levels)
        left = np.where(some, levels - whole, -1.0)
        oldest_first = np.arange(worth.size)[::-1]
        ages = oldest_first[np.argsort(left[oldest_first], kind="stable")]
        grid.rank(
            memory,
            s,
            ages,
            whole.astype(np.int64),
            worth.size - int(np.count_nonzero(some)),
            rises.astype(np.int64),
        )

    def turn(self, memory: Memory, s: int, part: int) -> None:
        """Move rows of the oldest cells together."""
        grid.turn(memory, s, part)

    def _grades(self, ratings: Floats) -> Integers:
        if not self._order.grades_per_octave:
            return np.zeros(ratings.size, np.int64)
        return score_grades(ratings, self._order.grades_per_octave)

    def grade(self, arrivals: Array, places: Integers, ratings: Floats) -> None:
        """Note the grades of ratings."""
        grid.set_grades(arrivals, places, self._grades(ratings))

    def rate_again(self, memory: Memory, s: int, rows: Integers, ratings: Floats) -> None:
        """Put a stream's rows into the cells of their ratings."""
        grid.rebuild(memory, s, rows, self._grades(ratings))

    def save(self, memory: Memory, rows: Sequence[Integers]) -> dict[str, Array]:
        """Return the grades of rows."""
        saved: dict[str, Array] = {}
        for s, mine in enumerate(rows):
            cells = memory.retained.grid.links[mine, grid.CELL]
            grades = cells // int(memory.retained.grid.grids["ages"][s])
            free = memory.rows["monitored"][mine] == NOTHING
            saved[f"grades.{s}"] = np.where(free, grades, 0).astype(np.int16)
        return saved

    def refill(self, arrivals: Array, saved: Mapping[str, Array], s: int) -> None:
        """Set the grades of rows."""
        arrivals["grade"] = saved[f"grades.{s}"]


class SampleFirst(Retention):
    """Rows leave a sample."""

    row_bytes: ClassVar[int] = 2 * sample.ODDS.itemsize
    keeps_likeliness: ClassVar[bool] = False  # what is expected of a row is kept instead

    def make(self, time: DType, streams: int) -> Sampled:
        """Return the arrays of a sample, and a heap for each stream."""
        del time
        return Sampled(heap.make(streams), sample.make(streams))

    def grown(self, retained: Sampled, size: int) -> Sampled:
        """Return the arrays with room for so many rows."""
        return retained._replace(
            heap=heap.grown(retained.heap, size), sample=sample.grown(retained.sample, size)
        )

    def apply(self, memory: Memory, order: Order, streams: Sequence[int]) -> None:
        """Set the fraction: a greater one for rows to come, a smaller one for all."""
        super().apply(memory, order, streams)
        assert isinstance(order, SampleThreshold)  # noqa: S101  # `retention_for` has chosen by it
        settings = memory.retained.sample.settings
        settings["by_match"] = order.by_match
        settings["by_size"] = order.by_size
        if order.fraction is None:
            return
        if order.fraction < self.fraction(memory) and memory.rule["held"][0]:
            thinning.lower_to(memory, order.fraction)
            return
        sample.note_fraction(memory)
        settings["fraction"] = order.fraction

    def rate_again(self, memory: Memory, s: int, rows: Integers, ratings: Floats) -> None:
        """Set the numbers of matches that rows are taken to have."""
        del s
        limits = np.minimum(ratings, sample.NO_MATCH - 1)
        memory.retained.sample.odds["limit"][rows] = limits

    @property
    def rates_first_rows(self) -> bool:
        """Whether rows have numbers of matches that they are taken to have."""
        assert isinstance(self.order, SampleThreshold)  # noqa: S101  # `retention_for` chose by it
        return self.order.by_match

    def fraction(self, memory: Memory) -> float:
        """Return the sampling fraction now."""
        return float(memory.retained.sample.settings["fraction"][0])

    def metrics(self, memory: Memory) -> dict[str, Any]:
        """Return the fraction, and how often it had to fall."""
        forced = int(memory.retained.sample.settings["forced"][0])
        return {"forced": forced, "fractions": min(self.fraction(memory), 1.0), "shards": 1}

    def whole(self, memory: Memory) -> Floats:
        """Return how many results the sample's stand for, by the stream that waited."""
        whole: Floats = memory.retained.sample.whole
        return whole

    def sizes(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return what was expected of rows when they came."""
        sizes: Floats = memory.retained.sample.odds["expected"][rows]
        return sizes

    def chances(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return the chances with which rows are in the sample now."""
        odds = memory.retained.sample.odds[rows]
        fraction = np.minimum(odds["least"], float(memory.retained.sample.settings["fraction"][0]))
        return np.minimum(np.maximum(odds["size"] * fraction, 1e-300), 1.0)

    def save(self, memory: Memory, rows: Sequence[Integers]) -> dict[str, Array]:
        """Return what was drawn."""
        arrays = memory.retained.sample
        saved = {f"sample.{name}": arrays.settings[name] for name in ("fraction", "forced")}
        saved["sample.by_size"] = arrays.settings["by_size"]
        saved["sample.whole"] = arrays.whole
        for s, mine in enumerate(rows):
            saved[f"keys.{s}"] = memory.retained.heap.keys[mine]
            for name in sample.ODDS.names or ():
                saved[f"odds.{name}.{s}"] = arrays.odds[name][mine]
        return saved

    def refill(self, arrivals: Array, saved: Mapping[str, Array], s: int) -> None:
        """Set what rows have drawn."""
        arrivals["rating"] = saved[f"keys.{s}"]

    def restore(self, memory: Memory, rows: Sequence[Integers], saved: Mapping[str, Array]) -> None:
        """Set how rows have drawn."""
        arrays = memory.retained.sample
        for name in ("fraction", "forced", "by_size"):
            arrays.settings[name] = saved[f"sample.{name}"]
        arrays.whole[:] = saved["sample.whole"]
        for s, mine in enumerate(rows):
            for name in sample.ODDS.names or ():
                arrays.odds[name][mine] = saved[f"odds.{name}.{s}"]


class LowestPriorityFirst(Retention):
    """The row of the lowest residence priority leaves first."""

    row_bytes: ClassVar[int] = 2 * (merits.merit_type(np.dtype("i8")).itemsize + 4)

    def make(self, time: DType, streams: int) -> Residing:
        """Return the arrays, and two heaps for each stream."""
        return Residing(heap.make(2 * streams), ijoin.make(time, streams))

    def grown(self, retained: Residing, size: int) -> Residing:
        """Return the arrays with room for so many rows."""
        return retained._replace(
            heap=heap.grown(retained.heap, size), ijoin=ijoin.grown(retained.ijoin, size)
        )

    def apply(self, memory: Memory, order: Order, streams: Sequence[int]) -> None:
        """Set how priorities are computed, and when."""
        super().apply(memory, order, streams)
        assert isinstance(order, ResidencePriority)  # noqa: S101  # `retention_for` chose by it
        residences = memory.retained.ijoin.residences
        windows = memory.streams["window"]
        residences["life"] = np.where(windows > 0, windows, 1)
        for name in ("maturity", "unproductivity", "penalty", "decay", "every", "tolerance"):
            residences[name] = getattr(order, name)
        residences["scheme"] = _SCHEMES[order.recompute]
        residences["has_initial"] = order.has_initial

    def metrics(self, memory: Memory) -> dict[str, Any]:
        """Return how often priorities were computed."""
        return {"recomputations": int(memory.retained.ijoin.residences["epoch"].sum())}

    def queue_moved(self, memory: Memory, s: int) -> None:
        """Begin to look for mature rows, and those that have not matched, at the start."""
        memory.retained.ijoin.residences["ripened"][s] = 0
        memory.retained.ijoin.residences["unmatched"][s] = 0

    def before_rating(self, memory: Memory, s: int, rows: Integers) -> None:
        """Note priorities as computed last: they hold until they are computed again."""
        merits.note_all(memory, s, rows)

    def rate_again(self, memory: Memory, s: int, rows: Integers, ratings: Floats) -> None:
        """Let all rows of a stream matter as much as is said from now on."""
        ijoin.set_importance(memory, s, rows, ratings)

    def save(self, memory: Memory, rows: Sequence[Integers]) -> dict[str, Array]:
        """Return what rows have given so far."""
        arrays = memory.retained.ijoin
        saved = {f"residences.{name}": arrays.residences[name] for name in _RESIDENCE_FIELDS}
        saved["quality"] = arrays.quality
        for s, mine in enumerate(rows):
            saved |= {f"merits.{name}.{s}": arrays.merits[name][mine] for name in _MERIT_FIELDS}
        return saved

    def restore(self, memory: Memory, rows: Sequence[Integers], saved: Mapping[str, Array]) -> None:
        """Set what rows have given so far."""
        arrays = memory.retained.ijoin
        for name in _RESIDENCE_FIELDS:
            arrays.residences[name] = saved[f"residences.{name}"]
        arrays.quality[:] = saved["quality"]
        for s, mine in enumerate(rows):
            for name in _MERIT_FIELDS:
                arrays.merits[name][mine] = saved[f"merits.{name}.{s}"]


_RETENTIONS: Mapping[type[Order], type[Retention]] = {
    Oldest: OldestFirst,
    LowestRating: LowestRatingFirst,
    LowestScore: LowestScoreFirst,
    SampleThreshold: SampleFirst,
    ResidencePriority: LowestPriorityFirst,
}


def keep_all(parts: Sequence[int]) -> Retention:
    """Return the retention of the exact join: no row leaves before it expires."""
    return Retention(Oldest(), parts)


def retention_for(order: Order) -> type[Retention]:
    """Return the retention that keeps rows in an order.

    Raises
    ------
    SpecificationError
        If there is none.
    """
    if type(order) not in _RETENTIONS:
        known = ", ".join(kind.__name__ for kind in _RETENTIONS)
        raise SpecificationError(
            must("order of Retain", f"one of {known}", order, "see docs/extending.md")
        )
    return _RETENTIONS[type(order)]
