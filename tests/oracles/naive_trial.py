"""Twin of `engine.kernels.trial_memory`: lists that are sorted, and every pair looked at."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Ghost:
    """A row of which only the key, the time and what was expected of it are kept."""

    stream: int
    time: float
    key: int
    likely: float
    matters: float
    draw: float
    number: int
    matches: int = 0


@dataclass
class Candidate:
    """A way to score rows, and the ghosts that it holds."""

    worth: list[list[float]]  # by stream and part of a life
    belief: float
    held: list[Ghost] = field(default_factory=list)
    found: float = 0.0


@dataclass
class NaiveTrial:
    """Memories on trial, of fewer than 16 ghosts each: the lowest leaves at every arrival."""

    candidates: list[Candidate]
    windows: tuple[float, float]
    spans: tuple[float, float]
    due: list[list[float]]
    room: int
    most: int
    rate: float = 1.0
    now: float = -float("inf")
    ghosts: list[Ghost] = field(default_factory=list)
    likely: dict[tuple[int, int], float] = field(default_factory=dict)
    number: int = 0

    def score(self, candidate: Candidate, ghost: Ghost) -> float:
        """Return the score of a ghost."""
        parts = len(self.due[ghost.stream]) - 2
        age = min(max((self.now - ghost.time) / self.spans[ghost.stream], 0.0), parts)
        score = candidate.worth[ghost.stream][int(age)] * ghost.matters
        if candidate.belief < 0:
            return score
        if candidate.belief == float("inf"):
            return score * self.likely[ghost.key, ghost.stream]
        due = self.due[ghost.stream]
        expected = due[int(age)] + (due[int(age) + 1] - due[int(age)]) * (age - int(age))
        believed = candidate.belief / ghost.likely + expected
        return score * (candidate.belief + ghost.matches) / believed

    def take(
        self, stream: int, time: float, key: int, draw: float, likely: float, matters: float
    ) -> None:
        """Take an arrival through all memories."""
        self.now = max(self.now, time)
        self.keep([g for g in self.ghosts if self.now - g.time <= self.windows[g.stream]])
        for ghost in self.ghosts:
            if ghost.key == key and ghost.stream != stream:
                ghost.matches += 1
        for candidate in self.candidates:
            partners = [g for g in candidate.held if g.key == key and g.stream != stream]
            candidate.found += sum(g.matters for g in partners) / self.rate
        while len(self.ghosts) >= self.most and draw < self.rate:
            self.rate /= 2
            self.keep([g for g in self.ghosts if g.draw < self.rate])
        if draw >= self.rate:
            return
        if not any(g.key == key for g in self.ghosts):
            self.likely[key, 0] = self.likely[key, 1] = 1.0
        self.likely[key, stream] = likely
        ghost = Ghost(stream, time, key, likely, matters, draw, self.number)
        self.number += 1
        self.ghosts.append(ghost)
        for candidate in self.candidates:
            candidate.held.append(ghost)
            while len(candidate.held) > max(1.0, self.room * self.rate):
                candidate.held.remove(
                    min(candidate.held, key=lambda g: (self.score(candidate, g), g.number))
                )

    def keep(self, ghosts: list[Ghost]) -> None:
        """Forget all other ghosts."""
        self.ghosts = ghosts
        for candidate in self.candidates:
            candidate.held = [g for g in candidate.held if g in ghosts]
