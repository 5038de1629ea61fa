"""Observe, decide, act: at fixed points, so that any cut into batches leads to the same decisions.

A strategy decides before the first row, after every so many arrivals, and whenever a part of a
stream's life has gone by. In between the engine does what was decided last.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.acting import act_on, resume
from penstock.engine.arrays import below
from penstock.engine.decision_checks import check_goal, check_same_order
from penstock.engine.decision_state import from_arrays, to_arrays
from penstock.engine.first_decision import needs_of
from penstock.engine.grading import Grader
from penstock.engine.kernels.layout import TICK
from penstock.engine.live_view import LiveView, Sources, match_rates
from penstock.engine.measured_fits import noted
from penstock.engine.observing import Observer
from penstock.engine.rater import Rater
from penstock.engine.row_fields import PREDICTED_FIT
from penstock.engine.shed_steps import ShedSteps
from penstock.engine.trials import trial_of
from penstock.strategies import Strategy, combine
from penstock.strategies.quality import in_proportion, quality_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.intake import Columns, Merged
    from penstock.engine.keys import KeyCoder
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.engine.work import Work
    from penstock.statistics.allotment import QualityCurve
    from penstock.strategies import Decision, View


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
    work
        The account of work; None if it is not limited.
    count_from
        See `ShedSteps`.
    """

    def __init__(
        self,
        plan: Plan,
        strategies: Sequence[Strategy],
        store: Store,
        coder: KeyCoder,
        rows: int,
        scores: ImportanceScores | None,
        work: Work | None = None,
        *,
        count_from: Callable[[int], bool] = lambda _: False,
    ) -> None:
        needs = needs_of(strategies)
        self._plan = plan
        self._strategies = tuple(strategies)
        self._needs = needs
        self._store = store
        self._limit = rows
        self._rater = Rater(plan, store, strategies[0], needs, scores if needs.importance else None)
        self.observer: Observer | None = None
        if needs.statistics:
            lead = strategies[0]
            models = needs.models or lead.models
            trial = trial_of(plan, lead, store)
            self.observer = Observer(plan, needs, models, store, coder, rows, trial)
        self._grader = Grader(self.observer, strategies[-1], needs)
        self._work = work
        self._sources = Sources(plan, store, self.observer, self._rater, needs, work)
        self._piece: tuple[int, Integers | None, Floats | None] = (0, None, None)
        # Rows that are observed while nothing is shed, of all since the last review or the batch's
        # beginning, and the place in the batch up to which they came.
        self._sampled: list[Array] = []
        self._reached = 0
        self._rows: Integers | None = None  # places of the batch's rows, if it has ticks
        budget = plan.spec.budget
        # Where only work is limited, rows stay until they expire: none is rated, or rated again.
        self._limits_memory = budget is not None and budget.limits_memory
        self._rates_rows = budget is None or self._limits_memory or plan.is_sample
        draws = self._rates_rows or needs.draws
        self.steps = ShedSteps(
            plan,
            store,
            draws_always=draws,
            count_from=count_from,
            fits=work is not None and work.fits is not None,
        )
        self._rating_view: View | None = None
        self.decisions = [
            each.decide(LiveView(self._sources, rows, None)) for each in self._strategies
        ]
        self.decision = self._combined()
        self._apply(())

    # --- The batch, in pieces

    def rate_batch(
        self,
        sides: Sequence[Columns],
        merged: Merged,
        payloads: Sequence[Payload],
        importance: Sequence[Floats] | None,
    ) -> None:
        """Have the rows of a batch rated by what they hold, where nothing else is needed."""
        rates = type(self._strategies[0]).rate is not Strategy.rate
        if rates and not self._rater.rates_pieces:
            self._rater.rate_batch(self._view_for_rating(), sides, merged, payloads, importance)

    def begin_batch(self, arrivals: Array, given: Floats | None) -> None:
        """Find where parts of lives end."""
        self._rater.begin_batch(given)
        ticks = arrivals["blank"] == TICK
        self._rows = np.flatnonzero(~ticks) if np.any(ticks) else None
        if self.observer is not None and self.observer.begin_batch(arrivals):
            everything = range(len(self._plan.sides))
            order = self.decision.retain.order
            self._store.retention.apply(self._store.memory, order, everything)

    def next_edge(self, at: int, stop: int) -> int:
        """Return where the piece that begins at an arrival ends, at the latest at `stop`.

        Where only work is limited, parts of lives make no difference.
        """
        if self.observer is None or not self._rates_rows:
            return stop
        return self.observer.next_edge(at, stop)

    def begin_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Decide again if a part of a life has gone by, and set the steps of the rows to come."""
        if self._work is not None and self._work.pace.rests:
            places = self._places_observed(self._work.pace.every, at, stop)
            self._sampled.append(arrivals[places])
            return
        observer = self.observer
        if observer is not None:
            turned = observer.reach(at)
            for s, part in turned if self._rates_rows else ():
                self._turn(observer, s, part)
            if self._rater.rates_pieces:
                observer.look_at(arrivals, at, stop)
            if self._rater.rates_pieces and self._rates_rows:
                view = self._view_for_rating()
                self._rater.rate_piece(view, observer, arrivals, partial(match_rates, observer))
        grades, fitting = None, None
        if self.decision.sheds_arrivals or self.steps.has_shed or self._work is not None:
            grades, fitting = self._grader.graded(at, stop)
        if fitting is not None and self._work is not None and self._work.fits is not None:
            arrivals[PREDICTED_FIT][at:stop] = noted(fitting)
        self.steps.set(arrivals, at, stop, self.decision, grades)
        self._piece = at, grades, fitting

    def _places_observed(self, every: int, at: int, stop: int) -> Integers:
        """Return the places of a piece's rows that are observed, one of so many.

        By the rows' numbers, so that they are the same in any cut into batches.
        """
        first = -int(self._store.memory.rule["arrivals"][0]) % every
        if self._rows is None:
            return np.arange(at + first, stop, every)
        begin, end = np.searchsorted(self._rows, (at, stop))
        return self._rows[begin:end][first::every]

    def _take_in_sampled(self) -> None:
        """Note the rows that were observed while nothing was shed."""
        if not self._sampled or self._work is None:
            return
        rows = np.concatenate(self._sampled)
        self._sampled.clear()
        observer = self.observer
        if observer is not None and self._rater.rates_pieces:
            observer.look_at(rows, 0, rows.size)
        self._work.note(rows, *self._grader.graded(0, rows.size))
        if observer is not None:
            observer.end_sampled_piece(self._reached, rows.size, self._work.pace.every)

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Note the rows that came."""
        if self._work is not None and self._work.pace.rests:
            self._reached = stop
            if stop == arrivals.size:
                self._take_in_sampled()
            return
        began, grades, fitting = self._piece
        rows, own = arrivals[at:stop], slice(at - began, stop - began)
        grades = None if grades is None else grades[own]
        fitting = None if fitting is None else fitting[own]
        if self.steps.has_shed:
            self.steps.note(arrivals, at, stop, self._grader.match_rates(rows, fitting))
        if self._work is not None:
            self._work.note(rows, grades, fitting)
        if self.observer is not None:
            if self.observer.trial is not None:
                matters = self._rater.relative_importance(self._view_for_rating())
                self.observer.trial.take(arrivals, at, stop, self.observer.coming, matters)
            self.observer.end_piece(arrivals, at, stop)
            self._rater.end_piece(self.observer, stop)

    def review(self, limit: int) -> None:
        """Take in what was observed and decide; called after every so many arrivals."""
        self._limit = limit
        self._rating_view = None
        self._take_in_sampled()
        if self._work is not None:
            self._work.review()
        observer = self.observer
        if observer is not None:
            observer.review()
            observer.review_trial(self._room)
            if observer.now is not None and self._rates_rows:
                self._rater.review()
                for s in range(len(self._plan.sides)):
                    self._rater.rate_again(s, self._view_for_rating, observer)
                rates = partial(match_rates, observer)
                self._rater.rate_first(self._view_for_rating, observer, rates)
        if self._work is not None and self._work.pace.rests:
            return  # all steps are taken, and will be
        before = self.decision
        self._decide()
        if self.decision is not before:
            self._apply(())

    @property
    def _room(self) -> int:
        """Rows that may be held beside monitored ones."""
        memory = self._store.memory
        return self._limit - int(memory.rule["quota"][0])

    def quality(self) -> QualityCurve | None:
        """Return what would be made of other numbers of rows, by what is known now."""
        if self.observer is None:
            # As many rows are alive as the monitored ones stand for.
            memory = self._store.memory
            monitored = memory.monitored[: int(memory.rule["monitored"][0])]
            alive = float(np.sum(1.0 / monitored["chance"]))
            return in_proportion(len(self._plan.sides), alive) if alive else None
        view = LiveView(self._sources, self._limit, self.decisions[0], is_division_due=True)
        return quality_of(view, self._strategies[0])

    def redefine(self) -> None:
        """Rate all rows again: importance has been redefined."""
        if not self._needs.importance:
            return
        if self.observer is not None and self._rater.rates_pieces:
            for s in range(len(self._plan.sides)):
                self._rater.rate_again(s, self._view_for_rating, self.observer, at_once=True)
            return
        self._rater.note_ratings()
        self.rate_by_importance()

    def rate_by_importance(self) -> None:
        """Rate all rows in memory by their importance now, where that is what ratings are."""
        self._rater.rate_by_importance(self._view_for_rating())

    # --- Deciding

    def _turn(self, observer: Observer, s: int, part: int) -> None:
        """Decide again: a part of a stream's life has gone by."""
        memory = self._store.memory
        steps = part - int(memory.lives["now"][s])
        changed = observer.turn(s, part)
        self._store.retention.turn(memory, s, part)
        memory.lives["now"][s] = part
        is_due = observer.is_division_due(s, steps)
        if is_due and self._needs.models and not self._needs.monitoring:
            observer.compare_in_sample()
        if is_due:
            changed |= observer.settle()
        # If another model is followed, the rows of all streams are rated again.
        turned = tuple(range(len(self._plan.sides))) if changed else (s,)
        self._decide(turned, is_division_due=is_due)
        self._apply(turned)
        for each in turned:
            self._rater.rate_again(each, self._view_for_rating, observer, at_once=changed)

    def _decide(self, turned: tuple[int, ...] = (), *, is_division_due: bool = False) -> None:
        before = self.decision.retain.order
        for at, strategy in enumerate(self._strategies):
            view = LiveView(
                self._sources,
                self._limit,
                self.decisions[at],
                turned,
                is_division_due=is_division_due,
            )
            self.decisions[at] = strategy.decide(view)
        self.decision = self._combined()
        if self._work is not None:
            self._work.act_on(self.decision)
        self._rating_view = None
        check_same_order(self._strategies[0].name, before, self.decision.retain.order)

    def _combined(self) -> Decision:
        """Return what all strategies have decided together."""
        decision = self.decisions[0]
        for other in self.decisions[1:]:
            decision = combine(decision, other)
        check_goal(self._plan, self._strategies[0].name, decision)
        return decision

    def _view_for_rating(self) -> View:
        """Return what was known at the last review."""
        if self._rating_view is None:
            live = LiveView(self._sources, self._limit, self.decisions[0])
            self._rating_view = live.for_rating()
        return self._rating_view

    # --- Acting

    def _apply(self, turned: Sequence[int]) -> None:
        """Set what the compiled loop acts on."""
        has_shed, limits_memory = self.steps.has_shed, self._limits_memory
        act_on(self._store, self.decision, turned, has_shed=has_shed, limits_memory=limits_memory)

    # --- State

    def save(self) -> dict[str, Array]:
        """Return what was observed and decided, for `restore`."""
        saved: dict[str, Array] = {
            "limit": np.array([self._limit]),
        }
        if self._store.memory.rule["sub_windows"][0]:
            saved["parts_probed"] = self._store.memory.parts_probed
        saved |= {f"steps.{name}": array for name, array in self.steps.save().items()}
        saved |= {f"rater.{name}": array for name, array in self._rater.save().items()}
        for number, decision in enumerate(self.decisions):
            saved |= {f"decision.{number}.{n}": a for n, a in to_arrays(decision).items()}
        if self.observer is not None:
            saved |= {f"observer.{name}": array for name, array in self.observer.save().items()}
        return saved

    def carry_over(
        self, saved: Mapping[str, Array], now: float, *, same_strategy: bool, same_rows: bool
    ) -> None:
        """Go on with what was observed for another budget or strategy.

        `same_rows` is whether rows are rated as before.
        """
        if self._work is not None and "steps.weighing" in saved:
            self.steps.restore(below(saved, "steps."))
        if self.observer is not None:
            self.observer.carry_over(below(saved, "observer."), now, same_strategy=same_strategy)
        if not saved or not same_strategy:
            return
        if same_rows:
            self._rater.restore(below(saved, "rater."))
        self.decisions = self._decisions_in(saved)

    def take_over(self, rows: int, payloads: Sequence[Payload], *, rates: bool) -> None:
        """Decide by what is known, and keep all rows in the order of that.

        `rates` is whether rows have to be rated, as another strategy has kept them.
        """
        self._limit = rows
        everything = tuple(range(len(self._plan.sides)))
        self.decision = self._combined()
        self._decide(everything, is_division_due=True)
        if rates and type(self._strategies[0]).rate is not Strategy.rate and self._rates_rows:
            self._rater.rate_held(self._view_for_rating(), self.observer, payloads)
        else:
            self.rate_by_importance()  # which is not saved
        self._apply(everything)

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        self.steps.restore(below(saved, "steps."))
        self._limit = int(saved["limit"][0])
        self._rater.restore(below(saved, "rater."))
        self.decisions = self._decisions_in(saved)
        if self.observer is not None:
            self.observer.restore(below(saved, "observer."))
        self.decision = self._combined()
        if self._work is not None:
            self._work.resume(self.decision)
        self._rating_view = None
        parts_probed = saved.get("parts_probed")
        resume(self._store, self.decision, parts_probed, has_shed=self.steps.has_shed)

    def _decisions_in(self, saved: Mapping[str, Array]) -> list[Decision]:
        numbers = range(len(self._strategies))
        return [from_arrays(below(saved, f"decision.{number}.")) for number in numbers]
