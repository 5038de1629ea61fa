"""A user's scale: memory for thousands of rows, on the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from penstock.budget import Budget
from penstock.goals import MaxImportance
from penstock.studies.by_the_book import Adaptive, EveryFew, Ijoin
from penstock.studies.exact_importance import exact_importance
from penstock.studies.importance_contenders import CONTENDERS, EXACT, IJOIN_SECONDS, OPTIMUM, timed
from penstock.studies.importance_optimum import optimal_importance
from penstock.studies.importance_replay import Found, replayed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UsersScale"]

_MOST_IMPORTANT = 100.0
# Of the importance of tuples, P(importance > x) = x**-1.5.
_TAIL = 1.5
# The optimum is a linear programme over all results: it has to do with a tenth of the scale.
_TENTH = 10


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

    def skewed(self, zipf: float) -> UsersScale:
        """Give the same setting with keys of this skew, which its name then says."""
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
            told = _in_windows(timed(who.scheme, self.maturity, self.unproductivity), self.seconds)
        return self.replayed(MaxImportance(of="importance", strategy=who.strategy, **told))

    def replayed(self, goal: MaxImportance) -> Found:
        """Run the engine with a goal; who learns nothing is left all of the memory."""
        learns = goal.strategy in {None, "worth"}
        budget = Budget(rows=self.rows, monitor=None if learns else 0)
        return replayed(_streams(self), self.lifetime, goal, budget)

    def _optimal_shares(self) -> tuple[float, float]:
        """Give what the optimum has of EXACT's importance and results at a tenth of the scale."""
        tenth = replace(
            self,
            rows=self.rows // _TENTH,
            window=self.window // _TENTH,
            keys=self.keys // _TENTH,
            thinned=_TENTH,
        )
        whole, of_whole = _exact(tenth)
        best, of_best = optimal_importance(_streams(tenth), tenth.lifetime, tenth.rows)
        return best / whole, of_best / of_whole


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
def _streams(scale: UsersScale) -> Mapping[str, pa.Table]:
    return scale.tables()


@lru_cache(maxsize=4)
def _exact(scale: UsersScale) -> tuple[float, int]:
    return exact_importance(_streams(scale), scale.lifetime)
