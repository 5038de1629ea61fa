"""What is known now, as a strategy sees it: looked up only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.lives import lengths_of
from penstock.strategies import StreamView, View
from penstock.strategies.view import KeySample, SampledRows

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.observing import Observer
    from penstock.engine.plan import Plan
    from penstock.engine.rater import Rater
    from penstock.engine.store import Store
    from penstock.engine.work import Work
    from penstock.strategies import Decision, Needs
    from penstock.strategies.view import WorkView


def first_view(plan: Plan, room: int | None) -> View:
    """Return what is known before anything is observed."""
    share = 1.0 / len(plan.sides)
    streams = tuple(
        StreamView(side.name, float(life), float(life), share=share)
        for side, life in zip(plan.sides, lengths_of(plan), strict=True)
    )
    return View(streams, room, plan.spec.goal)


@dataclass(frozen=True)
class Sources:
    """Where a view is taken from.

    Attributes
    ----------
    plan, store
        The join and its memory.
    observer
        What is observed of the streams; None if nothing is.
    rater
        What is remembered of the latest rows.
    needs
        Of the strategies.
    work
        Its account of work; None if that is not limited.
    """

    plan: Plan
    store: Store
    observer: Observer | None
    rater: Rater
    needs: Needs
    work: Work | None = None


class LiveView(View):
    """The view of a decision that is being made: it holds while `Strategy.decide` runs."""

    _sources: Sources
    _limit: int

    def __init__(
        self,
        sources: Sources,
        limit: int,
        previous: Decision | None,
        turned: tuple[int, ...] = (),
        *,
        is_division_due: bool = False,
    ) -> None:
        self.__dict__.update(
            _sources=sources,
            _limit=limit,
            goal=sources.plan.spec.goal,
            turned=turned,
            is_division_due=is_division_due,
            previous=previous,
        )

    @cached_property
    def work(self) -> WorkView | None:
        """What is known of the work, if that is limited."""
        work = self._sources.work
        return None if work is None else work.view()

    @cached_property
    def streams(self) -> tuple[LiveStream, ...]:
        """What is known of each stream."""
        return tuple(self._stream(s) for s in range(len(self._sources.plan.sides)))

    @cached_property
    def room(self) -> int | None:
        """Rows that may be held, less those monitored and counters; None without a limit."""
        budget = self._sources.plan.spec.budget
        if budget is not None and not budget.limits_memory:
            return None
        store = self._sources.store
        return self._limit - int(store.memory.rule["quota"][0])

    @cached_property
    def selectivities(self) -> Floats:
        """The share of rows that fitted, by stream that arrives and stream that is probed."""
        pairs = self._sources.store.memory.pairs
        return pairs["found"] / np.maximum(pairs["faced"], 1)

    @cached_property
    def fraction(self) -> float:
        """The sampling fraction now."""
        return self._sources.store.retention.fraction(self._sources.store.memory)

    @cached_property
    def elapsed(self) -> float:
        """For how long the streams have been observed."""
        observer = self._sources.observer
        return 0.0 if observer is None else observer.rates.elapsed

    @cached_property
    def lived(self) -> float:
        """For how long the join has run."""
        observer = self._sources.observer
        return 0.0 if observer is None else observer.lived

    @cached_property
    def half_life(self) -> float:
        """What was learned so long ago counts half."""
        observer = self._sources.observer
        return View.half_life if observer is None else observer.half_life

    @cached_property
    def followed(self) -> int:
        """Number of the model that has found most, or predicted best."""
        observer = self._sources.observer
        return 0 if observer is None else observer.followed

    @cached_property
    def is_decided(self) -> bool:
        """Whether that was chosen for what was observed."""
        observer = self._sources.observer
        return False if observer is None else observer.is_decided

    @cached_property
    def is_on_trial(self) -> bool:
        """Whether models are tried."""
        observer = self._sources.observer
        return observer is not None and observer.trial is not None

    @cached_property
    def tried_shares(self) -> tuple[float, ...] | None:
        """Shares of the streams in the memory of the model that found most in a trial."""
        observer = self._sources.observer
        if observer is None or observer.trial is None or not observer.trial.is_telling:
            return None
        return tuple(observer.trial.shares.tolist())

    def _stream(self, s: int) -> LiveStream:
        store, observer, rater = self._sources.store, self._sources.observer, self._sources.rater
        known: dict[str, Any] = {}
        if observer is not None:
            known = {"rate": observer.rates.of(s), "outlook": observer.outlooks[s]}
        return LiveStream(
            self,
            s,
            name=self._sources.plan.sides[s].name,
            life=rater.waits[s],
            part=float(store.memory.lives["span"][s]),
            held=int(store.memory.streams["held"][s]),
            share=float(store.memory.streams["share"][s]),
            importance=rater.importance[s],
            usual_importance=rater.usual_importance[s],
            given_matches=rater.given_matches(s),
            **known,
        )

    def keys_of(self, s: int) -> KeySample | None:
        """Return a sample of a stream's keys, if a division is due and they are counted."""
        observer, needs = self._sources.observer, self._sources.needs
        if not self.is_division_due or observer is None or observer.likeliness is None:
            return None
        values = observer.likeliness.values(s, needs.key_sample)
        if values is None:
            return None
        keys, rows = values
        per_time = match_rates(observer, s, keys, keys) if needs.match_rates else np.zeros(0)
        return KeySample(observer.likeliness.of(s, keys, keys), rows, per_time)

    def sampled_of(self, s: int) -> SampledRows | None:
        """Return a stream's rows in a sample, if a division is due."""
        store = self._sources.store
        if not self.is_division_due:
            return None
        rows = store.in_queue(s)
        chances = store.retention.chances(store.memory, rows)
        sizes = store.retention.sizes(store.memory, rows)
        if chances is None or sizes is None:
            return None
        return SampledRows(sizes, 1.0 / chances)

    def for_rating(self) -> View:
        """Return what is the same until the next review, and after a restart.

        What rows are held, and what has fitted, changes with every row.
        """
        changes = {"selectivities": np.zeros(0), "fraction": np.inf, "lived": 0.0, "work": None}
        known: dict[str, Any] = {
            each.name: getattr(self, each.name) for each in fields(View) if each.name not in changes
        }
        known["streams"] = tuple(each.for_rating() for each in self.streams)
        return View(**known | changes)


class LiveStream(StreamView):
    """One stream of a live view: its keys are sampled only if they are asked for."""

    _view: LiveView
    _number: int

    def __init__(self, view: LiveView, number: int, **known: Any) -> None:  # noqa: ANN401
        self.__dict__.update(known, _view=view, _number=number)

    @cached_property
    def keys(self) -> KeySample | None:
        """A sample of its keys."""
        return self._view.keys_of(self._number)

    @cached_property
    def sampled(self) -> SampledRows | None:
        """Its rows in a sample."""
        return self._view.sampled_of(self._number)

    def for_rating(self) -> StreamView:
        """Return what is the same until the next review."""
        known = {each.name: getattr(self, each.name) for each in fields(StreamView)}
        changes = {"held": 0, "keys": None, "sampled": None}
        return StreamView(**known | changes)


def match_rates(observer: Observer, s: int, values: Array, key_words: Integers) -> Floats:
    """Return the matches that rows can expect in a unit of time; NaN if nothing is known."""
    if observer.likeliness is None or not observer.rates.elapsed:
        return np.full(values.size, np.nan)
    rates = [observer.rates.of(o) for o in range(observer.turned.size)]
    return observer.likeliness.per_time(s, values, key_words, rates)
