"""What the kernels' structures do, as plain lists and dicts that are searched from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import SupportsInt, TypeAlias

Key: TypeAlias = tuple[SupportsInt, SupportsInt]


def weave(runs: list[list[float]]) -> list[tuple[int, int]]:
    """Merge runs in time order: give each element's stream and its number in that stream."""
    everything = [(time, s, n) for s, run in enumerate(runs) for n, time in enumerate(run)]
    return [(s, n) for _, s, n in sorted(everything)]


@dataclass(eq=False)
class Place:
    """A place in a queue: of a row, or of a tuple still to come (no row yet)."""

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
    """Rows of which the one with the least (priority, birth) is wanted."""

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
