"""Ratings: rows that arrive and rows in memory get the numbers by which they are kept in order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.identity import content_hashes, draws
from penstock.engine.kernels.layout import KEY_WORD, NOTHING
from penstock.engine.kernels.selection import gather, gathered_type, set_likeliness
from penstock.engine.lives import lengths_of
from penstock.engine.ratings import checked, rate
from penstock.engine.row_fields import LIKELINESS
from penstock.goals import Sample
from penstock.statistics.expected_importance import expected_importance, relative_importance
from penstock.strategies import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.intake import Columns, Merged
    from penstock.engine.observing import Observer
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.strategies import Needs, Strategy, View

    # Matches that rows of a stream can expect in a unit of time, by their values and key words.
    MatchRates = Callable[[int, Array, Integers], Floats]

# Rows of each stream whose importance, or number of matches, is remembered.
_LATEST = 1024
# Bits of a draw that strategies may use: not those that decide which rows are drawn.
_OTHER_BITS = 2.0**20


class Rater:
    """Has a strategy rate rows, when they come and, where it is due, again.

    Parameters
    ----------
    plan, store
        The join and its memory.
    strategy
        That rates.
    needs
        Of all strategies.
    scores
        Importance of rows; None if no strategy needs it.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        strategy: Strategy,
        needs: Needs,
        scores: ImportanceScores | None,
    ) -> None:
        count = len(plan.sides)
        self._plan = plan
        self._store = store
        self._strategy = strategy
        self._needs = needs
        self._scores = scores
        self.waits = [float(life) for life in lengths_of(plan)]
        given = (plan.spec.goal.matches if isinstance(plan.spec.goal, Sample) else None) or {}
        self._is_given = [side.name in given for side in plan.sides]
        self._given: list[Floats] = [np.zeros(0) for _ in range(count)]  # of the latest rows
        self._given_now: Floats = np.zeros(0)  # of the batch
        self._latest: list[Floats] = [np.zeros(0) for _ in range(count)]  # importance, as it came
        self._met: dict[int, Floats] = {}  # importance of a stream's rows of this piece
        # As of the last review: importance in ascending order, and that of the streams' results.
        self.importance = list(self._latest)
        self.usual_importance = [0.0] * count
        self._rated = np.zeros(count, np.int64)  # arrivals when rows were last rated
        self._are_first_rated = False  # whether the rows that came first have been rated again

    @property
    def rates_pieces(self) -> bool:
        """Whether rows are rated piece by piece, by what is observed."""
        return self._needs.frequencies

    def given_matches(self, s: int) -> Floats | None:
        """Return the numbers of matches that a stream's latest rows were given, if any."""
        return self._given[s] if self._is_given[s] else None

    # --- Rows that arrive

    def begin_batch(self, given: Floats | None) -> None:
        """Take the numbers of matches that rows of a batch are given."""
        self._given_now = np.zeros(0) if given is None else given

    def rate_batch(
        self,
        view: View,
        sides: Sequence[Columns],
        merged: Merged,
        payloads: Sequence[Payload],
        importance: Sequence[Floats] | None,
    ) -> None:
        """Have the rows of a batch rated by what they hold."""
        rate(
            self._strategy,
            view,
            sides,
            merged,
            seed=self._plan.spec.seed,
            payloads=payloads,
            importance=importance,
            retention=self._store.retention,
        )

    def rate_piece(
        self,
        view: View,
        observer: Observer,
        arrivals: Array,
        rates: MatchRates,
    ) -> None:
        """Have the rows of a piece rated by how likely they are to match."""
        retention = self._store.retention
        for s, (mine, likely) in observer.coming.items():
            if not mine.size:
                continue
            places = mine["at"]
            zeros = np.zeros(places.size)
            importance = None
            if self._scores is not None:
                refs, times = arrivals["ref"][places], arrivals["time"][places]
                self._met[s] = importance = self._scores.each_at(s, refs, times)
            per_time = np.zeros(0)
            if self._needs.match_rates:
                per_time = rates(s, mine["value"], mine["key_word"])
            rows = Rows(
                s,
                zeros,
                likely,
                zeros,
                per_time,
                importance,
                self._given_now[places] if self._is_given[s] else None,
                partial(_other_draws, arrivals["draw"][places]),
            )
            if retention.keeps_likeliness:
                set_likeliness(arrivals, places, likely)
            ratings = self._strategy.rate(view, rows)
            if ratings is not None:
                retention.grade(arrivals, places, checked(self._strategy, ratings, places.size))

    def relative_importance(self, view: View) -> dict[int, Floats]:
        """Return what results of a piece's rows matter, by stream; empty if all matter alike."""
        return {
            s: relative_importance(
                view.goal.result,
                importance,
                self.usual_importance[s],
                [each for o, each in enumerate(self.importance) if o != s],
            )
            for s, importance in self._met.items()
        }

    def end_piece(self, observer: Observer, stop: int) -> None:
        """Remember what the rows that came were given, and how much they matter."""
        if not self.rates_pieces:
            return
        for s, (mine, _) in observer.coming.items():
            came = int(np.searchsorted(mine["at"], stop))
            if came and self._scores is not None:
                self._latest[s] = np.concatenate([self._latest[s], self._met[s][:came]])
            if self._is_given[s]:
                given = self._given_now[mine["at"][:came]]
                self._given[s] = np.concatenate([self._given[s], given])

    # --- Rows in memory

    def review(self) -> None:
        """Take in how much the rows that came matter."""
        self._given = [given[-_LATEST:] for given in self._given]
        if self._scores is None:
            return
        self._latest = [each[-_LATEST:] for each in self._latest]
        self.importance = [np.sort(each) for each in self._latest]
        self._set_usual()

    def _set_usual(self) -> None:
        self.usual_importance = [self._usual(s) for s in range(len(self._latest))]

    def _usual(self, s: int) -> float:
        """Return what results of a stream's rows matter on average; 0 if it is not known."""
        others = [each for o, each in enumerate(self.importance) if o != s and each.size]
        if self._scores is None or not others or not self.importance[s].size:
            return 0.0
        usual = expected_importance(self._scores.kind, self.importance[s], others).mean()
        return max(float(usual), 1e-300)

    def rate_first(self, view: Callable[[], View], observer: Observer, rates: MatchRates) -> None:
        """Rate the rows again that came when nothing was known: once, and all that there are."""
        memory, retention = self._store.memory, self._store.retention
        if not retention.rates_first_rows or self._are_first_rated or not observer.rates.elapsed:
            return
        self._are_first_rated = True
        for s in range(len(self._plan.sides)):
            rows = self._store.in_queue(s)
            if not rows.size or self._is_given[s]:
                continue
            key_words = memory.slots[memory.rows["slot"][rows], KEY_WORD]
            zeros = np.zeros(rows.size)
            waiting = Rows(
                s,
                zeros,
                np.ones(rows.size),
                zeros,
                rates(s, memory.rows["value"][rows], key_words),
                draws=partial(np.full, rows.size, 0.5),
            )
            ratings = self._strategy.rate(view(), waiting)
            if ratings is not None:
                retention.rate_again(memory, s, rows, ratings)

    def rate_again(
        self, s: int, view: Callable[[], View], observer: Observer, *, at_once: bool = False
    ) -> None:
        """Rate a stream's rows again, if many times as many arrivals came since."""
        memory, retention = self._store.memory, self._store.retention
        if observer.likeliness is None or not retention.rates_again_every:
            return
        arrived = int(memory.rule["arrivals"][0])
        held = int(memory.streams["held"][s])
        waits = arrived - self._rated[s] < retention.rates_again_every * held
        if not held or (waits and not at_once):
            return
        self._rated[s] = arrived
        rows = np.empty(held, gathered_type(self._plan.time.dtype, self._plan.values.dtype))
        rows = rows[: gather(memory.of_any_kind, s, rows)]
        likely = rows[LIKELINESS]
        if retention.reads_likeliness_again:
            likely = observer.likeliness.of(s, rows["value"], rows["key_word"])
        ages = np.maximum((observer.now - rows["time"]) / float(observer.span(s)), 0.0)
        row = np.ascontiguousarray(rows["row"])
        importance = None
        if self._scores is not None:
            importance = self._scores.now(s, memory.rows["ref"][row])
        waiting = Rows(s, ages, likely, rows["matches"], importance=importance)
        ratings = self._strategy.rate(view(), waiting)
        if ratings is not None:
            retention.rate_again(memory, s, row, ratings)

    def note_ratings(self) -> None:
        """Note what follows from ratings that are about to change."""
        for s in range(len(self._plan.sides)):
            self._store.retention.before_rating(self._store.memory, s, self._store.in_queue(s))

    def rate_by_importance(self, view: View) -> None:
        """Rate all rows in memory by their importance now, where that is what ratings are."""
        if self._scores is None or self.rates_pieces:
            return
        memory = self._store.memory
        for s in range(len(self._plan.sides)):
            rows = self._store.in_queue(s)
            refs = memory.rows["ref"][rows]
            waiting = Rows.arriving(
                s,
                rows.size,
                importance=self._scores.now(s, refs),
                column=partial(self._scores.column, s, refs),
            )
            ratings = self._strategy.rate(view, waiting)
            if ratings is not None:
                self._store.retention.rate_again(memory, s, rows, ratings)

    def rate_held(self, view: View, observer: Observer | None, payloads: Sequence[Payload]) -> None:
        """Rate all rows in memory by what is known now: another strategy has kept them so far."""
        memory, retention = self._store.memory, self._store.retention
        for s, payload in enumerate(payloads):
            rows = self._store.in_queue(s)
            if retention.rates_again_every:  # monitored rows are in no cell
                rows = rows[memory.rows["monitored"][rows] == NOTHING]
            refs, times = memory.rows["ref"][rows], memory.rows["time"][rows]
            held = Rows.arriving(
                s,
                rows.size,
                draws=partial(self._draws_of_held, s, times, payload, refs),
                importance=None if self._scores is None else self._scores.now(s, refs),
                column=partial(_column_of_held, payload, refs),
            )
            if observer is not None and observer.likeliness is not None:
                ages = np.maximum(((observer.now or 0) - times) / float(observer.span(s)), 0.0)
                matches = memory.rows["matches"][rows].astype(np.float64)
                likely = memory.rows[LIKELINESS][rows]
                held = replace(held, ages=ages, likeliness=likely, matches=matches)
            ratings = self._strategy.rate(view, held)
            if ratings is not None:
                ratings = checked(self._strategy, ratings, rows.size)
                retention.rate_again(memory, s, rows, ratings)
        self._rated[:] = int(memory.rule["arrivals"][0])

    def _draws_of_held(self, s: int, times: Array, payload: Payload, refs: Integers) -> Floats:
        """Draw for rows in memory; equal ones must be next to each other."""
        identities = content_hashes(payload.gather(refs))
        order = np.lexsort((identities, times))
        drawn = np.empty(times.size)
        drawn[order] = draws(self._plan.spec.seed, s, times[order], identities[order])
        return drawn

    # --- State

    def save(self) -> dict[str, Array]:
        """Return what is remembered, for `restore`."""
        saved: dict[str, Array] = {
            "rated": self._rated,
            "first_rated": np.array([self._are_first_rated]),
        }
        for s in range(len(self._plan.sides)):
            saved[f"given.{s}"] = self._given[s]
            saved[f"latest.{s}"] = self._latest[s]
            saved[f"importance.{s}"] = self.importance[s]
        return saved

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        count = range(len(self._plan.sides))
        self._rated = saved["rated"].copy()
        self._are_first_rated = bool(saved["first_rated"][0])
        self._given = [saved[f"given.{s}"].copy() for s in count]
        self._latest = [saved[f"latest.{s}"].copy() for s in count]
        self.importance = [saved[f"importance.{s}"].copy() for s in count]
        self._set_usual()


def _column_of_held(payload: Payload, refs: Integers, name: str) -> pa.ChunkedArray:
    column: pa.ChunkedArray = payload.gather(refs).column(name)
    return column


def _other_draws(draws: Floats) -> Floats:
    """Return further random numbers from the draws of rows."""
    return np.mod(draws * _OTHER_BITS, 1.0)
