"""What a strategy is given: what is known now, and the rows that it is to rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.outlook import Outlook

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from penstock.costs import Costs
    from penstock.strategies.decision import Decision

__all__ = ["KeySample", "Rows", "SampledRows", "StreamView", "View", "WorkView"]

Floats = npt.NDArray[np.float64]

_NONE: Floats = np.zeros(0)
_UNKNOWN = Outlook(AgeCurve([0.0]), 0.0, _NONE, _NONE)


@dataclass(frozen=True)
class KeySample:
    """Keys of a stream, for all that it has: what their frequencies say.

    Attributes
    ----------
    likeliness
        How likely a row with each key is to match, relative to the stream's average row so far.
    rows
        For how many rows each key stands.
    matches_per_time
        Matches that a row with each key can expect in a unit of time; of two streams.
    """

    likeliness: Floats
    rows: Floats
    matches_per_time: Floats

    @property
    def relative(self) -> Floats:
        """The likeliness with a mean of exactly 1 over these rows."""
        scaled: Floats = self.likeliness * (self.rows.sum() / (self.likeliness * self.rows).sum())
        return scaled


@dataclass(frozen=True)
class SampledRows:
    """Rows of a stream that are in a sample.

    Attributes
    ----------
    sizes
        The rating of each.
    weights
        For how many rows each stands.
    """

    sizes: Floats
    weights: Floats


@dataclass(frozen=True)
class StreamView:
    """What is known of one stream.

    Attributes
    ----------
    name
        Of the stream.
    life
        How long its rows wait for others, in units of time: its window, and the lateness of the
        other streams.
    part
        Length of a part of a life, in units of time.
    held
        Rows in memory.
    share
        Of the budget, as decided last.
    rate
        Rows per unit of time; `Needs.rates`.
    outlook
        Age curve, rate per part of a life, and the monitored rows; `Needs.curves`.
    keys
        A sample of its keys, whenever a division is due; `Needs.frequencies`. None if keys are
        not counted.
    sampled
        Its rows in a sample, whenever a division is due and keys are not counted.
    importance
        Importance of its latest rows, in ascending order; `Needs.importance`.
    usual_importance
        Of the results of these rows, on average; 0 if it is not known yet.
    given_matches
        Numbers of matches that its latest rows were given (`Sample(matches=...)`).
    """

    name: str
    life: float
    part: float
    held: int = 0
    share: float = 1.0
    rate: float = 0.0
    outlook: Outlook = _UNKNOWN
    keys: KeySample | None = None
    sampled: SampledRows | None = None
    importance: Floats = field(default_factory=lambda: _NONE)
    usual_importance: float = 0.0
    given_matches: Floats | None = None


@dataclass(frozen=True)
class WorkView:
    """What is known of the work: what is allowed, and what arrivals will need.

    Attributes
    ----------
    capacity
        Work that may be done in a unit of time.
    at_once
        The part of it that insertions may take until the next review: what rows in memory give has
        to be paid for as well.
    costs
        Of the steps, in units of time.
    rates
        Rows of each stream per unit of time, recently.
    lives
        How long rows of each stream wait for others, in units of time.
    selectivity
        The share of combinations of rows in the other streams' windows that fit an arriving row.
    compared
        Rows that are compared for each result; of a sample, for each match, drawn or not.
    grades
        For each stream and grade of key (`Strategy.grade`): rows per unit of time, and the matches
        that these rows together can expect in each unit of time that they wait
        (`Needs.match_rates`).
    found_ahead
        Results that rows in memory will give in each unit of time, until the longest life is over;
        of two streams.
    prospects
        As the second part of `grades`, by what was found in rows like these before they left
        (`Needs.measured_fits`); None if it is not counted.
    tried
        With `prospects`: whether there were enough such rows.
    whole
        Results that the exact join would give in a unit of time, by what a sample's stand for.
    orders
        For each stream the windows that its rows probe, one after the other; as all of the
        following `Needs.lags`.
    selectivities
        For each (stream that arrives, stream that is probed): the share of the window that fits an
        arriving row and what it has found before, recently.
    lags
        For each (stream that arrives, stream that is probed) the shares of the results whose rows
        were in each part of the window, newest first, recently.
    found_shares
        Shares of the results by stream that arrives, recently; None if they are not known.
    comparing
        Where an index leaves most rows out: comparisons of a row that probes whole windows, for
        each row in one of these. None where all rows are compared.
    skips
        Whether rows in parts of windows that are not probed are not compared.
    unevenness
        How many rows are in the parts that are probed, for each if they were spread evenly.
    scanned, checked
        For each (stream that arrives, stream that is probed), of vectors: scans of the window for
        each partial result that reaches it, as an arriving row is compared once whatever it has
        found; and comparisons of candidates with what was found before, for each row there. None
        of others.
    windows
        How long windows are that hold as many rows, all of an even stream, as those that are
        decided about, in units of time; None for `lives`.
    windows_now
        The same for those that are there now, by which `scanned` was measured;
        None for `windows`.
    """

    capacity: float
    at_once: float
    costs: Costs
    rates: Floats
    lives: Floats
    selectivity: float
    compared: float
    grades: Floats
    found_ahead: float = 0.0
    prospects: Floats | None = None
    tried: npt.NDArray[np.bool_] | None = None
    whole: float = 0.0
    orders: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    selectivities: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    lags: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    found_shares: Floats | None = None
    comparing: float | None = None
    skips: bool = True
    unevenness: float = 1.0
    scanned: Floats | None = None
    checked: Floats | None = None
    windows: Floats | None = None
    windows_now: Floats | None = None

    @property
    def found(self) -> Floats:
        """Results that the exact join would find in a unit of time, by the stream that arrives."""
        windows = self.rates * self.lives
        waiting = [np.delete(windows, s).prod() for s in range(windows.size)]
        found: Floats = self.rates * np.array(waiting) * self.selectivity
        return found

    @property
    def cost_of_result(self) -> float:
        """What a result costs, with the comparisons that have found it."""
        return self.costs.result + self.costs.compare * self.compared

    @property
    def left_for_steps(self) -> float:
        """The work for which a strategy can choose: arrivals cost what they cost."""
        return max(0.0, self.capacity - float(self.rates.sum()) * self.costs.arrival)

    @property
    def left_for_insertions(self) -> float:
        """The work that insertions, and what they will give within the longest life, may take."""
        return max(0.0, self.left_for_steps - self.found_ahead * self.cost_of_result)

    @property
    def waits_ahead(self) -> Floats:
        """How long rows that are inserted within the longest life will have waited at its end.

        Of two streams: on average over these rows, as many at any time.
        """
        waits: Floats = self.lives * (1.0 - self.lives / (2.0 * max(self.lives.max(), 1e-300)))
        return waits


@dataclass(frozen=True)
class View:
    """What is known now.

    Attributes
    ----------
    streams
        What is known of each stream.
    room
        Rows that may be held, those that are monitored not counted; None without a limit.
    goal
        What the user asked for.
    elapsed
        For how long the streams have been observed, in units of time; what is old counts less.
    lived
        For how long the join has run, in units of time.
    half_life
        What was learned so long ago counts half, in lives.
    turned
        Streams of which a part of a life has gone by since the last decision.
    is_division_due
        Whether it is time to divide memory again, or to solve a sampling fraction.
    followed
        Number of the model that has found most (`Needs.tried`), or predicted best
        (`Needs.models`).
    is_decided
        Whether that was chosen for what was observed.
    is_on_trial
        Whether models are tried: then `followed` is one of `Needs.tried`.
    tried_shares
        Shares of the streams in the memory of the model that found most, where models are tried;
        else None.
    selectivities
        For each (stream that arrives, stream that is probed): the share of rows that fitted.
    fraction
        The sampling fraction now.
    previous
        What was decided last; None at the first decision, before the first row.
    work
        What is known of the work; None without a limit, and before the first review.
    """

    streams: tuple[StreamView, ...]
    room: int | None
    goal: Any
    elapsed: float = 0.0
    lived: float = 0.0
    half_life: float = 2.0
    turned: tuple[int, ...] = ()
    is_division_due: bool = False
    followed: int = 0
    is_decided: bool = False
    is_on_trial: bool = False
    tried_shares: tuple[float, ...] | None = None
    selectivities: Floats = field(default_factory=lambda: _NONE)
    fraction: float = np.inf
    previous: Decision | None = None
    work: WorkView | None = None


def _no_column(name: str) -> pa.ChunkedArray:
    raise SpecificationError(
        must(
            f'column "{name}" in rate()',
            "asked for by a strategy that needs no frequencies",
            "one that does",
            "leave frequencies out of its needs, or rate rows by their likeliness",
        )
    )


@dataclass(frozen=True)
class Rows:
    """Rows of one stream that a strategy is to rate: they arrive, or wait in memory.

    Attributes
    ----------
    stream
        Index of the stream.
    ages
        In parts of a life.
    likeliness
        What the frequency of each one's key says: 1 is the average; `Needs.frequencies`.
    matches
        Results that each has had so far.
    matches_per_time
        Matches that each can expect in a unit of time by its key; `Needs.match_rates`. NaN if
        nothing is known.
    importance
        How much each matters; only if importance is the goal.
    given_matches
        The number of matches that each was given; None if there is none.
    draws
        Return a random number in [0, 1) for each, drawn from the seed and the row's own identity;
        `Needs.draws`.
    column
        Return a column of the rows by its name. Only of rows that arrive, and for strategies
        that need neither frequencies nor curves.
    like_it_per_time
        Rows of its own stream with its key in a unit of time; for `Strategy.grade`, with
        `Needs.own_rates`.
    all_per_time
        Rows of all streams in a unit of time; for `Strategy.grade`.
    """

    stream: int
    ages: Floats
    likeliness: Floats
    matches: Floats
    matches_per_time: Floats = field(default_factory=lambda: _NONE)
    importance: Floats | None = None
    given_matches: Floats | None = None
    draws: Callable[[], Floats] = lambda: _NONE
    column: Callable[[str], pa.ChunkedArray] = _no_column
    like_it_per_time: Floats = field(default_factory=lambda: _NONE)
    all_per_time: float = 0.0

    @classmethod
    def arriving(
        cls,
        stream: int,
        count: int,
        *,
        draws: Callable[[], Floats] = lambda: _NONE,
        importance: Floats | None = None,
        column: Callable[[str], pa.ChunkedArray] = _no_column,
    ) -> Rows:
        """Return rows that arrive, of which nothing is known but what they hold."""
        zeros, ones = np.zeros(count), np.ones(count)
        return cls(stream, zeros, ones, zeros, importance=importance, draws=draws, column=column)
