"""Steps that arriving rows leave out, and for how many rows those stand that take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.actions import set_actions
from penstock.engine.arrays import below
from penstock.engine.expected_variance import ExpectedVariance
from penstock.engine.lives import lengths_of

# Columns of `Memory.chances` that are decided on, before those that the loop writes.
CHANCES = 3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.strategies import Decision


class ShedSteps:
    """Turns decisions into what each arrival does, and notes what is needed to estimate the rest.

    Nothing is drawn and nothing is noted until a decision first sheds rows.

    Parameters
    ----------
    plan, store
        The join and its memory.
    draws_always
        Whether draws decide about more than steps, so that all rows need them.
    count_from
        Called before the first arrival that may leave out steps, with its place in the batch:
        counts keys from then on. Returns whether that tells the size of the exact result.
    fits
        Whether what is found in rows is added up.

    Attributes
    ----------
    has_shed
        Whether rows were shed so far, or may have been.
    expected_variance
        How uncertain the estimate of all results must be at least.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        *,
        draws_always: bool,
        count_from: Callable[[int], bool],
        fits: bool,
    ) -> None:
        self._store = store
        self._draws_always = draws_always
        self._count_from = count_from
        self._fits = fits
        budget = plan.spec.budget
        # Where rows are evicted as well, monitored rows say what is lost.
        self._meters = budget is not None and not budget.limits_memory
        self._draw: Callable[[], None] | None = None  # for the rows of the batch, if not done
        self.has_shed = False
        self.expected_variance = ExpectedVariance(
            np.array([float(life) for life in lengths_of(plan)])
        )

    def draw_when_needed(self, draw: Callable[[], None]) -> None:
        """Set how to draw for the rows of a batch."""
        self._draw = draw
        if self._draws_always:
            self._draw_now()

    def _draw_now(self) -> None:
        if self._draw is not None:
            self._draw()
            self._draw = None

    def set(
        self, arrivals: Array, at: int, stop: int, decision: Decision, grades: Integers | None
    ) -> None:
        """Set which steps arrivals[at:stop] leave out, if any were ever left out."""
        if not decision.sheds_arrivals and not self.has_shed:
            return
        if not self.has_shed:
            by_count = self._count_from(at)
            if self._meters:
                self._store.meter(by_count=by_count, fits=self._fits)
            found = self._store.memory.gauges["total"]
            # By the streams that arrive: those of monitored rows, which wait, are two.
            by_arriving = found if self._meters else found[::-1]
            self.expected_variance.begin(by_arriving, self._store.times_held())
        self.has_shed = True
        self._draw_now()  # where nothing is shed as well: the loop may have to
        self._store.reserve_chances(arrivals.size)
        memory = self._store.memory
        memory.key_grades[at:stop] = 0 if grades is None else grades
        memory.chances[at:stop, :CHANCES] = 1.0
        if decision.sheds_arrivals:
            memory.chances[at:stop, :CHANCES] = set_actions(arrivals[at:stop], decision, grades)

    def note(
        self,
        arrivals: Array,
        at: int,
        stop: int,
        match_rates: Floats | None,
    ) -> None:
        """Note that arrivals[at:stop] were dealt with; match rates are of these."""
        if self.has_shed:
            chances = self._store.memory.chances[at:stop]
            if not self._meters:
                # Of the rows that are inserted only the monitored ones show what is lost.
                monitored = float(self._store.memory.rule["threshold"][0])
                chances = chances * _monitored(monitored)
            self.expected_variance.add(arrivals[at:stop], chances, match_rates)

    def save(self) -> dict[str, Array]:
        """Return the state, for `restore`."""
        saved: dict[str, Array] = {"has_shed": np.array([self.has_shed])}
        if self.has_shed:
            saved["weighing"] = self._store.memory.weighing
            expected = self.expected_variance.save()
            saved |= {f"expected.{name}": each for name, each in expected.items()}
        return saved

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        self.has_shed = bool(saved["has_shed"][0])
        if self.has_shed:
            self._store.memory.weighing[:] = saved["weighing"]
            self.expected_variance.restore(below(saved, "expected."))


def _monitored(chance: float) -> Floats:
    """Return by what the columns of chances are multiplied if so many rows are monitored."""
    return np.array([1.0, chance, 1.0, 1.0, 1.0 / chance])
