"""The three ways of sampling a join of `srivastava04` 4, one row after another, on a list.

Each samples the results of one window, those that its rows give when a partner comes: the
S1-probe join tuples. The other window is the same with the streams exchanged. Times never fall; a
row is alive while its age is at most the window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

Rounding = Literal["down", "up", "random"]


@dataclass(eq=False)
class Held:
    """A row s1 in the window."""

    time: float
    value: Any
    weight: float = 1.0  # one over the chance of its results to be in the sample
    limit: float = math.inf  # n_1(s1), the number of its matches
    num: int = 0  # matches until now
    next: int = 0  # number of the match that is the next one in the sample


@dataclass
class NaiveSampling:
    """A window of S1 and the sample of its results: (s1, s2's time)."""

    window: float
    generator: np.random.Generator
    held: list[Held] = field(default_factory=list)
    sample: list[tuple[Held, float]] = field(default_factory=list)

    def arrive(self, time: float, value: Any) -> None:  # noqa: ANN401 -- values of any kind
        """Let a row come on S1."""
        self.expire(time)
        self.admit(Held(time, value))

    def probe(self, time: float, value: Any) -> None:  # noqa: ANN401 -- values of any kind
        """Let a row come on S2, and join it with those of S1 that have its value."""
        self.expire(time)
        for s1 in list(self.held):
            if s1.value == value:
                self.join(s1, time)

    def expire(self, time: float) -> None:
        self.held = [s1 for s1 in self.held if time - s1.time <= self.window]

    def admit(self, s1: Held) -> None:
        raise NotImplementedError

    def join(self, s1: Held, time: float) -> None:
        """Cluster sampling: a row that is held is held for all of its results."""
        self.sample.append((s1, time))


@dataclass
class NaiveUniform(NaiveSampling):
    """UNIFORM: Fig. 4 line by line; `matches` says n_1 of a value, rounded for each row."""

    fraction: float = 1.0
    matches: Callable[[Any], float] = field(default=lambda _: math.inf)
    rounding: Rounding = "down"

    def admit(self, s1: Held) -> None:
        s1.weight = 1 / self.fraction
        self.held.append(s1)
        s1.limit = self.rounded(self.matches(s1.value))
        self.decide_next_join(s1)

    def rounded(self, number: float) -> float:
        if math.isinf(number):
            return number
        down = math.floor(number)
        if self.rounding == "down":
            return down
        if self.rounding == "up":
            return math.ceil(number)
        return down + int(self.generator.random() < number - down)

    def decide_next_join(self, s1: Held) -> None:
        x = int(self.generator.geometric(self.fraction))
        s1.next = s1.num + x
        if s1.next > s1.limit:
            self.held.remove(s1)

    def join(self, s1: Held, time: float) -> None:
        s1.num += 1
        if s1.num == s1.next:
            self.sample.append((s1, time))
            self.decide_next_join(s1)


@dataclass
class NaiveEqCluster(NaiveSampling):
    """EQ-CLUSTER (Strategy 2): each row is kept until expiry with the same chance."""

    fraction: float = 1.0

    def admit(self, s1: Held) -> None:
        if self.generator.random() < self.fraction:
            s1.weight = 1 / self.fraction
            self.held.append(s1)


@dataclass
class NaivePpsCluster(NaiveSampling):
    """PPS-CLUSTER (Strategy 3): kept with a chance in proportion to `matches`, at most 1."""

    factor: float = 1.0
    matches: Callable[[Any], float] = field(default=lambda _: 1.0)

    def admit(self, s1: Held) -> None:
        chance = min(1.0, self.factor * self.matches(s1.value))
        if self.generator.random() < chance:
            s1.weight = 1 / chance
            self.held.append(s1)
