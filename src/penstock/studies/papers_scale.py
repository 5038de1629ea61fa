"""The paper's scale: memory for a handful of tuples, simulated by the book."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.budget import Budget
from penstock.studies.by_the_book import Ijoin, simulate
from penstock.studies.importance_contenders import CONTENDERS, EXACT, IJOIN_SECONDS, OPTIMUM, timed
from penstock.studies.importance_optimum import optimal_importance
from penstock.studies.importance_replay import BY_IMPORTANCE, Found, replayed

if TYPE_CHECKING:
    from penstock.studies.ijoin_streams import ImportanceStreams, MadeStreams

__all__ = ["PapersScale"]

# Of 10 rows the usual 5 % would be none.
_MONITORED = 0.2
# The optimum is a linear programme over all results: it has to do with fewer tuples.
_TUPLES_OF_OPTIMUM = 3_000
_FEW_VALUES = 20


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

    def lasting(self, seconds: int) -> PapersScale:
        """Give the same setting with streams of so many seconds."""
        return replace(self, streams=replace(self.streams, duration=seconds))

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
            return replayed(_tables(made), self.window, BY_IMPORTANCE, budget)
        if isinstance(scheme, Ijoin):
            scheme = timed(scheme, self.maturity, self.unproductivity)
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
        importance, results = optimal_importance(tables, self.window, self.memory)
        return Found(importance / tuples, results / tuples, np.nan, tuples, np.nan)


@lru_cache(maxsize=2)
def _made(streams: ImportanceStreams) -> MadeStreams:
    return streams.make()


def _tables(made: MadeStreams) -> dict[str, pa.Table]:
    return {
        name: pa.table({"time": own.times, "key": own.values, "importance": own.importance})
        for name, own in (("r", made.first), ("s", made.second))
    }
