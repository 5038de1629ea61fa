"""What a CPU budget costs in speed: one that is never reached, and one that sheds half of the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import penstock as ps
from benchmarks.data import equality, keyed
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    from penstock.engine.replay import Replay

_MILLION = 1e6
_EXACT = "exact"
_STRATEGIES = (None, "by-partner", "probe-no-insert", "coin-flip", "insert-no-probe", "max-subset")
_IDLE, _HALF = "never reached", "half of the work"
# Of a step in ticks, so that the exact join, with ten results for each row, needs one core.
_COSTS = ps.Costs(arrival=0.02, insert=0.08, result=0.04)


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, in its window, keys, rows of a micro-batch."""

    rows: int
    window_rows: int
    keys: int
    batches: int
    rounds: int


FULL = Sizes(rows=1_000_000, window_rows=50_000, keys=10_000, batches=10, rounds=5)
QUICK = Sizes(rows=4_000, window_rows=1_000, keys=200, batches=2, rounds=1)


@dataclass(frozen=True)
class Contestant:
    """One budget and strategy.

    Attributes
    ----------
    of_exact
        Its processor time for an arrival, as a multiple of the exact join's.
    """

    budget: str
    name: str
    million_per_second: Spread
    of_exact: Spread
    recall: float


@dataclass(frozen=True)
class Work:
    """Figures of CPU budgets."""

    sizes: Sizes
    contestants: tuple[Contestant, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as a table."""
        return (
            Table.titled(
                f"Two streams of {self.sizes.rows:,} rows, windows of {self.sizes.window_rows:,}",
                ("budget", "strategy", "million arrivals/s and core", "time of exact", "recall"),
                tuple(
                    (
                        each.budget,
                        each.name,
                        each.million_per_second.text(),
                        each.of_exact.text(),
                        f"{each.recall:.2f}",
                    )
                    for each in self.contestants
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare times: 3 % more at most where nothing is shed, none where half is."""
        return tuple(
            Target(
                f"{each.name}, {each.budget}: at most {most:.2f} times the time of exact",
                f"{each.of_exact.median:.3f} times",
                each.of_exact.median <= most,
            )
            for each in self.contestants
            if (most := {_IDLE: 1.03, _HALF: 1.0}.get(each.budget)) is not None
        )


def run(*, quick: bool, say: Say) -> Work:
    """Measure."""
    sizes = QUICK if quick else FULL
    tables = keyed(sizes.rows, sizes.keys, seed=1)
    step = sizes.rows // sizes.batches
    batches = {
        name: [table.slice(at, step) for at in range(0, sizes.rows, step)]
        for name, table in tables.items()
    }
    join = equality(sizes.window_rows)
    exact = join.replay(batches).metrics
    needed = (
        _COSTS.arrival * exact.arrived + _COSTS.insert * exact.arrived + _COSTS.result * exact.emitted
    ) / sizes.rows
    joins = {(_EXACT, _EXACT): join}
    for budget, share in ((_IDLE, 0.1), (_HALF, 2.0)):
        factor = share / needed
        costs = ps.Costs(
            arrival=factor * _COSTS.arrival,
            insert=factor * _COSTS.insert,
            result=factor * _COSTS.result,
        )
        for name in _STRATEGIES:
            joins[budget, name or "none named"] = replace(
                join,
                goal=ps.MaxSubset(strategy=name),
                budget=ps.Budget(cpu=1.0, costs=costs),
            )
    turns = take_turns(
        {f"{budget}, {name}": partial(each.replay, batches) for (budget, name), each in joins.items()},
        _results,
        sizes.rounds,
        say,
    )
    base = turns[f"{_EXACT}, {_EXACT}"]
    return Work(
        sizes,
        tuple(
            Contestant(
                budget,
                name,
                Spread.of([exact.arrived / _MILLION / time for time in seconds(own)]),
                ratios(seconds(own), seconds(base)),
                own[0].kept / base[0].kept,
            )
            for (budget, name), own in zip(joins, turns.values(), strict=True)
        ),
    )


def _results(replay: Replay) -> int:
    return replay.metrics.emitted
