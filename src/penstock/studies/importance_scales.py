"""Streams whose tuples differ in importance, at the paper's scale and at a user's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.budget import Budget
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.errors import SessionError
from penstock.goals import MaxImportance
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.studies.by_the_book import Adaptive, EveryFew, Ijoin, simulate
from penstock.studies.importance_contenders import CONTENDERS, EXACT, IJOIN_SECONDS, OPTIMUM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.studies.ijoin_streams import ImportanceStreams, MadeStreams

__all__ = ["Found", "PapersScale", "UsersScale", "exact_importance"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MOST_IMPORTANT = 100.0
# Of the importance of tuples, P(importance > x) = x**-1.5.
_TAIL = 1.5
# Of 10 rows the usual 5 % would be none.
_MONITORED = 0.2
# The optimum is a linear programme over all results: it has to do with fewer tuples.
_TUPLES_OF_OPTIMUM, _TENTH = 3_000, 10
_FEW_VALUES = 20
_BY_IMPORTANCE = MaxImportance(of="importance")


class Found(NamedTuple):
    """What one contender came to on one pair of streams.

    Attributes
    ----------
    importance, results
        Of all results, and how many: divided by the number of tuples that came.
    fairness
        Jain's index of how long tuples stayed, eq. 4; NaN for yardsticks.
    tuples
        That came, of both streams.
    recomputations
        How many times priorities were computed anew; NaN for yardsticks.
    """

    importance: float
    results: float
    fairness: float
    tuples: int
    recomputations: float


@dataclass(frozen=True)
class PapersScale:
    """Memory for a handful of tuples, simulated by the book.

    Attributes
    ----------
    name
        What panels and tables call it.
    streams
        What comes.
    memory
        M, tuples; each stream has half.
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
        """Give the same setting with other streams."""
        return replace(self, streams=replace(self.streams, seed=seed))

    def measure(self, contender: str) -> Found:
        """Let a contender join the streams."""
        who = CONTENDERS[contender]
        made = _made(self.streams)
        tuples = len(made.first) + len(made.second)
        if contender == OPTIMUM:
            return self._optimum()
        scheme = who.scheme
        if scheme is None:
            budget = Budget(rows=self.memory, monitor=_MONITORED)
            return _replayed(_tables(made), self.window, _BY_IMPORTANCE, budget)
        if isinstance(scheme, Ijoin):
            scheme = _timed(scheme, self)
        outcome = simulate(
            made.first,
            made.second,
            scheme,
            window=self.window,
            memory=self.memory,
            order=who.order,
            redefinitions=made.redefinitions,
        )
        fairness = np.nan if contender == EXACT else outcome.fairness()
        return Found(
            outcome.total_importance / tuples,
            outcome.size / tuples,
            fairness,
            tuples,
            outcome.recomputations,
        )

    def _optimum(self) -> Found:
        """Measure the optimum on the first tuples: so few rows fill, and turn over, at once."""
        tuples = _TUPLES_OF_OPTIMUM // (1 if self.streams.domain > _FEW_VALUES else 3)
        seconds = min(self.streams.duration, round(tuples / sum(self.streams.rates)))
        tables = _tables(_made(replace(self.streams, duration=seconds)))
        tuples = sum(table.num_rows for table in tables.values())
        weight, results = _optimum(_join(tables, self.window), tables, self.memory)
        return Found(weight / tuples, results / tuples, np.nan, tuples, np.nan)


@dataclass(frozen=True)
class UsersScale:
    """Memory for thousands of rows and windows of several times as many, on the engine.

    Keys follow Zipf's law, the same in both streams. Importance is a whole number from 1 to 100,
    drawn for each row whatever its key: a few rows matter much. Time is a row's number among those
    of both streams.

    Attributes
    ----------
    name
        What panels and tables call it.
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
        Of so many neighbours by frequency one key is left, in the middle: fewer keys, that differ
        as much.
    importance
        ``"skewed"``, or ``"equal"``: 1.
    seconds
        A window's. It has none of its own: it is taken to have so many, for the times of IJOIN.
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
        """Give the same setting with other streams."""
        return replace(self, seed=seed)

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

    def measure(self, contender: str) -> Found:
        """Let a contender join the streams."""
        if contender in {EXACT, OPTIMUM}:
            importance, results = _exact(self)
            tuples = 2 * round(self.windows * self.window)
            shares = self._optimal_shares() if contender == OPTIMUM else (1.0, 1.0)
            each = importance * shares[0] / tuples, results * shares[1] / tuples
            return Found(*each, np.nan, tuples, np.nan)
        who = CONTENDERS[contender]
        told: dict[str, Any] = {}
        if isinstance(who.scheme, Ijoin):
            told = _in_windows(_timed(who.scheme, self), self.seconds)
        return self.replayed(MaxImportance(of="importance", strategy=who.strategy, **told))

    def replayed(self, goal: MaxImportance) -> Found:
        """Run the engine with a goal; who learns nothing is left all of the memory."""
        learns = goal.strategy in {None, "worth"}
        budget = Budget(rows=self.rows, monitor=None if learns else 0)
        return _replayed(_users(self), self.lifetime, goal, budget)

    def _optimal_shares(self) -> tuple[float, float]:
        """Give what the optimum has of EXACT's importance and results at a tenth of the scale."""
        tenth = replace(
            self,
            rows=self.rows // _TENTH,
            window=self.window // _TENTH,
            keys=self.keys // _TENTH,
            thinned=_TENTH,
        )
        importance, exact = _exact(tenth)
        tables = _users(tenth)
        weight, results = _optimum(_join(tables, tenth.lifetime), tables, tenth.rows)
        return weight / importance, results / exact


