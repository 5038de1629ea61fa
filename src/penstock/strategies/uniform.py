"""UNIFORM: every result with the same chance, independently of all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal, LearningGoal, Sample
from penstock.statistics.sampling_fraction import solve_fraction
from penstock.statistics.sampling_memory import (
    uniform_share,
    uniform_share_at_random,
    uniform_share_by_age,
)
from penstock.strategies.age import Age
from penstock.strategies.base import SamplingStrategy
from penstock.strategies.prob import Prob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.strategies.base import Population

Floats = npt.NDArray[np.float64]

# "bound" is this many deviations of a Poisson number, and one, above its mean.
_DEVIATIONS = 2.0


@dataclass(frozen=True)
class Uniform(SamplingStrategy):
    """Draw results one by one; keep a tuple only while a match of it is still wanted.

    A tuple skips from one chosen match to the next, and leaves when that is beyond the matches
    that it can expect, n(s): given with the tuple, or learnt, from its value's frequency or from
    the age curve, whichever predicts better. If n(s) is too low, its last results are never
    chosen, and totals come out too low; if it is too high, tuples wait for nothing.

    Parameters
    ----------
    rounding
        Of n(s), where it is learnt: "down", "up", "random", or "bound", n + 2 sqrt(n) + 1 rounded
        up: of Poisson numbers of matches, 0.4 % or less lie beyond it.
    parts
        Into which a tuple's life is divided: the granularity of the age curve.

    References
    ----------
    Fig. 4 of `srivastava04` 4.2.1, the fraction from Theorems 4.2 and 4.3. Departs from it in the
    rounding, which it leaves open (n(s) = r W f is a mean, and no whole number), and in that the
    fraction falls when chance fills memory: choices that were made are thinned.

    Examples
    --------
    >>> uniform = Uniform(rounding="up")
    >>> uniform.limits(np.array([0.3, 2.0, 2.1]), np.array([0.5, 0.5, 0.5])).tolist()
    [1.0, 2.0, 3.0]
    """

    name: ClassVar[str] = "uniform"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    needs_curve: ClassVar[bool] = True
    needs_frequencies: ClassVar[bool] = True
    by_match: ClassVar[bool] = True
    rounding: str = "bound"
    parts: int = 32

    @classmethod
    def of(cls, goal: Goal) -> Uniform:
        """Take the rounding and the granularity from the goal."""
        parts = goal.parts if isinstance(goal, LearningGoal) else cls.parts
        return cls(goal.rounding if isinstance(goal, Sample) else cls.rounding, parts)

    @property
    def experts(self) -> tuple[Age, Prob]:
        """The models from which n(s) is taken."""
        return Age(self.parts), Prob(self.parts)

    def limits(self, matches: Floats, draws: Floats) -> Floats:
        """Give n(s) as whole numbers.

        Parameters
        ----------
        matches
            To be expected of each tuple.
        draws
            A random number in [0, 1) for each.
        """
        if self.rounding == "down":
            return np.floor(matches)
        if self.rounding == "up":
            return np.ceil(matches)
        if self.rounding == "random":
            return np.floor(matches + draws)
        return np.ceil(matches + _DEVIATIONS * np.sqrt(matches) + 1.0)

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Give p by Theorem 4.2, or 4.3 where the age model is followed."""

        def held(fraction: float) -> float:
            return sum(self._held(fraction, each) for each in populations)

        if least > 0 and held(min(least, 1.0)) > rows:
            return 0.0
        return solve_fraction(rows, held)

    def _held(self, fraction: float, alive: Population) -> float:
        if not alive.tuples:
            return 0.0
        middle = np.full(alive.sizes.size, 0.5)
        limits = self.limits(alive.sizes, middle)
        if alive.is_exact:
            # Of n matches that come at random, the i-th comes at i / (n + 1) of a life on average.
            sooner = alive.sizes / (alive.sizes + 1.0)
            shares = uniform_share(fraction, alive.sizes) * sooner
        elif alive.cumulative.size:
            shares = uniform_share_by_age(fraction, alive.cumulative, limits)
        else:
            shares = uniform_share_at_random(fraction, alive.sizes, limits)
        return alive.tuples * float(np.sum(alive.shares * shares))
