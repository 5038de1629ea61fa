"""What a strategy is: statistics observe, a strategy decides, the engine acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from penstock.goals import Goal
from penstock.strategies.grades import grade_of

if TYPE_CHECKING:
    from penstock.costs import Costs
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.decision import Decision
    from penstock.strategies.view import Rows, View

__all__ = ["Floats", "Integers", "Model", "Needs", "Resource", "Strategy"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Resource(Enum):
    """What a strategy saves."""

    MEMORY = "memory"
    CPU = "cpu"
    BOTH = "both"


class Model(Protocol):
    """A model of the streams that predicts what rows will match."""

    name: ClassVar[str]

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return the results that each row will have in the next part of its life."""


@runtime_checkable
class TriedModel(Model, Protocol):
    """A model that can be tried on a sample of rows: it scores them. `ScoringStrategy` is one."""

    @property
    def belief(self) -> float:
        """Matches of a row that it takes to doubt what its key says; see `ScoringStrategy`."""

    @property
    def optimism(self) -> float:
        """Standard deviations that are added to what is expected of a row."""

    def by_age(self, outlook: Outlook) -> Floats:
        """Return the worth of each age, from 0 to a whole life, in parts of it."""

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return a factor that makes scores comparable between two streams."""


@dataclass(frozen=True)
class Needs:
    """What must be observed for a strategy: nothing costs where it is not needed.

    Attributes
    ----------
    draws
        A random number for each row.
    importance
        How much rows matter, and how much those of the other streams do.
    matches
        Results that each row in memory has had.
    rates
        Rows per unit of time; included in the next two.
    curves
        How a row's results are spread over its life.
    frequencies
        Of keys: how likely each row is to match.
    match_rates
        Matches that each row can expect in a unit of time by its key; of two streams.
    own_rates
        Rows of its own stream with each row's key in a unit of time; of two streams.
    measured_fits
        What was found in rows, by what was predicted of them when they came, for
        `WorkView.prospects`; with match rates, of two streams, where only work is limited.
    given_matches
        The numbers of matches that `Sample(matches=...)` gives.
    monitoring
        Whether some rows are kept for life, so that what is lost can be estimated.
    parts
        Into which a life is divided: it is decided as often. None for the goal's.
    key_sample
        Keys of a stream that a `KeySample` has.
    lags
        Parts of a window in which partners of arriving rows are distinguished, for `WorkView.lags`;
        0 if they are not.
    models
        Models of the streams whose predictions are compared: the view says which is best.
    tried
        Models that are compared by what each would find, where that can be tried: of two streams
        with equal keys. Each is a `ScoringStrategy`. The first one is followed at first. There
        `models` are not compared.
    """

    draws: bool = False
    importance: bool = False
    matches: bool = False
    rates: bool = False
    curves: bool = False
    frequencies: bool = False
    match_rates: bool = False
    own_rates: bool = False
    measured_fits: bool = False
    given_matches: bool = False
    monitoring: bool = True
    parts: int | None = None
    key_sample: int = 4096
    lags: int = 0
    models: tuple[Model, ...] = ()
    tried: tuple[Model, ...] = ()

    @property
    def statistics(self) -> bool:
        """Whether the streams have to be observed."""
        return self.rates or self.curves or self.frequencies

    def __or__(self, other: Needs) -> Needs:
        """Return what two strategies need together.

        Models, and those that are tried, are those of the first strategy that has models. Parts
        and keys are as many as the more demanding of the two asks for, among those for which
        streams are observed; the goal's parts if one of them leaves them to the goal.
        """
        flags = {
            each.name: getattr(self, each.name) or getattr(other, each.name)
            for each in fields(self)
            if isinstance(each.default, bool)
        }
        modelling = self if self.models else other
        observing = [each for each in (self, other) if each.statistics] or [self]
        parts = [each.parts for each in observing if each.parts is not None]
        return replace(
            self,
            **flags,
            parts=max(parts) if len(parts) == len(observing) else None,
            key_sample=max(each.key_sample for each in observing),
            lags=max(self.lags, other.lags),
            models=modelling.models,
            tried=modelling.tried,
        )


class Strategy(ABC):
    """One named algorithm: what it decides at the steps that it changes.

    A strategy has no state: the same view always leads to the same decision, so that a
    micro-batch that is run again after a crash is decided in the same way. Its parameters are
    the fields of a frozen dataclass; their ``repr`` is saved with the state. After a restart with
    others, the rows in memory are put into the order that the strategy then wants.
    docs/extending.md writes three from nothing.
    """

    name: ClassVar[str]
    serves: ClassVar[tuple[type[Goal], ...]] = (Goal,)
    spends: ClassVar[Resource] = Resource.MEMORY
    needs: ClassVar[Needs] = Needs()

    def __repr__(self) -> str:
        """Return the name of the class and its parameters: a restart compares them."""
        said = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({said})"

    @property
    def models(self) -> tuple[Model, ...]:
        """The models whose predictions are compared: those of `Needs.models`."""
        return self.needs.models

    @property
    def tried(self) -> tuple[Model, ...]:
        """The models that are compared by what each would find: those of `Needs.tried`."""
        return self.needs.tried

    @abstractmethod
    def decide(self, view: View) -> Decision:
        """Return what to do at each step until the next review.

        Called before the first row (`View.previous` is None), then after every so many arrivals,
        and whenever a part of a stream's life has gone by. To change nothing, return
        `view.previous`.
        """

    def grade(self, rows: Rows) -> Integers:
        """Return the grades of arriving rows, where chances are by stream and grade.

        A number from 0 to `GRADES` - 1 each. By default by their likeliness.
        """
        return grade_of(rows.likeliness)

    def charged(self, costs: Costs) -> Costs:
        """Return what steps are charged to a limit of work; by default what they cost."""
        return costs

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return a number for each row: what the order in which rows leave goes by.

        Called for rows that are about to arrive. A strategy that needs frequencies is asked after
        each review, and now and then again for the rows in memory; any other once for each
        micro-batch. None, the default, is for orders that need no rating.
        """
        del view, rows
        return None

    def begin_with(self, view: View, rows: Rows) -> Floats | None:
        """Return the priority that each arriving row has until priorities are computed.

        Called once for each micro-batch, if the order is a `ResidencePriority` with an initial
        one; None, the default, is for all others.
        """
        del view, rows
        return None
