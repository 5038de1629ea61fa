"""What a strategy is: statistics observe, a strategy decides, the engine acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.goals import Goal
    from penstock.statistics.outlook import Outlook

Floats = npt.NDArray[np.float64]


class Evict(Enum):
    """Step 5: which row of a stream leaves when room is needed."""

    OLDEST = "oldest"
    LOWEST = "lowest"  # priority; among equals the one that came first
    BY_SCORE = "by score"  # what is expected of it, times what its age is worth
    BY_LOT = "by lot"  # who is least likely to be in the sample; others' chances are known
    BY_RESIDENCE = "by residence"  # priority: importance times matches per age, less a penalty


@dataclass(frozen=True)
class Residence:
    """How rows leave by residence priority; parts of a window are of the row's own stream.

    Attributes
    ----------
    maturity
        tau, windows: no row that is not older leaves while there is another.
    unproductivity
        Delta, windows: who had no match for so long is penalised.
    penalty
        c: for each window since the last match.
    decay
        d, per window.
    recompute
        "successive", "k-successive" or "adaptive".
    every
        k: decisions that go by one computation of priorities.
    tolerance
        epsilon: relative change of quality.
    """

    maturity: float
    unproductivity: float
    penalty: float
    decay: float
    recompute: str
    every: int
    tolerance: float


@dataclass(frozen=True)
class Settings:
    """What the engine acts on until the strategy decides anew.

    Attributes
    ----------
    evict
        Which row leaves.
    shares
        The part of the budget that each stream may claim when memory is short; they add up to 1.
        What one stream leaves unused the others may use.
    favours_old
        Whether a newcomer with the lowest priority, or one as low as the lowest, is turned away.
    residence
        If rows leave by residence priority: how it is computed.
    """

    evict: Evict
    shares: tuple[float, ...]
    favours_old: bool = False
    residence: Residence | None = None


@dataclass(frozen=True)
class Arriving:
    """The tuples of one stream that are about to arrive, in time order.

    Attributes
    ----------
    stream
        Index of the stream.
    times
        Their times, in the join's unit.
    draws
        A function that gives each a random number in [0, 1), drawn from the seed and the tuple's
        own identity; for strategies that say they draw.
    importance
        How much each matters, if that is what the goal is about.
    """

    stream: int
    times: npt.NDArray[np.generic]
    draws: Callable[[], npt.NDArray[np.float64]]
    importance: Floats | None = None


def equal_shares(streams: int) -> tuple[float, ...]:
    """Divide the budget equally, as a strategy does that knows nothing of the streams.

    >>> equal_shares(2)
    (0.5, 0.5)
    """
    return (1.0 / streams,) * streams


class Strategy(ABC):
    """One named algorithm: what it does at the steps that it changes.

    A strategy has no state of its own: it is made once per join, and the same input always leads
    it to the same decision.
    """

    name: ClassVar[str]
    serves: ClassVar[tuple[type[Goal], ...]]
    draws: ClassVar[bool] = False  # whether it needs random numbers
    by_importance: ClassVar[bool] = False  # whether it matters how much tuples matter
    counts_matches: ClassVar[bool] = False  # whether it matters what rows have matched
    needs_curve: ClassVar[bool] = False  # how a tuple's results are spread over its life
    needs_frequencies: ClassVar[bool] = False  # of the values that it matches

    @abstractmethod
    def decide(self, streams: int) -> Settings:
        """Give the settings for a join of so many streams; called before the first tuple."""

    @classmethod
    def of(cls, goal: Goal) -> Strategy:
        """Make the strategy for a goal, with what the goal says of it."""
        del goal
        return cls()

    def priorities(self, arriving: Arriving) -> npt.NDArray[np.float64] | None:
        """Give each arriving tuple its priority; called before they arrive, once per batch.

        None, the default, is for strategies that do not evict by priority.
        """
        del arriving
        return None


@dataclass(frozen=True)
class Waiting:
    """Tuples of one stream that wait in memory.

    Attributes
    ----------
    ages
        In parts of a life.
    likeliness
        What the frequency of its key said of each when it came: 1 is the average.
    matches
        Results that each has given so far.
    """

    ages: Floats
    likeliness: Floats
    matches: Floats


# Octaves of weights that are told apart, below and above the average.
BELOW, ABOVE = 14, 6


class Expert(Protocol):
    """A model of the streams that predicts what tuples will match."""

    name: ClassVar[str]

    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give the results that each tuple will give in the next part of its life."""


class Learning(Strategy):
    """A strategy that learns of the streams.

    Where several models of the streams may be right, `experts` has one for each, and the one
    that predicts best is followed.
    """

    counts_matches: ClassVar[bool] = True
    parts: int  # into which a life is divided
    grades: int = 1  # into which tuples are put

    @property
    @abstractmethod
    def experts(self) -> tuple[Expert, ...]:
        """The models among which the one that predicts best is used."""


class ScoringStrategy(Learning):
    """A strategy that evicts by score: what is expected of a tuple, times its age's worth.

    It is asked anew for both as statistics change. A tuple's expectation is its weight: 1 on
    average, and known only roughly, so tuples are put into grades.
    """

    grades_per_octave: ClassVar[int] = 0  # into which weights are put; 0 if all are alike
    needs_fresh: ClassVar[bool] = False  # frequencies of today, not of when a tuple came

    @property
    def grades(self) -> int:  # type: ignore[override]
        """Into how many grades tuples are put."""
        return self.grades_per_octave * (BELOW + ABOVE) + 1

    def decide(self, streams: int) -> Settings:
        """Evict by score; share the budget equally until the streams are known."""
        return Settings(Evict.BY_SCORE, equal_shares(streams))

    @property
    def experts(self) -> tuple[ScoringStrategy, ...]:
        """The models among which the one that predicts best is used: this one alone."""
        return (self,)

    @abstractmethod
    def by_age(self, outlook: Outlook) -> Floats:
        """Give the worth of each age, from 0 to a whole life, in parts of it."""

    @abstractmethod
    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Give the results per part of time that it would make of so many rows."""

    @abstractmethod
    def expected(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give the results that each tuple will give in the next part of its life."""

    def weights(self, outlook: Outlook, tuples: Waiting) -> Floats:
        """Give what is expected of each tuple, by its key and its past; 1 is the average."""
        del outlook
        return np.ones(tuples.ages.size)


@dataclass(frozen=True)
class Population:
    """The tuples of one stream that are alive at a time, as far as they are known.

    Attributes
    ----------
    tuples
        How many there are.
    sizes, shares
        What is expected of them: sizes of clusters, or matches, and the share of the tuples that
        has each.
    cumulative
        Their age curve, added up: matches by each age. Where matches are chosen by the age model;
        else empty.
    is_exact
        Whether the sizes are not means but the very numbers of matches.
    """

    tuples: float
    sizes: Floats
    shares: Floats
    cumulative: Floats
    is_exact: bool = False


class SamplingStrategy(Learning):
    """A strategy that draws a sample: of tuples with all their matches, or of matches.

    Tuples are drawn with a chance of the sampling fraction, or of the fraction times their size.
    """

    by_match: ClassVar[bool] = False  # matches are drawn one by one
    by_size: ClassVar[bool] = False  # tuples are drawn by what is expected of them

    def decide(self, streams: int) -> Settings:
        """Evict by lot; there are no shares, as one fraction holds for all streams."""
        return Settings(Evict.BY_LOT, equal_shares(streams))

    @abstractmethod
    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Give the fraction with which so many rows are held on average.

        Where it is below `least`, any number that is will do: only a greater one is of use.
        """
