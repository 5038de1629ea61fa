"""Strategies that evict by score: what is expected of a row, times what its age is worth."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.expected_importance import relative_importance
from penstock.strategies.base import Floats, Model, Needs, Strategy
from penstock.strategies.decision import Decision, Retain
from penstock.strategies.division import shares_of
from penstock.strategies.orders import LowestScore

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.view import Rows, View

__all__ = ["ScoringStrategy"]


class ScoringStrategy(Strategy):
    """Keep rows by score, and divide memory so that all windows together give most.

    A row's weight is what is expected of it: 1 on average, and known only roughly, so rows are
    put into grades. Where several models may be right, the one is followed that finds most
    (`Needs.tried`) or, where that cannot be tried, predicts best (`Needs.models`).
    """

    needs: ClassVar[Needs] = Needs(rates=True, matches=True)
    grades_per_octave: ClassVar[int] = 0  # into which weights are put; 0 if all are alike
    needs_fresh: ClassVar[bool] = False  # likeliness of today, not of when a row came
    # Of a row's matches that it takes to doubt what its key says, where a trial is to score as
    # `weights` does: infinite if the key always holds, -1 if all keys are alike.
    belief: ClassVar[float] = -1.0
    # Of what is not known of a row, the standard deviations that are added to what is expected.
    optimism: float = 0.0
    fairness: float = 0.0

    @abstractmethod
    def by_age(self, outlook: Outlook) -> Floats:
        """Return the worth of each age, from 0 to a whole life, in parts of it."""

    @abstractmethod
    def output(self, outlook: Outlook, rows: Floats) -> Floats:
        """Return the results per part of time that it would make of so many rows."""

    @abstractmethod
    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return the results that each row will have in the next part of its life."""

    def weights(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return what is expected of each row, by its key and its past; 1 is the average."""
        del outlook
        return np.ones(rows.ages.size)

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return a factor that makes scores comparable between two streams: results per time.

        Parameters
        ----------
        outlook
            Of the stream whose rows are scored.
        part
            Length of a part of a life, in units of time.
        partner_rate
            Rows of the other stream per unit of time.
        """
        del outlook, partner_rate
        return 1.0 / part

    @property
    def forecasts(self) -> tuple[ScoringStrategy, ...]:
        """The models that say what it makes of memory: it finds what the best of them finds."""
        return (self,)

    @property
    def models(self) -> tuple[Model, ...]:
        """The models whose predictions are compared: the strategy itself if it names none."""
        return self.needs.models or (self,)

    @property
    def tried(self) -> tuple[Model, ...]:
        """The models that are compared by what they find, if importance is all that counts."""
        return () if self.fairness else self.needs.tried

    def followed(self, view: View) -> ScoringStrategy:
        """Return the model that is followed now, or the strategy itself if it has none."""
        models = self.needs.tried if view.is_on_trial else self.needs.models
        if not models:
            return self
        model = models[view.followed]
        assert isinstance(model, ScoringStrategy)  # noqa: S101  # our own strategies name these
        return model

    def decide(self, view: View) -> Decision:
        """Evict by score; share the budget equally until the streams are known."""
        model = self.followed(view)
        before = None if view.previous is None else view.previous.retain
        if view.previous is not None and not view.turned:
            return view.previous
        shares = tuple(stream.share for stream in view.streams)
        if view.is_division_due:
            shares = view.tried_shares or shares_of(view, model, self)
        kept = () if before is None else before.order.worth  # type: ignore[attr-defined]
        worth = tuple(
            self._worth(model.by_age(stream.outlook)) if s in view.turned or not kept else kept[s]
            for s, stream in enumerate(view.streams)
        )
        order = LowestScore(worth, self.grades_per_octave, model.needs_fresh)
        return Decision(retain=Retain(order, shares))

    def _worth(self, by_age: Floats) -> Floats:
        if not self.fairness:
            return by_age
        # Over the age: rows then stay for a time that grows as worth ** ((1 - f) / f), and by age
        # alone the oldest leaves first.
        ages = np.arange(by_age.size) + 0.5
        worth: Floats = by_age ** (1.0 - self.fairness) / ages**self.fairness
        return worth

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return the weight of each row, times how much its results matter."""
        if not self.grades_per_octave:
            return None
        weights = self.followed(view).weights(view.streams[rows.stream].outlook, rows)
        if self.needs.importance and rows.importance is not None:
            weights = weights * relative_importance(
                view.goal.result,
                rows.importance,
                view.streams[rows.stream].usual_importance,
                [each.importance for s, each in enumerate(view.streams) if s != rows.stream],
            )
        return weights ** (1.0 - self.fairness) if self.fairness else weights
