"""Observe, decide, act: at fixed points, so that any cut into batches leads to the same decisions.

A strategy decides before the first row, after every so many arrivals, and whenever a part of a
stream's life has gone by. In between the engine does what was decided last.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.actions import set_actions
from penstock.engine.decision_state import from_arrays, to_arrays
from penstock.engine.kernels.layout import EQUAL, KEY_WORD
from penstock.engine.kernels.selection import gather, gathered_type, set_likeliness
from penstock.engine.lives import lengths_of
from penstock.engine.observing import Observer
from penstock.engine.ratings import checked, rate
from penstock.engine.retention.table import retention_for
from penstock.engine.store import ROW_OVERHEAD
from penstock.errors import SpecificationError, must
from penstock.goals import Sample
from penstock.statistics.expected_importance import expected_importance
from penstock.strategies import (
    Rows,
    ScoringStrategy,
    StreamView,
    View,
    combine,
    grade_of,
    strategies_for,
)
from penstock.strategies.view import KeySample, SampledRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Floats, Integers, Mask
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.intake import Columns, Merged
    from penstock.engine.keys import KeyCoder
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan
    from penstock.engine.retention.base import Retention
    from penstock.engine.store import Store
    from penstock.strategies import Decision, Needs, Strategy

# Rows of each stream whose importance, or number of matches, is remembered.
_LATEST = 1024
# Bits of a draw that strategies may use: not those that decide which rows are drawn.
_OTHER_BITS = 2.0**20


def needs_of(strategies: Sequence[Strategy]) -> Needs:
    """Return what strategies need together."""
    needs = strategies[0].needs
    for strategy in strategies[1:]:
        needs |= strategy.needs
    return needs


def first_view(plan: Plan, room: int | None) -> View:
    """Return what is known before the first row."""
    share = 1.0 / len(plan.sides)
    streams = tuple(
        StreamView(side.name, float(life), float(life), share=share)
        for side, life in zip(plan.sides, lengths_of(plan), strict=True)
    )
    return View(streams, room, plan.spec.goal)


def retention_of(
    plan: Plan, strategies: Sequence[Strategy], room: int | None, parts: Sequence[int]
) -> Retention:
    """Return the retention that strategies want: they decide, before the first row."""
    order = strategies[0].decide(first_view(plan, room)).retain.order
    return retention_for(order)(order, parts)


def row_overhead(plan: Plan) -> int:
    """Return the bytes that a row in memory costs besides its payload, if there is a budget."""
    order = strategies_for(plan.spec.goal)[0].decide(first_view(plan, None)).retain.order
    return ROW_OVERHEAD + retention_for(order).row_bytes


class Reviewer:
    """Has strategies decide on what is observed, and the engine do it.

    Parameters
    ----------
    plan, store, coder
        The join, its memory, and its keys.
    strategies
        One, or one for memory and one for CPU.
    rows
        That may be held.
    scores
        Importance of rows; None if it is not the goal.
    """

    def __init__(
        self,
        plan: Plan,
        strategies: Sequence[Strategy],
        store: Store,
        coder: KeyCoder,
        rows: int,
        scores: ImportanceScores | None,
    ) -> None:
        self._plan = plan
        self._strategies = tuple(strategies)
        self._needs = needs_of(strategies)
        self._store = store
        self._limit = rows
        self._scores = scores if self._needs.importance else None
        self.observer: Observer | None = None
        if self._needs.statistics:
            lead = self._strategies[0]
            alone = (lead,) if isinstance(lead, ScoringStrategy) else ()
            models = self._needs.models or alone
            self.observer = Observer(plan, self._needs, models, store, coder, rows)
        count = len(plan.sides)
        self._waits = [float(life) for life in lengths_of(plan)]
        given = (plan.spec.goal.matches if isinstance(plan.spec.goal, Sample) else None) or {}
        self._is_given = [side.name in given for side in plan.sides]
        self._given: list[Floats] = [np.zeros(0) for _ in range(count)]  # of the latest rows
        self._given_now: Floats = np.zeros(0)  # of the batch
        self._latest: list[Floats] = [np.zeros(0) for _ in range(count)]  # importance, as it came
        self._ordered = list(self._latest)  # as of the last review, in ascending order
        self._usual = [0.0] * count
        self._met: dict[int, Floats] = {}  # importance of a stream's rows of this piece
        self._rated = np.zeros(count, np.int64)  # arrivals when rows were last rated
        self._are_first_rated = False  # whether the rows that came first have been rated again
        self._keys: list[KeySample | None] = [None] * count
        self._sampled: list[SampledRows | None] = [None] * count
        self._has_shed = False
        self._rating_view: View | None = None
        self.decisions: list[Decision] = []
        self.decisions = [each.decide(self._view()) for each in self._strategies]
        self.decision = self.decisions[0]  # what all strategies have decided together
        self._combine()
        self._apply(())

    def _combine(self) -> None:
        self.decision = self.decisions[0]
        for other in self.decisions[1:]:
            self.decision = combine(self.decision, other)

    @property
    def rates_pieces(self) -> bool:
        """Whether rows are rated piece by piece, by what is observed."""
        return self._needs.frequencies

    # --- The batch, in pieces

    def begin_batch(self, arrivals: Array, given: Floats | None) -> None:
        """Find where parts of lives end."""
        self._given_now = np.zeros(0) if given is None else given
        if self.observer is not None and self.observer.begin_batch(arrivals):
            self._store.retention.apply(
                self._store.memory, self.decisions[0].retain.order, range(len(self._plan.sides))
            )

    def next_edge(self, at: int, stop: int) -> int:
        """Return where the piece that begins at an arrival ends, at the latest at `stop`."""
        return stop if self.observer is None else self.observer.next_edge(at, stop)

    def begin_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Decide again if a part of a life has gone by, and say what is made of rows to come."""
        if self.observer is not None:
            for s, part in self.observer.reach(at):
                self._turn(s, part)
            self._look_at(arrivals, at, stop)
        decision = self.decision
        if decision.sheds_arrivals or self._has_shed:
            self._has_shed = True
            piece = arrivals[at:stop]
            set_actions(piece, decision, self._grades(at, stop))

    def _grades(self, at: int, stop: int) -> Integers | None:
        """Return the grades of the keys of a piece."""
        if self.observer is None or self.observer.likeliness is None:
            return None
        likeliness = np.ones(stop - at)
        for mine, likely in self.observer.coming.values():
            likeliness[mine["at"] - at] = likely
        return grade_of(likeliness)

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Note the rows that came."""
        if self.observer is None:
            return
        self.observer.end_piece(arrivals, at, stop)
        if not self.rates_pieces:
            return
        for s, (mine, _) in self.observer.coming.items():
            came = int(np.searchsorted(mine["at"], stop))
            if came and self._scores is not None:
                self._latest[s] = np.concatenate([self._latest[s], self._met[s][:came]])
            if self._is_given[s]:
                given = self._given_now[mine["at"][:came]]
                self._given[s] = np.concatenate([self._given[s], given])

    def review(self, limit: int) -> None:
        """Take in what was observed and decide; called after every so many arrivals."""
        self._limit = limit
        self._rating_view = None
        if self.observer is not None:
            self.observer.review()
            if self.observer.now is not None:
                self._review_rows()
        before = self.decision
        self._decide()
        if self.decision is not before:
            self._apply(())

    # --- Deciding

    def _turn(self, s: int, part: int) -> None:
        """Decide again: a part of a stream's life has gone by."""
        observer = self.observer
        assert observer is not None  # noqa: S101  # only an observer sees a part go by
        memory = self._store.memory
        steps = part - int(memory.lives["now"][s])
        changed = observer.turn(s, part)
        self._store.retention.turn(memory, s, part)
        memory.lives["now"][s] = part
        is_due = observer.is_division_due(s, steps)
        if is_due:
            self._observe_keys()
        # If another model is followed all streams are seen with other eyes.
        turned = tuple(range(len(self._plan.sides))) if changed else (s,)
        self._decide(turned, is_division_due=is_due)
        self._apply(turned)
        for each in turned:
            self._rate_again(each, at_once=changed)

    def _observe_keys(self) -> None:
        """Sample the keys of all streams, and compare models on the rows of a sample."""
        observer = self.observer
        assert observer is not None  # noqa: S101  # as above
        if self._needs.models and not self._needs.monitoring:
            observer.compare_in_sample()
        for s in range(len(self._plan.sides)):
            self._keys[s] = self._key_sample(s)
            self._sampled[s] = None if self._keys[s] is not None else self._sampled_rows(s)

    def _key_sample(self, s: int) -> KeySample | None:
        observer = self.observer
        if observer is None or observer.likeliness is None:
            return None
        values = observer.likeliness.values(s, self._needs.key_sample)
        if values is None:
            return None
        keys, rows = values
        per_time = np.zeros(0)
        if self._needs.match_rates:
            per_time = self._match_rates(s, keys, keys)
        return KeySample(observer.likeliness.of(s, keys, keys), rows, per_time)

    def _sampled_rows(self, s: int) -> SampledRows | None:
        memory = self._store.memory
        rows = self._store.in_queue(s)
        chances = self._store.retention.chances(memory, rows)
        if chances is None:
            return None
        sizes = self._store.retention.sizes(memory, rows)
        return None if sizes is None else SampledRows(sizes, 1.0 / chances)

    def _match_rates(self, s: int, values: Array, words: Integers) -> Floats:
        observer = self.observer
        if observer is None or observer.likeliness is None or not observer.rates.elapsed:
            return np.full(values.size, np.nan)
        rates = [observer.rates.of(o) for o in range(len(self._plan.sides))]
        return observer.likeliness.per_time(s, values, words, rates)

    def _view(self, turned: tuple[int, ...] = (), *, is_division_due: bool = False) -> View:
        """Return what is known now, and what the first strategy decided last."""
        memory, observer = self._store.memory, self.observer
        streams = tuple(self._stream_view(s) for s in range(len(self._plan.sides)))
        seen: dict[str, Any] = {}
        if observer is not None:
            seen = {
                "elapsed": observer.rates.elapsed,
                "lived": observer.lived,
                "half_life": observer.half_life,
                "followed": observer.evidence.followed,
                "is_decided": observer.evidence.is_decided,
            }
        return View(
            streams,
            self._limit - int(memory.rule["quota"][0]),
            self._plan.spec.goal,
            turned=turned,
            is_division_due=is_division_due,
            selectivities=memory.pairs["found"] / np.maximum(memory.pairs["faced"], 1),
            fraction=self._store.retention.fraction(memory),
            previous=self.decisions[0] if self.decisions else None,
            **seen,
        )

    @property
    def _view_for_rating(self) -> View:
        """What was known at the last review: what has changed since depends on how rows came.

        So there is nothing in it that a restart would not know.
        """
        if self._rating_view is None:
            view = self._view()
            streams = tuple(replace(each, held=0) for each in view.streams)
            self._rating_view = replace(
                view, streams=streams, selectivities=np.zeros(0), fraction=np.inf, lived=0.0
            )
        return self._rating_view

    def _stream_view(self, s: int) -> StreamView:
        memory, observer = self._store.memory, self.observer
        side = self._plan.sides[s]
        seen: dict[str, Any] = {}
        if observer is not None:
            seen = {"rate": observer.rates.of(s), "outlook": observer.outlooks[s]}
        return StreamView(
            side.name,
            self._waits[s],
            float(memory.lives["span"][s]),
            held=int(memory.streams["held"][s]),
            share=float(memory.streams["share"][s]),
            keys=self._keys[s],
            sampled=self._sampled[s],
            importance=self._ordered[s],
            usual_importance=self._usual[s],
            given_matches=self._given[s] if self._is_given[s] else None,
            **seen,
        )

    def _decide(self, turned: tuple[int, ...] = (), *, is_division_due: bool = False) -> None:
        before = type(self.decision.retain.order)
        view = self._view(turned, is_division_due=is_division_due)
        self.decisions = [
            strategy.decide(replace(view, previous=last) if at else view)
            for at, (strategy, last) in enumerate(
                zip(self._strategies, self.decisions, strict=True)
            )
        ]
        self._combine()
        self._rating_view = None
        after = type(self.decision.retain.order)
        if after is not before:
            raise SpecificationError(
                must(
                    f'order of Retain, decided by "{self._strategies[0].name}",',
                    f"{before.__name__}, as at first",
                    after.__name__,
                    "decide on one order for the whole join; its numbers may change",
                )
            )

    def _apply(self, turned: Sequence[int]) -> None:
        """Set what the compiled loop acts on."""
        decision = self.decision
        store = self._store
        rule = store.memory.rule
        if decision.retain.shares is not None:
            store.memory.streams["share"] = decision.retain.shares
        rule["emits_drawn"] = decision.emit.only_drawn
        rule["sheds"] = decision.sheds_arrivals or self._has_shed
        if decision.probe.sub_windows is not None or rule["sub_windows"][0]:
            self._check_sub_windows(decision.probe.sub_windows)
            store.set_sub_windows(decision.probe.sub_windows)
        store.retention.apply(store.memory, decision.retain.order, turned)

    def _check_sub_windows(self, probed: Mask | None) -> None:
        streams = len(self._plan.sides)
        if self._plan.rule.kind != EQUAL:
            raise SpecificationError(
                must(
                    "Probe.sub_windows",
                    "for a join on Equal so far",
                    type(self._plan.spec.on).__name__,
                    "probe whole windows",
                )
            )
        if probed is not None and (probed.ndim != 3 or probed.shape[:2] != (streams, streams)):
            raise SpecificationError(
                must(
                    "Probe.sub_windows",
                    f"{streams} arriving by {streams} probed streams by parts of a window",
                    probed.shape,
                    "see docs/extending.md",
                )
            )

    # --- Rating

    def rate_batch(
        self,
        sides: Sequence[Columns],
        merged: Merged,
        payloads: Sequence[Payload],
        importance: Sequence[Floats] | None,
    ) -> None:
        """Have the rows of a batch rated by what they hold, where nothing else is needed."""
        if not self.rates_pieces:
            rate(
                self._strategies[0],
                self._view_for_rating,
                sides,
                merged,
                seed=self._plan.spec.seed,
                payloads=payloads,
                importance=importance,
                retention=self._store.retention,
            )

    def _look_at(self, arrivals: Array, at: int, stop: int) -> None:
        """Say how likely rows are to match, and have them rated."""
        observer = self.observer
        if observer is None or not self.rates_pieces:
            return
        observer.look_at(arrivals, at, stop)
        view = self._view_for_rating
        for s, (mine, likely) in observer.coming.items():
            if not mine.size:
                continue
            places = mine["at"]
            zeros = np.zeros(places.size)
            importance = None
            if self._scores is not None:
                importance = self._scores.each_at(
                    s, arrivals["ref"][places], arrivals["time"][places]
                )
                self._met[s] = importance
            per_time = np.zeros(0)
            if self._needs.match_rates:
                per_time = self._match_rates(s, mine["value"], mine["key_word"])
            draws = arrivals["draw"][places]
            rows = Rows(
                s,
                zeros,
                likely,
                zeros,
                per_time,
                importance,
                self._given_now[places] if self._is_given[s] else None,
                partial(_other_draws, draws),
            )
            if self._store.retention.keeps_likeliness:
                set_likeliness(arrivals, places, likely)
            ratings = self._strategies[0].rate(view, rows)
            if ratings is not None:
                ratings = checked(self._strategies[0], ratings, places.size)
                self._store.retention.grade(arrivals, places, ratings)

    def _review_rows(self) -> None:
        """Note what matters of the rows that came, and rate rows again where it is due."""
        observer, retention = self.observer, self._store.retention
        assert observer is not None  # noqa: S101  # as above
        count = len(self._plan.sides)
        self._given = [given[-_LATEST:] for given in self._given]
        self._latest = [each[-_LATEST:] for each in self._latest]
        self._ordered = [np.sort(each) for each in self._latest]
        self._usual = [self._usual_importance(s) for s in range(count)]
        for s in range(count):
            self._rate_again(s)
        if retention.rates_first_rows and not self._are_first_rated and observer.rates.elapsed:
            for s in range(count):
                self._rate_first(s)
            self._are_first_rated = True

    def _usual_importance(self, s: int) -> float:
        """Return what results of a stream's rows matter on average; 0 if it is not known."""
        others = [each for o, each in enumerate(self._ordered) if o != s and each.size]
        if self._scores is None or not others or not self._ordered[s].size:
            return 0.0
        kind = self._scores.kind
        usual = expected_importance(kind, self._ordered[s], others).mean()
        return max(float(usual), 1e-300)

    def _rate_first(self, s: int) -> None:
        """Rate the rows again that came when nothing was known: all that there are."""
        memory = self._store.memory
        rows = self._store.in_queue(s)
        if not rows.size or self._is_given[s]:
            return
        words = memory.slots[memory.rows["slot"][rows], KEY_WORD]
        zeros = np.zeros(rows.size)
        ratings = self._strategies[0].rate(
            self._view_for_rating,
            Rows(
                s,
                zeros,
                np.ones(rows.size),
                zeros,
                self._match_rates(s, memory.rows["value"][rows], words),
                draws=lambda: np.full(rows.size, 0.5),
            ),
        )
        if ratings is not None:
            self._store.retention.rate_again(memory, s, rows, ratings)

    def _rate_again(self, s: int, *, at_once: bool = False) -> None:
        """Rate a stream's rows again, if many times as many arrivals came since."""
        observer, memory, retention = self.observer, self._store.memory, self._store.retention
        if observer is None or observer.likeliness is None or not retention.rates_again_every:
            return
        arrived = int(memory.rule["arrivals"][0])
        held = int(memory.streams["held"][s])
        if not held or (
            arrived - self._rated[s] < retention.rates_again_every * held and not at_once
        ):
            return
        self._rated[s] = arrived
        rows = np.empty(held, gathered_type(self._plan.time.dtype, self._plan.values.dtype))
        rows = rows[: gather(memory, s, rows)]
        likely = rows["likeliness"]
        if retention.reads_likeliness_again:
            likely = observer.likeliness.of(s, rows["value"], rows["key_word"])
        ages = np.maximum((observer.now - rows["time"]) / float(observer.span(s)), 0.0)
        row = np.ascontiguousarray(rows["row"])
        importance = None
        if self._scores is not None:
            importance = self._scores.now(s, memory.rows["ref"][row])
        ratings = self._strategies[0].rate(
            self._view_for_rating, Rows(s, ages, likely, rows["matches"], importance=importance)
        )
        if ratings is not None:
            retention.rate_again(memory, s, row, ratings)

    def redefine(self) -> None:
        """Rate all rows again: importance has been redefined."""
        if self._scores is None:
            return
        if self.rates_pieces:
            for s in range(len(self._plan.sides)):
                self._rate_again(s, at_once=True)
            return
        for s in range(len(self._plan.sides)):
            self._store.retention.before_rating(self._store.memory, s, self._store.in_queue(s))
        self.rate_by_importance()

    def rate_by_importance(self) -> None:
        """Rate all rows in memory by their importance now, where that is what ratings are."""
        if self._scores is None or self.rates_pieces:
            return
        memory = self._store.memory
        view = self._view_for_rating
        for s in range(len(self._plan.sides)):
            rows = self._store.in_queue(s)
            refs = memory.rows["ref"][rows]
            arriving = Rows.arriving(
                s,
                rows.size,
                importance=self._scores.now(s, refs),
                column=partial(self._scores.column, s, refs),
            )
            ratings = self._strategies[0].rate(view, arriving)
            if ratings is not None:
                self._store.retention.rate_again(memory, s, rows, ratings)

    # --- State

    def save(self) -> dict[str, Array]:
        """Return what was observed and decided, for `restore`."""
        saved: dict[str, Array] = {
            "rated": self._rated,
            "first_rated": np.array([self._are_first_rated]),
            "has_shed": np.array([self._has_shed]),
            "limit": np.array([self._limit]),
        }
        for s in range(len(self._plan.sides)):
            saved[f"given.{s}"] = self._given[s]
            saved[f"latest.{s}"] = self._latest[s]
            saved[f"ordered.{s}"] = self._ordered[s]
        for number, decision in enumerate(self.decisions):
            saved |= {f"decision.{number}.{n}": a for n, a in to_arrays(decision).items()}
        if self.observer is not None:
            saved |= {f"observer.{name}": array for name, array in self.observer.save().items()}
        return saved

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        count = range(len(self._plan.sides))
        self._rated = saved["rated"].copy()
        self._are_first_rated = bool(saved["first_rated"][0])
        self._has_shed = bool(saved["has_shed"][0])
        self._limit = int(saved["limit"][0])
        self._given = [saved[f"given.{s}"].copy() for s in count]
        self._latest = [saved[f"latest.{s}"].copy() for s in count]
        self._ordered = [saved[f"ordered.{s}"].copy() for s in count]
        self._usual = [self._usual_importance(s) for s in count]
        self.decisions = [
            from_arrays(_below(saved, f"decision.{number}."))
            for number in range(len(self._strategies))
        ]
        if self.observer is not None:
            self.observer.restore(_below(saved, "observer."))
        self._combine()
        self._rating_view = None
        decision = self.decision
        self._store.memory.rule["sheds"] = decision.sheds_arrivals or self._has_shed
        self._store.memory.rule["emits_drawn"] = decision.emit.only_drawn
        self._store.set_sub_windows(decision.probe.sub_windows)
        self._store.retention.resume(self._store.memory, self.decisions[0].retain.order)


def _other_draws(draws: Floats) -> Floats:
    """Return further random numbers from the draws of rows."""
    return np.mod(draws * _OTHER_BITS, 1.0)


def _below(saved: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in saved.items() if n.startswith(prefix)}
