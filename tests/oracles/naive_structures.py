"""What the kernels' structures do, as plain lists and dicts that are searched from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import SupportsInt, TypeAlias

Key: TypeAlias = tuple[SupportsInt, SupportsInt]


def weave(runs: list[list[float]]) -> list[tuple[int, int]]:
    """Merge runs in time order: return each element's stream and its number in that stream."""
    everything = [(time, s, n) for s, run in enumerate(runs) for n, time in enumerate(run)]
    return [(s, n) for _, s, n in sorted(everything)]


@dataclass(eq=False)
class Place:
    """A place in a queue: of a row, or of one still to come (no row yet)."""

    time: int
    row: int | None = None


@dataclass
class NaiveQueue:
    """One stream's rows in time order; among equal times in the order in which they came."""

    places: list[Place] = field(default_factory=list)

    def add(self, time: int) -> Place:
        place = Place(time)
        after = sum(other.time <= time for other in self.places)
        self.places.insert(after, place)
        return place

    @property
    def rows(self) -> list[int]:
        return [place.row for place in self.places if place.row is not None]

    def oldest(self, before: Place | None = None) -> int | None:
        end = len(self.places) if before is None else self.places.index(before)
        return next((p.row for p in self.places[:end] if p.row is not None), None)


@dataclass
class NaiveHeap:
    """Rows of which the one with the least (key, arrival number) is wanted."""

    rows: dict[int, tuple[float, int]] = field(default_factory=dict)

    def lowest(self) -> int | None:
        return min(self.rows, key=self.rows.__getitem__, default=None)


@dataclass
class NaiveIndex:
    """Rows by key and stream, the one that came last first."""

    chains: dict[Key, list[list[int]]] = field(default_factory=dict)
    streams: int = 2

    def link(self, key: Key, stream: int, row: int) -> None:
        chains = self.chains.setdefault(key, [[] for _ in range(self.streams)])
        chains[stream].insert(0, row)

    def unlink(self, key: Key, stream: int, row: int) -> None:
        self.chains[key][stream].remove(row)

    def live(self) -> set[Key]:
        return {key for key, chains in self.chains.items() if any(chains)}


@dataclass
class NaiveGrid:
    """One stream's rows with their grades: the lowest is found by looking at all of them.

    `ranks` and `rises` are by (grade, age in parts): which rows are worth least, and where rows
    gain by growing older.
    """

    span: int
    ages: int
    now: int = 0
    rows: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    ranks: dict[tuple[int, int], int] = field(default_factory=dict)
    rises: dict[tuple[int, int], bool] = field(default_factory=dict)

    def enter(self, row: int, time: int, number: int, grade: int) -> None:
        self.rows[row] = (time, number, grade, self.part_of(time))

    def part_of(self, time: int) -> int:
        """Return the part of time in which a row counts: not older than all ages, not ahead."""
        return min(max(time // self.span, self.now - self.ages + 1), self.now)

    def turn(self, now: int) -> None:
        self.now = now
        for row, (time, number, grade, part) in self.rows.items():
            self.rows[row] = (time, number, grade, max(part, now - self.ages + 1))

    def grade(self, grades: dict[int, int]) -> None:
        """Put all rows in again."""
        for row, grade in grades.items():
            time, number, _, _ = self.rows[row]
            self.enter(row, time, number, grade)

    def order(self, row: int) -> tuple[int, int]:
        return self.rows[row][:2]

    def cell(self, row: int) -> tuple[int, int]:
        _, _, grade, part = self.rows[row]
        return grade, self.now - part

    def lowest(self) -> int | None:
        if not self.rows:
            return None
        cell = min(map(self.cell, self.rows), key=self.ranks.__getitem__)
        inside = sorted((row for row in self.rows if self.cell(row) == cell), key=self.order)
        return inside[-1 if self.rises[cell] else 0]

    def is_lower(self, time: int, grade: int) -> bool:
        """Return whether an arrival would go before the lowest row."""
        lowest = self.lowest()
        assert lowest is not None
        mine, other = (grade, self.now - self.part_of(time)), self.cell(lowest)
        return self.rises[mine] if mine == other else self.ranks[mine] < self.ranks[other]
