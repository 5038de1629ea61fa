"""The load of an overloaded query: three streams, whose rows follow from their numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.bench.live.load import START
from penstock.bench.live.truth import TrueResults, by_seconds
from penstock.errors import SpecificationError, must
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.estimate import Estimator
from penstock.planning.query import Query
from penstock.planning.query_statistics import QueryStatistics
from penstock.planning.tree import Pair, Read

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.planning.plan import Plan

__all__ = ["KEPT", "STREAMS", "WINDOW", "OverloadLoad", "boxed", "count_triples"]

STREAMS = ("a", "b", "c")

KEPT = 0.2
"""Share of each stream's rows that its drop box lets through."""

WINDOW = 2
"""Seconds that a row stays in its window, as the query says."""

_MATCHES = 6.0
# Of the rows while Spark starts, one in so many is there.
_FEW = 1_000
_SECOND = 1_000_000
# Times and keys as one number: more than a key times any time in microseconds.
_FAR = 1 << 40
# Rows of the second stream whose results are counted at a time.
_AT_A_TIME = 500_000

_SQL = """
SELECT a.number AS a, b.number AS b, c.number AS c
FROM a [RANGE 2 SECONDS], b [RANGE 2 SECONDS], c [RANGE 2 SECONDS]
WHERE a.k = b.k AND b.j = c.j
"""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OverloadLoad:
    """Three streams with the same times. A row of one finds six rows of the next in its window.

    Parameters
    ----------
    rate
        Rows per second of each stream.
    warm_up
        Seconds that do not count.
    measured
        Seconds that count.
    start_up
        Seconds, at the beginning of the warm-up, in which only every thousandth row is there:
        Spark starts its workers and runs its first micro-batches, which take many times as long
        as later ones. With all rows there would be a backlog of them, which has nothing to do
        with what the query can take. In the rest of the warm-up windows fill.

    Raises
    ------
    SpecificationError
        If one of the first three is below 1, or the start takes longer than the warm-up.

    Examples
    --------
    >>> load = OverloadLoad(1_000, warm_up=15, measured=45)
    >>> load.seconds, load.keys, load.rows
    (60, 333, 60000)
    >>> round(boxed(load.plan()).recall, 6)
    0.008
    """

    rate: int
    warm_up: int
    measured: int
    start_up: int = 0

    def __post_init__(self) -> None:
        for name in ("rate", "warm_up", "measured"):
            value = getattr(self, name)
            if value < 1:
                raise SpecificationError(must(name, "1 or more", value, "raise it"))
        if not 0 <= self.start_up <= self.warm_up:
            requirement = f"from 0 to the {self.warm_up} s of the warm-up"
            raise SpecificationError(must("start_up", requirement, self.start_up, "lower it"))

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.warm_up + self.measured

    @property
    def rows(self) -> int:
        """Rows of each stream."""
        return self.rate * self.seconds

    @property
    def keys(self) -> int:
        """Different ones, of each of the two equalities."""
        return max(1, round(self.rate * WINDOW / _MATCHES))

    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""
        few = self.rate * self.start_up
        return f"value < {self.rows} AND (value >= {few} OR value % {_FEW} = 0)"

    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""
        return (
            f"timestamp_micros({START} + {self._microseconds()}) AS at",
            *self.keys_of(stream),
            "value AS number",
        )

    def time_and_keys(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and keys: what results follow from."""
        return (f"{self._microseconds()} AS at", *self.keys_of(stream))

    def keys_of(self, stream: str) -> tuple[str, ...]:
        """Return the columns that are compared."""
        names = {"a": ("k",), "b": ("k", "j"), "c": ("j",)}[stream]
        return tuple(
            f"pmod(xxhash64(value, '{stream}{name}'), {self.keys}) AS {name}" for name in names
        )

    def _microseconds(self) -> str:
        return f"value * {_SECOND} DIV {self.rate}"

    def plan(self) -> Plan:
        """Return the query as a chain of two joins that drops nothing, by its true statistics."""
        query = Query(_SQL, streams=dict.fromkeys(STREAMS, "at"))
        statistics = QueryStatistics(
            rates=dict.fromkeys(STREAMS, float(self.rate)),
            selectivities=dict.fromkeys(("a.k = b.k", "b.j = c.j"), 1.0 / self.keys),
        )
        chosen = query.optimize(statistics)
        # It may have drop boxes: by the model, the rate may be more than a processor can do.
        return boxed(replace(chosen, tree=Pair(Pair(Read(0), Read(1)), Read(2))), 1.0)


def boxed(plan: Plan, share: float = KEPT) -> Plan:
    """Return a plan with a drop box for each stream that keeps the same share of its rows."""
    kept = dict.fromkeys(plan.model.names, share)
    less = Estimator(plan.model).estimate_kept(plan.tree, kept)
    return replace(
        plan, boxes=DropBoxes(kept=kept, rate=less.rate, cost=less.cost, value=less.rate)
    )


def count_triples(streams: Mapping[str, pa.Table], seconds: int) -> TrueResults:
    """Count the results: rows of a, b and c whose keys are equal, all within a window.

    Parameters
    ----------
    streams
        Of each the columns ``at``, in microseconds from 0 on, and its keys.
    seconds
        How long they are.
    """
    columns = {
        name: {each: table[each].to_numpy().astype(np.int64) for each in table.column_names}
        for name, table in streams.items()
    }
    a, b, c = (columns[name] for name in STREAMS)
    counts = []
    # Some rows of b at a time: all results at once may be more than there is memory for.
    for start in range(0, max(1, b["at"].size), _AT_A_TIME):
        keys = {name: column[start : start + _AT_A_TIME] for name, column in b.items()}
        first, others = _partners(keys["k"], keys["at"], a["k"], a["at"])
        times = np.column_stack([a["at"][others], keys["at"][first]])
        own, others = _partners(keys["j"][first], keys["at"][first], c["j"], c["at"])
        times = np.column_stack([times[own], c["at"][others]])
        counts.append(by_seconds(times, window=WINDOW, seconds=seconds).counts)
    return TrueResults(np.sum(counts, axis=0))


def _partners(
    keys: Integers, times: Integers, other_keys: Integers, other_times: Integers
) -> tuple[Integers, Integers]:
    """Return pairs of places with equal keys and times no further apart than a window."""
    order = np.argsort(other_keys * _FAR + other_times, kind="stable")
    known = (other_keys * _FAR + other_times)[order]
    reach = WINDOW * _SECOND
    begin = np.searchsorted(known, keys * _FAR + times - reach, side="left")
    counts = np.searchsorted(known, keys * _FAR + times + reach, side="right") - begin
    own = np.repeat(np.arange(keys.size), counts)
    within = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
    # Times from 0 on: a time below the window does not get to the rows of the key before.
    return own, order[begin[own] + within]
