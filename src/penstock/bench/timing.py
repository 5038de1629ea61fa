"""How runs are timed: contestants take turns, and the median of many turns counts."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")
U = TypeVar("U")

Say: TypeAlias = "Callable[[str], None]"
Clock: TypeAlias = "Callable[[], float]"

# Seconds of processor time, of all threads of this process: what other programs on the machine
# take is not counted, and an arrival per second of it is an arrival per second and core.
CLOCK: Clock = time.process_time


@dataclass(frozen=True)
class Spread:
    """A figure that was measured several times.

    >>> Spread.of([3.0, 1.0, 2.0])
    Spread(median=2.0, least=1.0, most=3.0)
    """

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of measured values."""
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits: int = 2) -> str:
        """Return the median, and in brackets the least and the greatest value."""
        median, least, most = (
            f"{value:,.{digits}f}" for value in (self.median, self.least, self.most)
        )
        return f"{median} ({least} to {most})"


@dataclass(frozen=True)
class Timed(Generic[T]):
    """One run: how many seconds it took, and what was kept of its result."""

    seconds: float
    kept: T


def timed(run: Callable[[], T], keep: Callable[[T], U], clock: Clock = CLOCK) -> Timed[U]:
    """Time one run, without the time that `keep` takes and that the result takes to be freed."""
    start = clock()
    result = run()
    seconds = clock() - start
    return Timed(seconds, keep(result))


def take_turns(
    contestants: Mapping[str, Callable[[], T]],
    keep: Callable[[T], U],
    rounds: int,
    say: Say,
) -> dict[str, list[Timed[U]]]:
    """Run A, B, A, B, ... so that a slow moment of the machine hits all of them.

    A first round is not counted: it compiles, and gets memory from the system.
    """
    turns: dict[str, list[Timed[U]]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        say(f"round {number} of {rounds}" if number else "warm-up")
        for name, run in contestants.items():
            gc.collect()
            turn = timed(run, keep)
            if number:
                turns[name].append(turn)
    return turns


def seconds(turns: Sequence[Timed[U]]) -> list[float]:
    """Return the times of the turns."""
    return [turn.seconds for turn in turns]


def ratios(dividends: Sequence[float], divisors: Sequence[float]) -> Spread:
    """Divide round by round, so that both sides of each ratio were measured side by side."""
    return Spread.of([a / b for a, b in zip(dividends, divisors, strict=True)])
