"""What results stand for, and the variance of their sum, from all pairs of results."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product


@dataclass(frozen=True)
class Chances:
    """With which a row is admitted, and then probes and is inserted."""

    admit: float
    probe: float
    insert: float

    @property
    def probes(self) -> float:
        return self.admit * self.probe

    @property
    def inserted(self) -> float:
        return self.admit * self.insert


@dataclass
class NaiveMeter:
    """Keeps every result that was found: its arrival and the rows that waited."""

    chances: dict[int, Chances] = field(default_factory=dict)
    results: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def chance(self, result: tuple[int, tuple[int, ...]]) -> float:
        arrival, waiting = result
        chance = self.chances[arrival].probes
        for row in waiting:
            chance *= self.chances[row].inserted
        return chance

    @property
    def total(self) -> float:
        return sum(1 / self.chance(each) for each in self.results)

    def _common(
        self, one: tuple[int, tuple[int, ...]], other: tuple[int, tuple[int, ...]]
    ) -> list[float]:
        """Return the chance of each common row to take both of its steps, given one of them."""
        kept = []
        for row in {one[0], *one[1]} & {other[0], *other[1]}:
            chances = self.chances[row]
            arrives = [row == each[0] for each in (one, other)]
            if all(arrives):
                kept.append(chances.probes)
            elif any(arrives):
                kept.append(chances.admit)
            else:
                kept.append(chances.inserted)
        return kept

    def variance(self, *, by_rows: bool) -> float:
        """Return the variance; exact, or with pairs of results counted once for each common row."""
        variance = 0.0
        for one, other in product(self.results, repeat=2):
            kept = self._common(one, other)
            missed = sum(1 - each for each in kept)
            if one == other or not by_rows:
                missed = 1.0
                for each in kept:
                    missed *= each
                missed = 1 - missed
            variance += missed / (self.chance(one) * self.chance(other))
        return variance

    @property
    def fourth(self) -> float:
        """Sum of the squares of the rows' parts, where rows have one draw each."""
        parts = 0.0
        for row, chances in self.chances.items():
            total = sum(
                1 / self.chance(each) for each in self.results if row in (each[0], *each[1])
            )
            parts += ((1 - chances.admit) * total**2) ** 2
        return parts