def _timed(scheme: Ijoin, scale: PapersScale | UsersScale) -> Ijoin:
    """Give IJOIN the times of a setting, but for the maturity of one who has none."""
    return replace(
        scheme,
        maturity=scale.maturity if scheme.maturity else 0.0,
        unproductivity=scale.unproductivity,
    )


def _in_windows(scheme: Ijoin, seconds: float) -> dict[str, Any]:
    """Give what the engine's goal is told of IJOIN: times in windows of so many seconds."""
    told = {
        "maturity": scheme.maturity / seconds,
        "unproductivity": scheme.unproductivity / seconds,
        "decay": scheme.decay * seconds,
        # RP is importance times matches by age, and c times the idle time comes off. In windows
        # of 25 s the first is 25 times as large and the idle time a 25th.
        "penalty": scheme.penalty * seconds**2,
    }
    match scheme.recomputation:
        case EveryFew(k):
            return {**told, "recompute": "k-successive", "every": k}
        case Adaptive(epsilon):
            return {**told, "recompute": "adaptive", "tolerance": epsilon}
    return told


@lru_cache(maxsize=2)
def _made(streams: ImportanceStreams) -> MadeStreams:
    return streams.make()


@lru_cache(maxsize=2)
def _users(scale: UsersScale) -> Mapping[str, pa.Table]:
    return scale.tables()


def _tables(made: MadeStreams) -> dict[str, pa.Table]:
    return {
        name: pa.table({"time": own.times, "key": own.values, "importance": own.importance})
        for name, own in (("r", made.first), ("s", made.second))
    }


def _join(
    tables: Mapping[str, pa.Table],
    window: float,
    goal: MaxImportance = _BY_IMPORTANCE,
    budget: Budget | None = None,
) -> Join:
    streams = {name: Stream(time="time", window=window) for name in tables}
    return Join(streams=streams, on=Equal("key"), goal=goal, budget=budget)


def _replayed(
    tables: Mapping[str, pa.Table], window: float, goal: MaxImportance, budget: Budget
) -> Found:
    schemas = {name: table.schema for name, table in tables.items()}
    operator = Operator(bind(_join(tables, window, goal, budget), schemas))
    for _ in operator.pieces(tables):
        pass  # of many millions of results only what they come to is wanted
    metrics = operator.metrics()
    fairness = np.nan if metrics.fairness is None else metrics.fairness
    tuples = metrics.arrived
    return Found(
        metrics.importance / tuples,
        metrics.emitted / tuples,
        fairness,
        tuples,
        metrics.recomputations,
    )


def _optimum(join: Join, tables: Mapping[str, pa.Table], rows: int) -> tuple[float, int]:
    """Give importance and number of the results of one who knows the future."""
    try:
        # Slow to load, and most points do without.
        from penstock.yardsticks import find_matches, offline_optimum  # noqa: PLC0415
    except ModuleNotFoundError as error:
        message = (
            f"the offline optimum of a study needs {error.name}; "
            f'pip install "penstock[cli,spark,studies]"'
        )
        raise SessionError(message) from error

    matches = find_matches(join, tables)
    own = [
        table["importance"].to_numpy()[rows]
        for table, rows in zip(tables.values(), matches.rows, strict=True)
    ]
    best = offline_optimum(matches, rows, np.minimum(*own))
    return best.weight, best.results


@lru_cache(maxsize=4)
def _exact(scale: UsersScale) -> tuple[float, int]:
    tables = _users(scale)
    return exact_importance(tables, scale.lifetime)


def exact_importance(tables: Mapping[str, pa.Table], window: int) -> tuple[float, int]:
    """Give the importance of all results of the exact join, and their number, without joining.

    The smaller importance of two is the sum, over all levels of importance, of the step to that
    level where both have reached it. So it is enough to count pairs, level by level.

    Parameters
    ----------
    tables
        Both streams, with columns ``time`` and ``key``, of whole numbers, and ``importance``.
    window
        Of both.
    """
    columns = [
        (
            table["time"].to_numpy().astype(np.int64),
            table["key"].to_numpy(),
            table["importance"].to_numpy(),
        )
        for table in tables.values()
    ]
    levels = np.unique(np.concatenate([importance for _, _, importance in columns]))
    total, results, below = 0.0, 0, 0.0
    for level in levels.tolist():
        reached = [
            (times[importance >= level], keys[importance >= level])
            for times, keys, importance in columns
        ]
        count = _pairs(*reached[0], *reached[1], window)
        results = results or count
        total += (level - below) * count
        below = level
    return total, results


def _pairs(
    times_1: Integers, keys_1: Integers, times_2: Integers, keys_2: Integers, window: int
) -> int:
    """Count pairs of equal keys that are at most a window apart."""
    # A key's times lie in a span of their own, with a window of room on both sides.
    span = int(max(times_1.max(initial=0), times_2.max(initial=0))) + 2 * window + 1
    places = np.sort(keys_2 * span + times_2)
    own = keys_1 * span + times_1
    until = np.searchsorted(places, own + window, "right")
    return int((until - np.searchsorted(places, own - window, "left")).sum())
