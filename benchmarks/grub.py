"""Figures 11 to 13 of GrubJoin on the engine: parts of windows, or rows dropped at random.

Comparisons are all that costs, and they are counted: no figure depends on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.report import Target
from penstock.report.tables import Table
from penstock.testing import lagged_streams

if TYPE_CHECKING:
    from penstock.bench.timing import Say

_WINDOW: Final = 20.0
_RATE: Final = 30.0
_DISTANCE: Final = 1.0
# Of the comparisons of the exact join; and seconds whose allowance is kept.
_SHARE: Final = 0.2
_BURST: Final = 1.0
# The paper gives the first three.
_LAGS: Final = (0.0, 5.0, 15.0, 10.0, 2.0)
_DEVIATIONS: Final = (2.0, 2.0, 50.0, 50.0, 50.0)
# Many times the domain: values do not depend on time at all.
_NO_TIME: Final = 10_000.0
_KAPPAS: Final = (10.0, 25.0, 50.0, 100.0, 150.0)


@dataclass(frozen=True)
class Case:
    """Streams that are joined.

    Attributes
    ----------
    figure
        The paper's, or "".
    name
        What is special about them.
    lags, deviations
        tau and kappa of each stream.
    drifts
        How much each lag grows in a second; None for constant ones.
    rate
        Rows per second of each stream.
    """

    figure: str
    name: str
    lags: tuple[float, ...]
    deviations: tuple[float, ...]
    drifts: tuple[float, ...] | None = None
    rate: float = _RATE


def _cases() -> dict[str, Case]:
    three, apart = _DEVIATIONS[:3], _LAGS[:3]
    drifts = (0.0, 0.5 / 10)
    cases = {
        "two": Case("", "two, a lag of 5 of 20 s", (0.0, 5.0), (2.0, 2.0)),
        "drift": Case(
            "",
            "two, a lag that drifts by half a window in ten",
            (0.0, 4.0),
            (5.0, 5.0),
            drifts,
        ),
        "aligned": Case("11", "three, aligned", (0.0,) * 3, three),
        "apart": Case("11", "three, lags of 5 and 15 s", apart, three),
    }
    for kappa in _KAPPAS:
        cases[f"kappa {kappa:g}"] = Case(
            "12", f"three with lags, kappa_3 = {kappa:g}", apart, (2.0, 2.0, kappa)
        )
    cases["third none"] = Case(
        "12", "three with lags, the third without structure", apart, (2.0, 2.0, _NO_TIME)
    )
    cases["none"] = Case("12", "three, no structure at all", (0.0,) * 3, (_NO_TIME,) * 3)
    for m in (4, 5):
        cases[f"{m} aligned"] = Case("13", f"{m}, aligned", (0.0,) * m, _DEVIATIONS[:m])
        cases[f"{m} apart"] = Case("13", f"{m}, with lags", _LAGS[:m], _DEVIATIONS[:m])
    return cases


CASES: Final = _cases()
QUICK: Final = ("two", "apart")


@dataclass(frozen=True)
class Outcome:
    """What was found of one case, as shares of all results: means over the seeds."""

    case: Case
    exact: float
    grub: float
    dropped: float

    @property
    def gain(self) -> float:
        """How much more was found than by dropping rows."""
        return self.grub / self.dropped - 1.0 if self.dropped else float("inf")


@dataclass(frozen=True)
class GrubFigures:
    """The outcomes by name of the case."""

    duration: float
    seeds: int
    outcomes: dict[str, Outcome]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as a table."""
        rows = [
            (
                each.case.figure,
                each.case.name,
                f"{each.exact:,.0f}",
                f"{each.grub:.3f}",
                f"{each.dropped:.3f}",
                f"{each.gain:+.0%}",
            )
            for each in self.outcomes.values()
        ]
        title = (
            f"{_SHARE:.0%} of the comparisons, {_RATE:g} rows/s of each stream, windows of "
            f"{_WINDOW:g} s, {self.duration:g} s, mean of {self.seeds} seeds; shares of all results"
        )
        headings = ("figure", "streams", "results", "grub", "random-drop", "gain")
        return (Table.titled(title, headings, tuple(rows)),)

    def targets(self) -> tuple[Target, ...]:
        """Compare gains with those that are wanted, as far as the cases were run."""
        wanted = (
            ("aligned", 0.65, "Fig. 11, aligned, at least +65%"),
            ("apart", 1.5, "Fig. 11, not aligned, at least +150%"),
            ("none", -0.07, "Fig. 12, no structure, within 7% of random-drop"),
            ("5 apart", 7.0, "Fig. 13, five streams, not aligned, at least +700%"),
        )
        targets = [
            Target(text, f"{self.outcomes[name].gain:+.0%}", self.outcomes[name].gain >= least)
            for name, least, text in wanted
            if name in self.outcomes
        ]
        gains = [
            self.outcomes[name].gain
            for name in (*(f"kappa {kappa:g}" for kappa in _KAPPAS[1:]), "third none", "none")
            if name in self.outcomes
        ]
        if len(gains) > 1:
            falls = all(more > less for more, less in pairwise(gains))
            seen = ", ".join(f"{gain:+.0%}" for gain in gains)
            targets.append(Target("Fig. 12, the gain falls with kappa_3 from 25 on", seen, falls))
        return tuple(targets)


def run(*, quick: bool, say: Say) -> GrubFigures:
    """Join all cases: exact, by `grub` and by `random-drop`."""
    duration, seeds = (30.0, 1) if quick else (120.0, 4)
    outcomes = {}
    for name in QUICK if quick else CASES:
        say(name)
        found = [_find(CASES[name], duration, seed) for seed in range(1, seeds + 1)]
        exact, grub, dropped = np.mean(found, axis=0).tolist()
        outcomes[name] = Outcome(CASES[name], exact, grub, dropped)
    return GrubFigures(duration, seeds, outcomes)


def _find(case: Case, duration: float, seed: int) -> tuple[float, float, float]:
    """Return all results, and the shares of them that both strategies find."""
    made = lagged_streams(
        rate=case.rate,
        duration=duration,
        lags=case.lags,
        deviations=case.deviations,
        drifts=case.drifts,
        seed=seed,
    )
    tables = {
        name: pa.table(
            {
                "t": table["time"],
                "v": pa.FixedSizeListArray.from_arrays(table["value"].combine_chunks(), 1),
            }
        )
        for name, table in made.tables.items()
    }
    exact = _join(tables).replay(tables).metrics
    costs = ps.Costs(compare=duration / (_SHARE * max(exact.compared, 1)))
    budget = ps.Budget(cpu=1.0, costs=costs, burst=_BURST)
    grub, dropped = (
        _join(tables, strategy, budget).replay(tables).metrics.emitted / max(exact.emitted, 1)
        for strategy in ("grub", "random-drop")
    )
    return float(exact.emitted), grub, dropped


def _join(
    tables: dict[str, pa.Table], strategy: str | None = None, budget: ps.Budget | None = None
) -> ps.Join:
    columns: dict[str, Any] = dict.fromkeys(tables, "v")
    return ps.Join(
        streams={name: ps.Stream(time="t", window=_WINDOW) for name in tables},
        on=ps.Similar(_DISTANCE, **columns),
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
    )
