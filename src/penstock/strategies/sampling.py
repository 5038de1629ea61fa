"""Strategies that draw a sample: of rows with all their matches, or of matches one by one.

The sampling fraction falls by itself whenever memory is full, and results carry the chance that
this leaves them. Here it is raised again, for the rows to come, if by what is known of the streams
memory has room for more.

Where work is limited, it is solved at every review from the work that is left, and set whether it
is greater or smaller than before; with a limit of memory as well, the smaller of both holds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.sampling_fraction import solve_fraction_near
from penstock.statistics.sampling_memory import mean_for
from penstock.strategies.base import Floats, Needs, Resource, Strategy
from penstock.strategies.decision import Decision, Emit, Retain
from penstock.strategies.grades import GRADES, likeliness_of
from penstock.strategies.orders import SampleThreshold
from penstock.strategies.sampled_steps import steps_by_size, steps_of_clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.strategies.sampled_steps import SampledSteps
    from penstock.strategies.view import Rows, View, WorkView

__all__ = ["CHANCE_OF_MORE", "Population", "SamplingStrategy"]

# No size is below this: chances, and weights, stay within bounds whatever keys come.
_LEAST_SIZE = 0.02
# Memory is to be full with this chance at a time.
CHANCE_OF_MORE = 0.05
# The fraction is changed only by this factor or more.
_WORTHWHILE = 1.01
# Of the work that is shared out, the part that a sample has whatever arrivals cost: if these alone
# took all of it, nothing would be known of the results any more.
_LEAST_LEFT = 0.01


@dataclass(frozen=True)
class Population:
    """The rows of one stream that are alive at a time, in groups.

    Attributes
    ----------
    rows
        How many there are.
    sizes, shares
        What is expected of them: sizes of clusters, or matches, and the share of the rows that
        has each.
    cumulative
        Their age curve, added up: matches by each age. Where matches are chosen by the age model;
        else empty.
    is_exact
        Whether the sizes are not means but the very numbers of matches.
    """

    rows: float
    sizes: Floats
    shares: Floats
    cumulative: Floats
    is_exact: bool = False


class SamplingStrategy(Strategy):
    """Draw rows with a chance of the sampling fraction, or of the fraction times their size."""

    spends: ClassVar[Resource] = Resource.BOTH
    needs: ClassVar[Needs] = Needs(
        rates=True, matches=True, monitoring=False, parts=8, key_sample=1024
    )
    by_match: ClassVar[bool] = False  # matches are drawn one by one
    by_size: ClassVar[bool] = False  # rows are drawn by what is expected of them

    @abstractmethod
    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Return the fraction with which so many rows are held on average.

        Where it is below `least`, any number that is will do: only a greater one is of use.
        """

    def decide(self, view: View) -> Decision:
        """Draw by lot; there are no shares, as one fraction holds for all streams."""
        if view.previous is None:
            order = SampleThreshold(self._most(view), self.by_match, self.draws_by_size(view))
        else:
            last = view.previous.retain.order
            assert isinstance(last, SampleThreshold)  # noqa: S101  # decided by this strategy
            fraction = None
            order = last
            if view.is_division_due:
                order = replace(order, by_size=self.draws_by_size(view))
                fraction = self._solve(view)
            if view.work is not None and (view.is_division_due or not view.turned):
                fraction = self._solve_work(view, view.work, fraction)
            if fraction is None and last.fraction is None and not view.is_division_due:
                return view.previous
            order = replace(order, fraction=fraction)
        return Decision(emit=Emit(only_drawn=True), retain=Retain(order))

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return sizes of clusters on one scale for all streams: 1 is the largest's average."""
        if not self.needs.frequencies:
            return None
        return _sizes(view, rows.stream, rows.likeliness)

    def mean_rows(self, room: float) -> float:
        """Return how many rows `fraction` may hold on average, in so much room."""
        return mean_for(room, CHANCE_OF_MORE)

    def _most(self, view: View) -> float:
        return view.goal.fraction or (1.0 if self.by_match else np.inf)

    def draws_by_size(self, view: View) -> bool:
        """Return whether rows are drawn by what is expected of them now."""
        if not self.needs.models or self.by_match:
            return self.by_size
        return self._follows_keys(view)

    def _follows_keys(self, view: View) -> bool:
        model = self.needs.models[view.followed] if self.needs.models else self
        return model.name in ("prob", "pps-cluster")

    def _solve(self, view: View) -> float | None:
        """Return a greater fraction if memory would hold more on average; None if not."""
        solver, populations = self.solver(view), self.populations(view)
        if view.room is None or not any(each.rows > 0 for each in populations):
            return None
        rows = self.mean_rows(view.room)
        least = _WORTHWHILE * view.fraction
        most = self._most(view)
        if least >= most:
            return None
        fraction = min(solver.fraction(rows, populations, least), most)
        return fraction if fraction > least else None

    def solver(self, view: View) -> SamplingStrategy:
        """Return the strategy whose equation gives the fraction: this one, or the one followed."""
        followed = self.needs.models[view.followed] if self.needs.models else self
        return followed if isinstance(followed, SamplingStrategy) else self

    def populations(self, view: View) -> list[Population]:
        """Return what is known of the rows of each stream that are alive at a time."""
        return [self._population(view, s) for s in range(len(view.streams))]

    def _solve_work(self, view: View, work: WorkView, by_memory: float | None) -> float | None:
        """Return another fraction if there is work for more or for less; None if not.

        `by_memory` is a greater one, if memory would hold more; None if it would not.
        """
        by_work = min(self._affordable(view, work), self._most(view))
        if by_work * _WORTHWHILE < view.fraction:
            return by_work
        if view.room is not None:
            if by_memory is None:
                return None
            by_work = min(by_work, by_memory)
        return by_work if by_work > _WORTHWHILE * view.fraction else None

    def _affordable(self, view: View, work: WorkView) -> float:
        """Return the fraction for which there is work now; infinite if there is for all."""
        steps = self.steps(view, work)
        # From here on every row, or match, is drawn.
        all_drawn = 1.0 / _LEAST_SIZE if self.draws_by_size(view) else 1.0
        left = max(work.left_for_steps, _LEAST_LEFT * work.capacity)
        start = min(view.fraction, all_drawn)
        fraction = solve_fraction_near(start, all_drawn, left, lambda p: steps(p).work(work))
        return fraction if fraction < all_drawn else np.inf

    def steps(self, view: View, work: WorkView) -> Callable[[float], SampledSteps]:
        """Return a function: the steps that a fraction takes in a unit of time."""
        if not self.draws_by_size(view):
            return steps_of_clusters(work)
        likely = likeliness_of(np.arange(GRADES))
        sizes = [_sizes(view, s, likely) for s in range(len(view.streams))]
        return steps_by_size(work, list(work.grades[:, :, 0]), sizes)

    def _population(self, view: View, s: int) -> Population:
        """Return what is known of a stream's rows that are alive at a time."""
        stream = view.streams[s]
        rows, alone, none = stream.rate * stream.life, np.ones(1), np.zeros(0)
        if not self._follows_keys(view):
            return Population(rows, alone, alone, none)
        if stream.keys is not None:
            shares = stream.keys.rows / stream.keys.rows.sum()
            return Population(rows, _sizes(view, s, stream.keys.likeliness), shares, none)
        return self._population_in_memory(view, s)

    def _population_in_memory(self, view: View, s: int) -> Population:
        """Return it from the rows in memory, each for as many as it stands for."""
        stream = view.streams[s]
        rows, none = stream.rate * stream.life, np.zeros(0)
        if stream.sampled is None or not stream.sampled.sizes.size:
            return Population(rows, np.ones(1), np.ones(1), none)
        weights = stream.sampled.weights
        return Population(rows, stream.sampled.sizes, weights / weights.sum(), none)


def _sizes(view: View, s: int, likeliness: Floats) -> Floats:
    scales = [rate_of_others(view, o) * each.life for o, each in enumerate(view.streams)]
    scale = scales[s] / max(scales) if max(scales) > 0 else 1.0
    return np.maximum(likeliness * scale, _LEAST_SIZE)


def rate_of_others(view: View, s: int) -> float:
    """Return the product of the rates of all streams but one."""
    return float(np.prod([each.rate for o, each in enumerate(view.streams) if o != s]))
