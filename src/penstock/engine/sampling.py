"""What a sampling strategy makes of what was learnt: sizes, limits, and the sampling fraction.

The fraction falls by itself whenever memory is full, and results carry the chance that this leaves
them (`kernels.lots`). Here it is raised again, for the tuples to come, if by what is known of the
streams memory has room for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels import layout, lots
from penstock.engine.learning import Learner, lives_of
from penstock.goals import Sample
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.outlook import Outlook
from penstock.statistics.sampling_memory import mean_for
from penstock.strategies import Population, SamplingStrategy, Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store

# No size is below this: chances, and weights, stay within bounds whatever values come.
_LEAST_SIZE = 0.02
# Values from which the fraction is solved, and tuples whose matches were given.
_VALUES = 1024
_GIVEN = 1024
# Matches that are taken to come while nothing is known. Without bound nobody would leave, and the
# fraction would fall to nothing once memory is full.
_UNKNOWN = 8.0
# Memory is to be full with this chance at a time.
_CHANCE_OF_MORE = 0.05
# The fraction is raised only by this factor or more.
_WORTHWHILE = 1.01
# Bits of a draw that decide how a number of matches is rounded: not those that decide who is in.
_OTHER_BITS = 2.0**20

# Of one match in a whole life: predictions are compared in proportion.
_FLAT = Outlook(AgeCurve([1.0]), 1.0, np.ones(1), np.ones(1))


class Sampler(Learner):
    """Says what is expected of tuples that come, and solves the sampling fraction."""

    def __init__(
        self, plan: Plan, strategy: SamplingStrategy, store: Store, coder: KeyCoder, rows: int
    ) -> None:
        super().__init__(plan, strategy, store, coder, rows)
        self._strategy = strategy
        # Not the grids', which have a length also where rows need not wait.
        self._waits = [float(life) for life in lives_of(plan)]
        goal = plan.spec.goal
        wanted = goal.fraction if isinstance(goal, Sample) else None
        self._most = wanted or (1.0 if strategy.by_match else np.inf)
        given = (goal.matches if isinstance(goal, Sample) else None) or {}
        self._is_given = [side.name in given for side in plan.sides]
        self._given: list[Floats] = [np.zeros(0) for _ in plan.sides]  # of the latest tuples
        self._told: list[Floats] = [np.zeros(0) for _ in plan.sides]  # of this piece
        self._is_settled = False  # whether those that came first have their limits
        rule = store.memory.rule
        rule["by_match"] = strategy.by_match
        rule["by_size"] = strategy.by_size
        rule["fraction"] = self._most

    # --- Tuples that come

    def _begin(self) -> None:
        """Nothing is to be ready: memory is empty, and everyone is taken in."""

    def _meet(self, s: int, arrivals: Array, mine: Array, likely: Floats) -> None:
        """Say what is expected of tuples: sizes of their clusters, or numbers of matches."""
        if not self._strategy.by_match:
            arrivals["priority"][mine["at"]] = self._sizes(s, likely)
            return
        if self._is_given[s]:
            # The loop puts something else there.
            self._told[s] = arrivals["priority"][mine["at"]]
            return
        draws = np.mod(arrivals["draw"][mine["at"]] * _OTHER_BITS, 1.0)
        matches = self._matches(s, mine["value"], mine["key_word"])
        arrivals["priority"][mine["at"]] = self._limits(matches, draws)

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Note who came."""
        super().end_piece(arrivals, at, stop)
        for s in (s for s, given in enumerate(self._is_given) if given):
            came = int(np.searchsorted(self._coming[s][0]["at"], stop))
            self._given[s] = np.concatenate([self._given[s], self._told[s][:came]])

    def _sizes(self, s: int, likely: Floats) -> Floats:
        """Give sizes of clusters on one scale for all streams: 1 is the average of the largest."""
        scales = [self._rate_of_others(o) * life for o, life in enumerate(self._waits)]
        scale = scales[s] / max(scales) if max(scales) > 0 else 1.0
        return np.maximum(likely * scale, _LEAST_SIZE)

    def _matches(self, s: int, values: Array, words: Integers) -> Floats:
        """Give how many matches tuples can expect.

        Until it is clear which model is right, the more of both: too few would lose results.
        """
        by_age = self._outlooks[s].curve.total or np.nan
        by_value = np.full(values.size, np.nan)
        if self._rates.elapsed and self._likeliness is not None:
            rates = [self._rates.of(o) for o in range(self._turned.size)]
            by_value = self._likeliness.per_time(s, values, words, rates)
            by_value *= self._waits[s]
        if self.evidence.is_decided and not np.isnan(by_age):
            matches = by_value if self._follows_values else np.full(values.size, by_age)
        else:
            matches = np.fmax(by_value, by_age)
        return np.nan_to_num(matches, nan=_UNKNOWN)

    def _set_unknown_limits(self, s: int) -> None:
        """Say what is expected of rows that came when nothing was known: of all that there are."""
        memory = self._store.memory
        rows = self._store.in_queue(s)
        if not rows.size or self._is_given[s]:
            return
        words = memory.slots[memory.rows["slot"][rows], layout.KEY_WORD]
        matches = self._matches(s, memory.rows["value"][rows], words)
        limits = self._limits(matches, np.full(rows.size, 0.5))
        memory.odds["limit"][rows] = np.minimum(limits, layout.NO_MATCH - 1)

    def _limits(self, matches: Floats, draws: Floats) -> Floats:
        limits: Floats = self._strategy.limits(matches, draws)  # type: ignore[attr-defined]
        return limits

    @property
    def _follows_values(self) -> bool:
        return self._experts[self.evidence.followed].name in ("prob", "pps-cluster")

    def _rate_of_others(self, s: int) -> float:
        rates = [self._rates.of(o) for o in range(self._turned.size) if o != s]
        return float(np.prod(rates))

    def _said_of(self, rows: Array, entries: Array) -> Floats:
        """Give what was known of watched rows' keys when their stream's grid last turned.

        The rows themselves only know what they have drawn, which is not above 0.
        """
        del rows
        return np.maximum(entries["likeliness"], 0.0)

    # --- The fraction

    def _turn_over(self, s: int, steps: int, *, changed: bool) -> None:
        """Solve the fraction anew, a few times in the longest life."""
        del changed
        if self._is_time_to_divide(s, steps):
            self._solve()

    def _review(self) -> None:
        """Take in what has become known of the tuples that came first."""
        self._given = [given[-_GIVEN:] for given in self._given]
        if self._strategy.by_match and not self._is_settled and self._rates.elapsed:
            for s in range(self._turned.size):
                self._set_unknown_limits(s)
            self._is_settled = True

    def _solve(self) -> None:
        """Raise the fraction if memory would hold more on average."""
        memory = self._store.memory
        if len(self._experts) > 1 and not self._strategy.by_match:
            self._compare_sizes()
            memory.rule["by_size"] = self._follows_values
        followed = self._experts[self.evidence.followed]
        solver = followed if isinstance(followed, SamplingStrategy) else self._strategy
        populations = [self._population(s) for s in range(self._turned.size)]
        if not any(each.tuples > 0 for each in populations):
            return
        rows = mean_for(self._limit - int(memory.rule["quota"][0]), _CHANCE_OF_MORE)
        least = _WORTHWHILE * float(memory.rule["fraction"][0])
        if least >= self._most:
            return
        fraction = min(solver.fraction(rows, populations, least), self._most)
        if fraction > least:
            lots.note_fraction(memory)
            memory.rule["fraction"] = fraction

    def _population(self, s: int) -> Population:
        """Give what is known of a stream's tuples that are alive at a time."""
        tuples = self._rates.of(s) * self._waits[s]
        alone = np.ones(1)
        none = np.zeros(0)
        if self._strategy.by_match:
            if self._is_given[s] and self._given[s].size:
                given, times = np.unique(self._given[s], return_counts=True)
                return Population(tuples, given, times / times.sum(), none, is_exact=True)
            if self.evidence.is_decided and not self._follows_values:
                curve = self._outlooks[s].curve
                return Population(tuples, alone * curve.total, alone, curve.cumulative())
        elif not self._follows_values:
            return Population(tuples, alone, alone, none)
        return self._population_of_values(s, tuples)

    def _population_of_values(self, s: int, tuples: float) -> Population:
        """Give it from the counts of values; from the rows in memory where there are none."""
        values = None if self._likeliness is None else self._likeliness.values(s, _VALUES)
        if values is None or self._likeliness is None:
            return self._population_of_rows(s, tuples)
        keys, counts = values
        shares = counts / counts.sum()
        if self._strategy.by_match:
            sizes = self._matches(s, keys, keys)
        else:
            sizes = self._sizes(s, self._likeliness.of(s, keys, keys))
        return Population(tuples, sizes, shares, np.zeros(0))

    def _population_of_rows(self, s: int, tuples: float) -> Population:
        """Give it from the rows in memory, each for as many as it stands for."""
        rows = self._store.in_queue(s)
        if not rows.size:
            return Population(tuples, np.ones(1), np.ones(1), np.zeros(0))
        weights = 1.0 / self._chances(rows)
        expected = self._store.memory.odds["expected"][rows]
        return Population(tuples, expected, weights / weights.sum(), np.zeros(0))

    def _compare_sizes(self) -> None:
        """Compare what was said of the rows in memory with what they have matched so far.

        In proportion: how many matches there are in all, both take from what came.
        """
        memory = self._store.memory
        predicted: list[list[Floats]] = [[] for _ in self._experts]
        came, weights = [], []
        for s in range(self._turned.size):
            rows = self._store.in_queue(s)
            ages = (float(self._now or 0) - memory.rows["time"][rows]) / (self._waits[s] or 1.0)
            rows, ages = rows[ages > 0], np.minimum(ages[ages > 0], 1.0)
            if not rows.size:
                continue
            matched = memory.rows["matches"][rows].astype(np.float64)
            stands_for = 1.0 / self._chances(rows)
            tuples = Waiting(ages, memory.odds["expected"][rows], matched)
            for number, expert in enumerate(self._experts):
                said = ages * np.maximum(expert.expected(_FLAT, tuples), 1e-12)
                said *= np.sum(stands_for * matched) / np.sum(stands_for * said)
                predicted[number].append(said)
            came.append(matched)
            weights.append(stands_for)
        if not came or not sum(float(each.sum()) for each in came):
            return
        weight = np.concatenate(weights)
        self.evidence.add(
            [np.concatenate(each) for each in predicted],
            np.concatenate(came),
            weight / weight.mean(),
            0.0,  # the rows' whole lives are compared each time
        )

    def _chances(self, rows: Integers) -> Floats:
        """Give the chances with which rows are in the sample now."""
        odds = self._store.memory.odds[rows]
        fraction = np.minimum(odds["least"], float(self._store.memory.rule["fraction"][0]))
        return np.minimum(np.maximum(odds["size"] * fraction, 1e-300), 1.0)

    # --- State

    def save(self) -> dict[str, np.ndarray]:
        """Give what was learnt, for `restore`."""
        given = {f"given.{s}": given for s, given in enumerate(self._given)}
        return super().save() | given | {"settled": np.array([self._is_settled])}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        super().restore(saved)
        self._given = [saved[f"given.{s}"].copy() for s in range(self._turned.size)]
        self._is_settled = bool(saved["settled"][0])
