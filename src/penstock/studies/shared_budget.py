"""Joins that share a budget: what is measured for Figures 10 and 11 and beyond."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.budget import Budget
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.allotment import QualityCurve, allot_least
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.division import divide
from penstock.studies.workload import ARRIVALS_PER_RATE
from penstock.testing import age_model, frequency_model
from penstock.testing.zipf import zipf_weights
from penstock.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.goals import Goal

__all__ = [
    "Kind",
    "SharedPoint",
    "SharedRow",
    "curve_of",
    "measure",
]

Floats = npt.NDArray[np.float64]

# Parts of the window of an age curve: enough that the formula is that of a smooth curve.
_BUCKETS = 120
# Values of the keys, as in the paper.
_KEYS = 50
# Amounts of memory at which a formula is computed.
_POINTS = 201
# Windows after which recall is measured: windows are full then, and what is learned is known.
_WARM_UP = 4.0


@dataclass(frozen=True)
class Kind:
    """One join: of the frequency model, "DC" or "IC", or of the age model, "INC" or "DEC".

    Attributes
    ----------
    name
        One of these.
    parameter
        Z of the Zipf law, or the exponent of the age curve.
    rate
        r of both streams; of the age model, of the first.
    window
        W; of the age model, the second stream has none.
    windows
        Length of the streams.
    seed
        Of the streams.
    """

    name: str
    parameter: float
    rate: float = 1.0
    window: float = 500.0
    windows: float = 14.0
    seed: int = 0

    @property
    def by_age(self) -> bool:
        """Whether the age model holds."""
        return self.name in ("INC", "DEC")

    @property
    def full_rows(self) -> float:
        """Rows of full windows: what 100 % of memory means."""
        return ARRIVALS_PER_RATE * self.rate * self.window * (1 if self.by_age else 2)


@dataclass(frozen=True)
class _Made:
    """The streams of a join, and what is true of them."""

    tables: Mapping[str, pa.Table]
    streams: Mapping[str, Stream]
    informed: Goal
    learns: Goal
    curve: QualityCurve

    def join(self, goal: Goal, budget: Budget | None, prefix: str = "") -> Join:
        streams = {prefix + name: each for name, each in self.streams.items()}
        return Join(streams=streams, on=Equal("id"), goal=goal, budget=budget)


def _shape(kind: Kind, buckets: int) -> Floats:
    """Return the shares of an age curve: k^p, or (m - k)^p, at the middle of each part."""
    k = np.arange(buckets) + 0.5
    shares = (k if kind.name == "INC" else buckets - k) ** kind.parameter
    whole: Floats = shares / shares.sum()
    return whole


def _age_curve(kind: Kind) -> AgeCurve:
    return AgeCurve(5.0 * _shape(kind, _BUCKETS))


def _frequencies(kind: Kind) -> tuple[Floats, Floats]:
    """Return the frequencies of the keys in both streams."""
    first = zipf_weights(_KEYS, kind.parameter)
    return first, first if kind.name == "DC" else first[::-1]


def curve_of(kind: Kind) -> QualityCurve:
    """Return the recall of a join for numbers of rows: eq. 3 or section 3.3 of `srivastava04`."""
    amounts = np.linspace(0, kind.full_rows, _POINTS)
    rate = ARRIVALS_PER_RATE * kind.rate
    if kind.by_age:
        curve = _age_curve(kind)
        found = curve.output(amounts, rate=rate, window=kind.window) / (rate * curve.total)
        return QualityCurve(amounts, found)
    one, other = _frequencies(kind)
    outputs = [
        partial(
            frequency_output,
            own=own,
            partner=partner,
            rate=rate,
            partner_rate=rate,
            window=kind.window,
        )
        for own, partner in ((one, other), (other, one))
    ]
    whole = sum(float(made(kind.full_rows)) for made in outputs)
    recall = []
    for rows in amounts:
        parts = divide(rows, outputs)
        both = [float(made(np.array(m))) for made, m in zip(outputs, parts, strict=True)]
        recall.append(sum(both) / whole)
    return QualityCurve(amounts, recall)


@lru_cache(maxsize=16)
def _made(kind: Kind) -> _Made:
    duration = kind.windows * kind.window
    if kind.by_age:
        made = age_model(
            curve=partial(_shape, kind),
            rate_1=kind.rate,
            rate_2=5 * kind.rate,
            window=kind.window,
            buckets=_BUCKETS,
            duration=duration,
            seed=kind.seed,
        )
        windows = {"s1": kind.window, "s2": 0.0}
        return _Made(
            {"s1": made.s1, "s2": made.s2},
            {name: Stream(time="time", window=each) for name, each in windows.items()},
            MaxSubset(strategy="age", curve={"s1": made.curve.tolist()}),
            MaxSubset(strategy="age"),
            curve_of(kind),
        )
    keys = frequency_model(
        zipf=kind.parameter,
        correlation="DC" if kind.name == "DC" else "IC",
        domain=_KEYS,
        rate_1=kind.rate,
        rate_2=kind.rate,
        duration=duration,
        seed=kind.seed,
    )
    one, other = keys.frequencies_1, keys.frequencies_2
    frequencies = {
        name: dict(enumerate(each.tolist())) for name, each in (("s1", one), ("s2", other))
    }
    return _Made(
        {
            name: table.rename_columns(["id", "time", "value"])
            for name, table in (("s1", keys.s1), ("s2", keys.s2))
        },
        {name: Stream(time="time", window=kind.window) for name in ("s1", "s2")},
        MaxSubset(strategy="prob", frequencies=frequencies),
        MaxSubset(strategy="prob"),
        curve_of(kind),
    )


@dataclass(frozen=True)
class SharedPoint:
    """Some joins in one budget.

    Attributes
    ----------
    panel, x
        Where the point is in the picture.
    kinds
        The joins.
    memory
        The budget, as a share of what all of them need.
    """

    panel: str
    x: float
    kinds: tuple[Kind, ...]
    memory: float

    @property
    def way(self) -> str:
        """Which ways to divide memory are compared: all, at every point."""
        return "ALLOC, proportional, learned"


@dataclass(frozen=True)
class SharedRow:
    """The least recall of the joins at a point.

    Attributes
    ----------
    panel, x, joins
        The point, and how many joins it has.
    formula, proportional
        By formula: with ALLOC, and with memory in proportion to what joins need.
    measured, measured_proportional
        With the same fixed divisions, measured; strategies are given the truth about the streams.
    learned
        Of a `Workload`, which learns everything.
    share
        Of all memory that ALLOC gives to the first join, by formula.
    learned_share
        That the workload gave to it in the end.
    """

    panel: str
    x: float
    joins: int
    formula: float
    proportional: float
    measured: float
    measured_proportional: float
    learned: float
    share: float
    learned_share: float


def measure(point: SharedPoint) -> SharedRow:
    """Divide the budget of a point in three ways, and measure the least recall with each."""
    made = [_made(kind) for kind in point.kinds]
    needs = np.array([kind.full_rows for kind in point.kinds])
    total = round(point.memory * float(needs.sum()))
    best = allot_least(total, [each.curve for each in made])
    parts = [round(point.memory * need) for need in needs]
    by_formula = [each.curve.at(rows) for each, rows in zip(made, parts, strict=True)]
    exact = [_results(kind, None) for kind in point.kinds]
    work = _workload(point, total)
    replay = work.replay(
        {
            f"{place}.{name}": table
            for place, each in enumerate(made)
            for name, table in each.tables.items()
        }
    )
    learned = [
        _since(replay.results[str(place)], kind) / exact[place]
        for place, kind in enumerate(point.kinds)
    ]
    return SharedRow(
        point.panel,
        point.x,
        len(point.kinds),
        min(best.quality),
        min(by_formula),
        _least(point.kinds, best.amounts, exact),
        _least(point.kinds, parts, exact),
        min(learned),
        best.amounts[0] / total,
        replay.metrics.allotment["0"] / total,
    )


def _least(kinds: Sequence[Kind], amounts: Sequence[int], exact: Sequence[int]) -> float:
    """Return the least recall that fixed amounts of memory give."""
    both = zip(kinds, amounts, exact, strict=True)
    return min(_results(kind, max(rows, 2)) / whole for kind, rows, whole in both)


@lru_cache(maxsize=256)
def _results(kind: Kind, rows: int | None) -> int:
    """Return how many results a join gives after the warm-up; all of them without a limit."""
    made = _made(kind)
    budget = None if rows is None else Budget(rows=rows, monitor=0)
    return _since(made.join(made.informed, budget).replay(made.tables).result, kind)


def _since(result: pa.Table, kind: Kind) -> int:
    return int(np.count_nonzero(result["time"].to_numpy() >= _WARM_UP * kind.window))


def _workload(point: SharedPoint, rows: int) -> Workload:
    joins = {
        str(place): _made(kind).join(_made(kind).learns, None, f"{place}.")
        for place, kind in enumerate(point.kinds)
    }
    return Workload(joins, budget=Budget(rows=rows))
