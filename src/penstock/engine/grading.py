"""What a scoring strategy makes of what was learnt: grades, ranks, and shares of memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels import grid
from penstock.engine.learning import Learner
from penstock.goals import MaxImportance
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.outlook import Outlook
from penstock.statistics.score_output import score_output
from penstock.strategies import Waiting
from penstock.strategies.base import ABOVE, BELOW
from penstock.strategies.division import divide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan
    from penstock.engine.scores import Scores
    from penstock.engine.store import Store
    from penstock.strategies import ScoringStrategy

# An age that is worth less than this part of the best is worth nothing.
_WORTHLESS = 2.0**-60
# Rows are graded anew after so many arrivals for each: it must cost little beside the join itself.
_GRADE_EVERY = 4
# Values by which memory is divided; and, for each, groups of tuples that matter alike.
_VALUES = 4096
_GROUPS = 16
# A difference between streams is one if it is so many times as large as what chance makes of it.
_SURE = 2.0
# Tuples of each stream whose importance is remembered.
_LATEST = 1024


class Grader(Learner):
    """Grades rows by what is expected of them, ranks their cells, and divides memory."""

    def __init__(
        self,
        plan: Plan,
        strategy: ScoringStrategy,
        store: Store,
        coder: KeyCoder,
        rows: int,
        scores: Scores | None,
    ) -> None:
        super().__init__(plan, strategy, store, coder, rows)
        self._scores = scores if strategy.by_importance else None
        goal = plan.spec.goal
        self._fairness = goal.fairness if isinstance(goal, MaxImportance) else 0.0
        # Importance of the latest tuples, as they came.
        self._latest: list[Floats] = [np.zeros(0) for _ in plan.sides]
        self._met: dict[int, Floats] = {}  # of this piece
        self._partners = list(self._latest)  # as of the last review
        self._usual = [0.0] * len(plan.sides)  # what their results matter; 0 if not computed yet
        self._strategy = strategy
        self._graded = np.zeros(len(plan.sides), np.int64)  # births when rows were last graded

    @property
    def _expert(self) -> ScoringStrategy:
        return self._strategy.experts[self.evidence.followed]

    def _begin(self) -> None:
        for s in range(self._turned.size):
            self._rank(s)

    def _meet(self, s: int, arrivals: Array, mine: Array, likely: Floats) -> None:
        fresh = Waiting(np.zeros(mine.size), likely, np.zeros(mine.size))
        matters = np.ones(1)
        if self._scores is not None:
            refs, times = arrivals["ref"][mine["at"]], arrivals["time"][mine["at"]]
            self._met[s] = self._scores.each_at(s, refs, times)
            matters = self._matters(s, self._met[s])
        grid.set_grades(arrivals, mine["at"], likely, self._grades(s, fresh, matters))

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Note who came."""
        super().end_piece(arrivals, at, stop)
        if self._scores is None:
            return
        for s, (mine, _) in self._coming.items():
            came = int(np.searchsorted(mine["at"], stop))
            if came:
                self._latest[s] = np.concatenate([self._latest[s], self._met[s][:came]])

    def _matters(self, s: int, importance: Floats) -> Floats:
        """Give what a result of a tuple matters, by its importance: 1 is the average.

        The others' are taken to be as they were of late, whatever the tuple's own is.
        """
        if self._scores is None:
            return np.ones(1)
        others = [each for o, each in enumerate(self._partners) if o != s and each.size]
        if not others or not self._partners[s].size:
            return np.maximum(importance, 1e-12)
        if not self._usual[s]:
            usual = self._scores.expected(self._partners[s], others).mean()
            self._usual[s] = max(float(usual), 1e-300)
        return self._scores.expected(importance, others) / self._usual[s]

    def rescore(self) -> None:
        """Grade all rows anew: importance has been redefined."""
        for s in range(self._turned.size):
            self._grade_again(s, at_once=True)

    def _turn_over(self, s: int, steps: int, *, changed: bool) -> None:
        if self._is_time_to_divide(s, steps):
            self._divide()
        for each in range(self._turned.size) if changed else (s,):
            self._grade_again(each, at_once=changed)
            self._rank(each)

    def _review(self) -> None:
        self._latest = [each[-_LATEST:] for each in self._latest]
        self._partners = [np.sort(each) for each in self._latest]
        self._usual = [0.0] * len(self._partners)
        for s in range(self._turned.size):
            self._grade_again(s)

    # --- Memory between the streams

    def _divide(self) -> None:
        """Divide memory between the streams, so that all together give most."""
        memory = self._store.memory
        expert = self._expert
        rows = self._limit - int(memory.rule["quota"][0])
        if not any(outlook.pace > 0 for outlook in self._outlooks) or not self._rates.elapsed:
            return
        outlooks = [self._by_value(s, expert) for s in range(self._turned.size)]
        outputs = [
            partial(self._made_of, partial(expert.output, outlook), outlook, float(self._span(s)))
            for s, outlook in enumerate(outlooks)
        ]
        if self._scores is not None and all(each.size for each in self._partners):
            outputs = [
                partial(self._made_of, self._worth(s, outlooks), outlook, float(self._span(s)))
                for s, outlook in enumerate(outlooks)
            ]
        wanted = np.array(divide(rows, outputs)) / rows
        if self._fairness:
            # As many rows of each stream as come in its window: all then stay equally long.
            alive = np.array([o.rate * o.curve.parts for o in self._outlooks])
            wanted = (1 - self._fairness) * wanted + self._fairness * alive / max(alive.sum(), 1e-9)
        memory.streams["share"] = (memory.streams["share"] + wanted) / 2

    def _by_value(self, s: int, expert: ScoringStrategy) -> Outlook:
        """Give the outlook for the division of memory.

        By the frequencies of all values if that is what the expert goes by, and for importance: the
        few tuples that are watched need not have a hot value among them. If the expert goes by
        nothing else, rows match as fast as tuples come.
        """
        outlook = self._outlooks[s]
        values = None
        by_importance = self._scores is not None and expert.needs_frequencies
        if self._likeliness is not None and (expert.needs_fresh or by_importance):
            values = self._likeliness.of_values(s, _VALUES)
        if values is None:
            return outlook
        curve = outlook.curve
        if expert.needs_fresh:
            pace = np.prod([self._rates.of(o) for o in range(self._turned.size) if o != s])
            curve = AgeCurve(np.full(curve.parts, pace * float(self._span(s))))
        return Outlook(curve, outlook.rate, *values)

    def _worth(self, s: int, outlooks: list[Outlook]) -> Callable[[Floats], Floats]:
        """Give the worth that a stream's window makes of rows, per part of a life.

        Importance is taken to have nothing to do with values and ages.
        """
        outlook = outlooks[s]
        matters = self._matters(s, self._partners[s])
        groups = np.arange(0, matters.size, max(1, matters.size // _GROUPS))
        sizes = np.diff(groups, append=matters.size)
        matters = np.add.reduceat(matters, groups) / sizes
        likely, tuples = np.ones(1), np.ones(1)
        if self._expert.needs_frequencies and outlook.likeliness.size:
            likely, tuples = outlook.likeliness, outlook.weights
        weights = np.multiply.outer(likely, matters).ravel()
        shares = np.multiply.outer(tuples / tuples.sum(), sizes / sizes.sum()).ravel()
        grades = self._grades_of(weights)
        in_all = np.bincount(grades, shares)
        some = np.flatnonzero(in_all)
        return partial(
            score_output,
            matches=outlook.curve.matches * self._doubted(s, outlooks),
            weights=np.bincount(grades, shares * weights)[some] / in_all[some],
            shares=in_all[some],
            rate=outlook.rate,
        )

    def _doubted(self, s: int, outlooks: list[Outlook]) -> float:
        """Give the factor by which a stream's curve is brought nearer to the other stream's.

        Of two streams a pair is as likely to match whichever comes first, unless ages matter. The
        watched rows are few, and where memory would as well go to one stream as to the other,
        chance must not give it all to one.
        """
        mine, other = outlooks[s], outlooks[1 - s]
        if len(outlooks) != 2 or min(each.pace * each.rate for each in outlooks) <= 0:
            return 1.0
        # Results per time squared, of all rows that could stay.
        gap = np.log(mine.pace * mine.rate / float(self._span(s)) ** 2)
        gap -= np.log(other.pace * other.rate / float(self._span(1 - s)) ** 2)
        noise = 0.0
        for each, outlook in enumerate(outlooks):
            likely, tuples = outlook.likeliness, outlook.weights
            spread = 1.0
            if likely.size:
                spread = float(tuples @ likely**2 * tuples.sum() / (tuples @ likely) ** 2)
            lived = float((self._now or 0) - self._began) / self._lives()[each]
            lives = min(max(lived, 1.0), self._half_life / np.log(2))
            watched = max(self._outlooks[each].weights.size, 1)
            noise += (spread + 1.0 / outlook.curve.total) / (watched * lives)
        chance = min(1.0, _SURE**2 * noise / max(gap**2, 1e-300))
        return float(np.exp(-chance * gap / 2))

    def _made_of(
        self, output: Callable[[Floats], Floats], outlook: Outlook, span: float, rows: Floats
    ) -> Floats:
        """Give what a stream's window makes of rows: results per time, or the logarithm of a share.

        A result of two streams needs one row that waits, of either stream, so what both give adds
        up. One of more streams needs a row of each of the others, so shares are multiplied.
        """
        made = output(rows)
        if len(self._plan.sides) == 2:
            return made / span
        most = outlook.rate * outlook.curve.total
        return np.log(np.maximum(made / most, 1e-3)) if most else np.zeros(rows.size)

    # --- Grades and ranks

    def _grades(self, s: int, tuples: Waiting, matters: Floats) -> Integers:
        octave = self._strategy.grades_per_octave
        if not octave:
            return np.zeros(tuples.ages.size, np.int64)
        expert = self._expert
        weights = expert.weights(self._outlooks[s], tuples) * matters
        if self._fairness:
            weights = weights ** (1.0 - self._fairness)
        return self._grades_of(weights)

    def _grades_of(self, weights: Floats) -> Integers:
        octave = self._strategy.grades_per_octave
        weights = np.maximum(weights, 1e-300)
        grades = np.floor(octave * np.log2(weights) + 0.5).astype(np.int64) + octave * BELOW
        return np.clip(grades, 0, octave * (BELOW + ABOVE))

    def _grade_again(self, s: int, *, at_once: bool = False) -> None:
        """Grade a stream's rows anew, if many times as many tuples came since."""
        memory = self._store.memory
        births = int(memory.rule["births"][0])
        held = int(memory.streams["held"][s])
        if self._likeliness is None or not held:
            return
        if births - self._graded[s] < _GRADE_EVERY * held and not at_once:
            return
        self._graded[s] = births
        rows = np.empty(held, grid.graded_type(self._plan.time.dtype, self._plan.values.dtype))
        rows = rows[: grid.gather(memory, s, rows)]
        likely = rows["priority"]
        if self._expert.needs_fresh:
            likely = self._likeliness.of(s, rows["value"], rows["key_word"])
        ages = np.maximum((self._now - rows["time"]) / float(self._span(s)), 0.0)
        tuples = Waiting(ages, likely, rows["matches"])
        row = np.ascontiguousarray(rows["row"])
        matters = np.ones(1)
        if self._scores is not None:
            importance = self._scores.now(s, memory.rows["ref"][row])
            matters = self._matters(s, importance)
        grid.rebuild(memory, s, row, self._grades(s, tuples, matters))

    def _rank(self, s: int) -> None:
        """Rank a stream's cells by score: what its age is worth, times the weight of the grade."""
        memory = self._store.memory
        worth = self._expert.by_age(self._outlooks[s])
        if self._fairness:
            # Over the age: rows then stay for a time that grows as worth ** ((1 - f) / f), and by
            # age alone the oldest leaves first.
            ages = np.arange(worth.size) + 0.5
            worth = worth ** (1.0 - self._fairness) / ages**self._fairness
        worth = np.append(worth, 0.0)  # who has outlived its time
        rises = np.append(np.diff(worth) > 1e-12 * np.abs(worth[1:]), False)
        some = worth > worth.max() * _WORTHLESS
        levels = max(1, self._strategy.grades_per_octave) * np.log2(np.where(some, worth, 1.0))
        whole = np.floor(levels)
        left = np.where(some, levels - whole, -1.0)
        oldest_first = np.arange(worth.size)[::-1]
        order = oldest_first[np.argsort(left[oldest_first], kind="stable")]
        grid.rank(
            memory,
            s,
            order,
            whole.astype(np.int64),
            worth.size - int(np.count_nonzero(some)),
            rises.astype(np.int64),
        )

    # --- State

    def save(self) -> dict[str, np.ndarray]:
        """Give what was learnt, for `restore`."""
        latest = {f"latest.{s}": each for s, each in enumerate(self._latest)}
        partners = {f"partners.{s}": each for s, each in enumerate(self._partners)}
        return super().save() | {"graded": self._graded} | latest | partners

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        super().restore(saved)
        self._graded = saved["graded"].copy()
        count = range(self._turned.size)
        self._latest = [saved[f"latest.{s}"].copy() for s in count]
        self._partners = [saved[f"partners.{s}"].copy() for s in count]
        self._usual = [0.0] * len(self._partners)
        for s in range(self._turned.size):
            self._rank(s)
