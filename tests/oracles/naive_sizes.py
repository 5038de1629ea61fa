"""The size of the exact join of equal keys, result by result, as the definition has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product


@dataclass
class NaiveSizes:
    """Keeps every row that has come; windows are those of the streams."""

    windows: list[int]
    rows: dict[int, list[list[float]]] = field(default_factory=dict)

    def results(self, stream: int, time: float, key: int) -> int:
        """Return how many results a row completes that arrives now, and keep it."""
        own = self.rows.setdefault(key, [[] for _ in self.windows])
        waiting = [[time] if s == stream else own[s] for s in range(len(self.windows))]
        found = 0
        for members in product(*waiting):
            newest = max(members)
            found += all(
                newest - member <= window
                for member, window in zip(members, self.windows, strict=True)
            )
        own[stream].append(time)
        return found
