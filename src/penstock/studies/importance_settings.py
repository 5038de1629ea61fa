"""The two scales at which importance is studied: the paper's and a user's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.budget import Budget
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.strategies import strategies_for
from penstock.studies.by_the_book import Ijoin, simulate
from penstock.studies.importance_contenders import (
    CONTENDERS,
    EXACT,
    IJOIN_SECONDS,
    OPTIMUM,
    importance_goal,
    with_times,
)
from penstock.studies.importance_streams import ImportanceStreams, exact_importance
from penstock.studies.optimum import optimal_importance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.goals import MaxImportance
    from penstock.studies.importance_streams import MadeStreams

__all__ = [
    "COUNTED",
    "PRINTED",
    "SLOW",
    "SLOWER",
    "USERS",
    "ImportanceFound",
    "PapersScale",
    "UsersScale",
    "papers_scale",
]

PRINTED, COUNTED, SLOW = "100 to 200/s", "5/s", "1 to 2/s"
SLOWER, USERS = "1 every 2 to 4 s", "user's scale"
"""Names of settings, by the rate of each stream: as Table 5 prints it; as Table 6 counts it,
1,000 decisions in 100 s; so slow that rows mature; so slow that 10 rows hold most of a window
of 10 s; and thousands of rows."""

# Rates and seconds.
_READINGS = {
    PRINTED: ((100.0, 200.0), 50),
    COUNTED: ((5.0, 5.0), 400),
    SLOW: ((1.0, 2.0), 1_000),
    SLOWER: ((0.25, 0.5), 2_000),
}

# A share of the memory: the usual 5 % of 10 rows would be none.
_MONITORED = 0.2
# The optimum is a linear program over all results, so it gets fewer rows.
_ROWS_OF_OPTIMUM = 3_000
_FEW_VALUES = 20
_MOST_IMPORTANT = 100.0
# Of the importance of rows, P(importance > x) = x**-1.5.
_TAIL = 1.5
# The optimum is a linear program over all results, so it gets a tenth of the scale.
_TENTH = 10


class ImportanceFound(NamedTuple):
    """What one contender found on one pair of streams.

    Attributes
    ----------
    importance, results
        Importance and number of all results, divided by the number of rows that came.
    fairness
        Jain's index of how long rows stayed, eq. 4; NaN for yardsticks.
    rows
        Rows that came, of both streams.
    recomputations
        How many times priorities were recomputed; NaN for yardsticks.
    """

    importance: float
    results: float
    fairness: float
    rows: int
    recomputations: float


def _join(
    tables: Mapping[str, pa.Table],
    window: float,
    goal: MaxImportance,
    budget: Budget | None = None,
) -> Join:
    """Return the join of streams with columns ``time``, ``key`` and ``importance``."""
    streams = {name: Stream(time="time", window=window) for name in tables}
    return Join(streams=streams, on=Equal("key"), goal=goal, budget=budget)


def _replay(
    tables: Mapping[str, pa.Table], window: float, goal: MaxImportance, budget: Budget
) -> ImportanceFound:
    """Run the engine, and return what it found."""
    schemas = {name: table.schema for name, table in tables.items()}
    operator = Operator(bind(_join(tables, window, goal, budget), schemas))
    for _ in operator.pieces(tables):
        pass  # many millions of results, of which only the totals are wanted
    metrics = operator.metrics()
    fairness = np.nan if metrics.fairness is None else metrics.fairness
    arrived = metrics.arrived
    return ImportanceFound(
        metrics.importance / arrived,
        metrics.emitted / arrived,
        fairness,
        arrived,
        metrics.recomputations,
    )


@dataclass(frozen=True)
class PapersScale:
    """Memory for a handful of rows, simulated by the book.

    Attributes
    ----------
    name
        Its name in panels and tables.
    streams
        The streams.
    memory
        M, rows; each stream has half.
    window, maturity, unproductivity
        w, tau and Delta, seconds.
    """

    name: str
    streams: ImportanceStreams
    memory: int = 10
    window: float = IJOIN_SECONDS
    maturity: float = 2.0
    unproductivity: float = 3.0

    def seeded(self, seed: int) -> PapersScale:
        """Return the same setting with other streams."""
        return replace(self, streams=replace(self.streams, seed=seed))

    def lasting(self, seconds: int) -> PapersScale:
        """Return the same setting with streams of this many seconds."""
        return replace(self, streams=replace(self.streams, duration=seconds))

    def measure(self, contender: str) -> ImportanceFound:
        """Measure a contender on the streams."""
        chosen = CONTENDERS[contender]
        made = _made(self.streams)
        arrived = len(made.first) + len(made.second)
        if contender == OPTIMUM:
            return self._optimum()
        scheme = chosen.scheme
        if scheme is None:
            budget = Budget(rows=self.memory, monitor=_MONITORED)
            goal = importance_goal(redefined_at=[each.time for each in made.redefinitions])
            return _replay(_tables(made), self.window, goal, budget)
        if isinstance(scheme, Ijoin):
            scheme = with_times(scheme, self.maturity, self.unproductivity)
        outcome = simulate(
            made.first,
            made.second,
            scheme,
            window=self.window,
            memory=self.memory,
            order=chosen.order,
            redefinitions=made.redefinitions,
        )
        fairness = np.nan if contender == EXACT else outcome.fairness()
        return ImportanceFound(
            outcome.total_importance / arrived,
            outcome.size / arrived,
            fairness,
            arrived,
            outcome.recomputations,
        )

    def _optimum(self) -> ImportanceFound:
        """Measure the optimum on the first rows: so small a memory fills at once."""
        wanted = _ROWS_OF_OPTIMUM // (1 if self.streams.domain > _FEW_VALUES else 3)
        seconds = min(self.streams.duration, round(wanted / sum(self.streams.rates)))
        made = _made(replace(self.streams, duration=seconds))
        tables = _tables(made)
        arrived = sum(table.num_rows for table in tables.values())
        importance, results = optimal_importance(
            _join(tables, self.window, importance_goal()),
            tables,
            self.memory,
            [each.time for each in made.redefinitions],
        )
        return ImportanceFound(importance / arrived, results / arrived, np.nan, arrived, np.nan)


@lru_cache(maxsize=2)
def _made(streams: ImportanceStreams) -> MadeStreams:
    return streams.make()


def _tables(made: MadeStreams) -> dict[str, pa.Table]:
    """Return the streams as tables: a column of importance for each definition of it."""
    tables = {}
    for s, (name, own) in enumerate((("r", made.first), ("s", made.second))):
        columns = {"time": own.times, "key": own.values, "importance": own.importance}
        for number, each in enumerate(made.redefinitions):
            columns[f"importance_{number + 1}"] = each.importance[s]
        tables[name] = pa.table(columns)
    return tables


def papers_scale(speed: str, zipf: float) -> PapersScale:
    """Return a reading of the paper's scale: `PRINTED`, `COUNTED`, `SLOW` or `SLOWER`."""
    rates, duration = _READINGS[speed]
    streams = ImportanceStreams(rates=rates, duration=duration, zipf=zipf)
    return PapersScale(f"{speed}, Zipf {zipf:g}", streams)


