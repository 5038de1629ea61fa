"""UNIFORM: every result with the same chance, independently of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.errors import SpecificationError, must
from penstock.goals import Goal, Sample
from penstock.statistics.sampling_fraction import solve_fraction
from penstock.statistics.sampling_memory import (
    uniform_share,
    uniform_share_at_random,
    uniform_share_by_age,
    uniform_variance,
)
from penstock.strategies.age import Age
from penstock.strategies.base import Floats, Needs
from penstock.strategies.prob import Prob
from penstock.strategies.sampled_steps import Expecting, steps_by_match
from penstock.strategies.sampling import CHANCE_OF_MORE, Population, SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.costs import Costs
    from penstock.strategies.sampled_steps import SampledSteps
    from penstock.strategies.view import Rows, View, WorkView

_COSTS = ("results", "probes")
_ROUNDINGS = ("bound", "up", "down", "random")
_ARRIVALS = ("poisson", "even")
# A normal number is above its mean by this many deviations with that chance.
_BEYOND = NormalDist().inv_cdf(1.0 - CHANCE_OF_MORE)
# "bound" is this many deviations of a Poisson number, and one, above its mean.
_DEVIATIONS = 2.0
# Matches that are taken to come while nothing is known. Without bound no row would leave, and the
# fraction would fall to nothing once memory is full.
_UNKNOWN = 8.0


@dataclass(frozen=True, kw_only=True)
class Uniform(SamplingStrategy):
    """Draw results one by one; keep a row only while a match of it is still wanted.

    A row skips from one chosen match to the next, and leaves when that is beyond the matches that
    it can expect, n(s): given with the row, or learned, from its key's frequency or from the age
    curve, whichever predicts better. If n(s) is too low, its last results are never chosen, and
    totals come out too low; if it is too high, rows wait for nothing.

    Parameters
    ----------
    rounding
        How n(s) is rounded where it is learned: "down", "up" or "random"; or "bound", which is
        n + 2 sqrt(n) + 1 rounded up. At most 0.4 % of Poisson numbers of matches lie beyond that.
    cost
        What is charged where work is limited. "results" charges results and comparisons what they
        cost; "probes", the conservative cost, charges each row that is compared as a result.
    arrivals
        How rows arrive. The fraction is chosen so that the rows that are held nearly always fit in
        memory. "poisson": independently, so that their number varies as a Poisson number. "even":
        at a constant pace, so that it varies less, by UNIFORM's own variance.

    References
    ----------
    Fig. 4 of `srivastava04` 4.2.1, the fraction from Theorems 4.2 and 4.3; where work is limited,
    from equations 18 to 25 of `ayad05` 4.1. Departs from these in the rounding, which they leave
    open (n(s) = r W f is a mean, and no whole number), and in that the fraction falls when chance
    fills memory or brings more work than is allowed: choices that were made are thinned.

    Examples
    --------
    >>> uniform = Uniform(rounding="up")
    >>> uniform.limits(np.array([0.3, 2.0, 2.1]), np.array([0.5, 0.5, 0.5])).tolist()
    [1.0, 2.0, 3.0]
    """

    name: ClassVar[str] = "uniform"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    # n(s) is taken from the better of the two models.
    needs: ClassVar[Needs] = Needs(
        curves=True,
        frequencies=True,
        matches=True,
        match_rates=True,
        given_matches=True,
        key_sample=1024,
        models=(Age(), Prob()),
    )
    by_match: ClassVar[bool] = True
    rounding: str = "bound"
    cost: str = "results"
    arrivals: str = "poisson"

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name, known in (("cost", _COSTS), ("rounding", _ROUNDINGS), ("arrivals", _ARRIVALS)):
            given = getattr(self, name)
            if given not in known:
                words = ", ".join(f'"{each}"' for each in known)
                raise SpecificationError(
                    must(f"{name} of Uniform", f"one of {words}", given, "leave it out")
                )

    def limits(self, matches: Floats, draws: Floats) -> Floats:
        """Return n(s) as whole numbers.

        Parameters
        ----------
        matches
            To be expected of each row.
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

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return n(s): as it is given, or as it can be expected."""
        if rows.given_matches is not None:
            return rows.given_matches
        matches = self._matches(view, rows.stream, rows.matches_per_time)
        return self.limits(matches, rows.draws())

    def _matches(self, view: View, s: int, per_time: Floats) -> Floats:
        """Return how many matches rows can expect.

        Until it is clear which model is right, the more of both: too few would lose results.
        """
        by_age = view.streams[s].outlook.curve.total or np.nan
        by_key = per_time * view.streams[s].life
        if view.is_decided and not np.isnan(by_age):
            matches = by_key if self._follows_keys(view) else np.full(by_key.size, by_age)
        else:
            matches = np.fmax(by_key, by_age)
        return np.nan_to_num(matches, nan=_UNKNOWN)

    def charged(self, costs: Costs) -> Costs:
        """Return the costs, or the conservative ones: equation 25 or 23 of `ayad05`."""
        if self.cost == "results":
            return costs
        return replace(costs, compare=costs.compare + costs.result, result=0.0)

    def steps(self, view: View, work: WorkView) -> Callable[[float], SampledSteps]:
        """Return the steps that a fraction takes: equations 18 to 22 of `ayad05`."""
        streams = range(len(view.streams))
        return steps_by_match(work, [self._expecting(view, work, s) for s in streams])

    def _expecting(self, view: View, work: WorkView, s: int) -> Expecting:
        given = view.streams[s].given_matches
        if given is not None and given.size:
            matches, times = np.unique(np.floor(given), return_counts=True)
            rates = work.rates[s] * times / times.sum()
            return Expecting(rates, matches, matches, is_exact=True)
        known = work.grades[s, :, 0] > 0
        rates, expected = work.grades[s, known].T
        matches = expected / rates * work.lives[s]
        return Expecting(rates, matches, self.limits(matches, np.full(rates.size, 0.5)))

    def _population(self, view: View, s: int) -> Population:
        stream = view.streams[s]
        rows, alone, none = stream.rate * stream.life, np.ones(1), np.zeros(0)
        if stream.given_matches is not None and stream.given_matches.size:
            given, times = np.unique(stream.given_matches, return_counts=True)
            return Population(rows, given, times / times.sum(), none, is_exact=True)
        if view.is_decided and not self._follows_keys(view):
            curve = stream.outlook.curve
            return Population(rows, alone * curve.total, alone, curve.cumulative())
        if stream.keys is None:
            return self._population_in_memory(view, s)
        sizes = self._matches(view, s, stream.keys.matches_per_time)
        return Population(rows, sizes, stream.keys.rows / stream.keys.rows.sum(), none)

    def mean_rows(self, room: float) -> float:
        """Return the mean for Poisson arrivals; for even ones `fraction` takes all room."""
        return room if self.arrivals == "even" else super().mean_rows(room)

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Solve Theorem 4.2 for p, or 4.3 where the age model is followed."""

        def held(fraction: float) -> float:
            mean = sum(self._held(fraction, each) for each in populations)
            if self.arrivals == "poisson":
                return mean
            variance = sum(self._variance(fraction, each) for each in populations)
            return mean + _BEYOND * math.sqrt(variance)

        if least > 0 and held(min(least, 1.0)) > rows:
            return 0.0
        return solve_fraction(rows, held)

    def _held(self, fraction: float, alive: Population) -> float:
        """Return how many rows are held on average."""
        if not alive.rows:
            return 0.0
        return alive.rows * float(np.sum(alive.shares * self._shares(fraction, alive)))

    def _variance(self, fraction: float, alive: Population) -> float:
        """Return the variance of that if rows arrive at an even pace."""
        if not alive.rows:
            return 0.0
        if alive.cumulative.size:  # matches are at fixed ages

            def shares_with(chance: Floats) -> Floats:
                return self._shares(float(chance), alive)

            parts = uniform_variance(fraction, shares_with)
        else:
            shares = self._shares(fraction, alive)
            parts = shares * (1.0 - shares)
        return alive.rows * float(np.sum(alive.shares * parts))

    def _shares(self, fraction: float, alive: Population) -> Floats:
        """Return for how much of its life a row of each size is held."""
        limits = self.limits(alive.sizes, np.full(alive.sizes.size, 0.5))
        if alive.is_exact:
            # Of n matches that come at random, the i-th comes at i / (n + 1) of a life on average.
            sooner = alive.sizes / (alive.sizes + 1.0)
            return uniform_share(fraction, alive.sizes) * sooner
        if alive.cumulative.size:
            return uniform_share_by_age(fraction, alive.cumulative, limits)
        return uniform_share_at_random(fraction, alive.sizes, limits)