@dataclass(frozen=True)
class UsersScale:
    """Memory for thousands of rows and windows of several times as many, on the engine.

    Keys follow Zipf's law, the same in both streams. Importance is a whole number from 1 to 100,
    drawn for each row independently of its key: few rows have much of it. Time is a row's number
    among the rows of both streams.

    Attributes
    ----------
    name
        Its name in panels and tables.
    rows
        That the join may hold, of both streams together.
    window
        Rows of each stream in a full window, on average.
    windows
        Length of the streams.
    keys
        How many there are.
    zipf
        Their skew.
    thinned
        Of this many keys that are next to each other in frequency, only the middle one is left:
        fewer keys, with the same differences.
    importance
        ``"skewed"``, or ``"equal"``: 1.
    seconds
        How many a window has, for the times of IJOIN.
    maturity, unproductivity
        tau and Delta, seconds.
    seed
        Of everything.
    """

    name: str
    rows: int = 10_000
    window: int = 15_000
    windows: float = 2.5
    keys: int = 10_000
    zipf: float = 0.0
    thinned: int = 1
    importance: Literal["skewed", "equal"] = "skewed"
    seconds: float = IJOIN_SECONDS
    maturity: float = 2.0
    unproductivity: float = 3.0
    seed: int = 0

    def seeded(self, seed: int) -> UsersScale:
        """Return the same setting with other streams."""
        return replace(self, seed=seed)

    def skewed(self, zipf: float) -> UsersScale:
        """Return the same setting with keys of this skew, which its name then says."""
        return replace(self, name=f"{self.name}, Zipf {zipf:g}", zipf=zipf)

    def tables(self) -> Mapping[str, pa.Table]:
        """Make the streams."""
        generator = np.random.default_rng([self.seed, 2])
        each = round(self.windows * self.window)
        times = generator.permutation(2 * each).reshape(2, each)
        ranks = (np.arange(self.keys) + 0.5) * self.thinned + 0.5
        shares = ranks**-self.zipf
        made = {}
        for name, own in zip(("r", "s"), times, strict=True):
            keys = generator.choice(self.keys, each, p=shares / shares.sum())
            drawn = np.minimum(np.floor(generator.pareto(_TAIL, each) + 1), _MOST_IMPORTANT)
            made[name] = pa.table(
                {
                    "time": np.sort(own).astype(np.float64),
                    "key": keys.astype(np.int64),
                    "importance": drawn if self.importance == "skewed" else np.ones(each),
                }
            )
        return made

    @property
    def lifetime(self) -> int:
        """The window in units of time: rows of both streams."""
        return 2 * self.window

    def measure(self, contender: str) -> ImportanceFound:
        """Measure a contender on the streams."""
        if contender in {EXACT, OPTIMUM}:
            importance, results = _exact(self)
            arrived = 2 * round(self.windows * self.window)
            shares = self._optimal_shares() if contender == OPTIMUM else (1.0, 1.0)
            each = importance * shares[0] / arrived, results * shares[1] / arrived
            return ImportanceFound(*each, np.nan, arrived, np.nan)
        chosen = CONTENDERS[contender]
        ijoin = None
        if isinstance(chosen.scheme, Ijoin):
            ijoin = with_times(chosen.scheme, self.maturity, self.unproductivity)
        return self.replay(
            importance_goal(chosen.strategy, ijoin=ijoin, window_seconds=self.seconds)
        )

    def replay(self, goal: MaxImportance) -> ImportanceFound:
        """Run the engine with a goal; a strategy that learns nothing has all of the memory."""
        learns = strategies_for(goal)[0].needs.statistics
        budget = Budget(rows=self.rows, monitor=None if learns else 0)
        return _replay(_streams(self), self.lifetime, goal, budget)

    def _optimal_shares(self) -> tuple[float, float]:
        """Return the optimum's shares of EXACT's importance and results, at a tenth of scale."""
        tenth = replace(
            self,
            rows=self.rows // _TENTH,
            window=self.window // _TENTH,
            keys=self.keys // _TENTH,
            thinned=_TENTH,
        )
        whole, of_whole = _exact(tenth)
        tables = _streams(tenth)
        join = _join(tables, tenth.lifetime, importance_goal())
        best, of_best = optimal_importance(join, tables, tenth.rows)
        return best / whole, of_best / of_whole


@lru_cache(maxsize=2)
def _streams(scale: UsersScale) -> Mapping[str, pa.Table]:
    return scale.tables()


@lru_cache(maxsize=4)
def _exact(scale: UsersScale) -> tuple[float, int]:
    return exact_importance(_streams(scale), scale.lifetime)
