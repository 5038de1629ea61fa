"""What it costs to keep important rows: strategies for importance, and how IJOIN scales."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numba
import numpy as np

import penstock as ps
from benchmarks.data import LEFT, RIGHT, Tables, keyed
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table
from penstock.strategies import Ijoin

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.engine.replay import Replay

_MILLION = 1e6
_GOALS: dict[str, str | Ijoin] = {
    "fifo": "fifo",
    "size": "size",
    "greedy": "greedy",
    "ijoin, successive": Ijoin(),
    "ijoin, k-successive": Ijoin(recompute="k-successive"),
    "ijoin, adaptive": Ijoin(recompute="adaptive"),
    "worth": "worth",
}
_WINDOW = 4  # rows of a window, in multiples of the rows that its stream may hold
_KEYS = 10  # number of keys, in multiples of the budget


@dataclass(frozen=True)
class Sizes:
    """What is run: budgets, arrivals for each row of the budget, rounds."""

    budget: int
    budgets: tuple[int, ...]
    arrivals: int
    rounds: int


FULL = Sizes(budget=10_000, budgets=(1_000, 10_000, 100_000), arrivals=30, rounds=5)
QUICK = Sizes(budget=200, budgets=(100, 200), arrivals=6, rounds=1)


@dataclass(frozen=True)
class Contestant:
    """One strategy: arrivals per second of processor time, and its time as a multiple of fifo's."""

    name: str
    million_per_second: Spread
    fifo_times: Spread
    importance: float


@dataclass(frozen=True)
class Growth:
    """IJOIN, successive, at one budget: microseconds for each evicted row.

    Attributes
    ----------
    eviction
        Above what `fifo` takes for an arrival, what more results take included.
    scan
        To compute the priorities of all rows of a stream, in a compiled loop over arrays.
    """

    budget: int
    eviction: float
    scan: float


@dataclass(frozen=True)
class Importance:
    """Figures of the strategies for importance."""

    sizes: Sizes
    contestants: tuple[Contestant, ...]
    growth: tuple[Growth, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            Table.titled(
                f"A budget of {self.sizes.budget:,} rows",
                (
                    "strategy",
                    "million arrivals/s and core",
                    "time, in fifo's",
                    "importance, in fifo's",
                ),
                tuple(
                    (
                        each.name,
                        each.million_per_second.text(),
                        each.fifo_times.text(),
                        f"{each.importance / self.contestants[0].importance:.2f}",
                    )
                    for each in self.contestants
                ),
            ),
            Table.titled(
                "IJOIN, successive: microseconds for each evicted row",
                ("budget", "as it is done", "by a scan of its stream's rows", "scan / done"),
                tuple(
                    (
                        f"{each.budget:,}",
                        f"{each.eviction:.2f}",
                        f"{each.scan:.2f}",
                        f"{each.scan / each.eviction:.1f}",
                    )
                    for each in self.growth
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare times: ways to recompute less often with fifo, and our own score with size."""
        by_name = {each.name: each.fifo_times.median for each in self.contestants}
        ours = by_name["worth"] / by_name["size"]
        last = self.growth[-1]
        return (
            *(
                Target(
                    f"{name}, at most 4 times as long as fifo",
                    f"{by_name[name]:.2f} times",
                    by_name[name] <= 4,
                )
                for name in ("ijoin, k-successive", "ijoin, adaptive")
            ),
            Target("worth, at most twice as long as size", f"{ours:.2f} times", ours <= 2),
            Target(
                f"successive, less than a scan for each evicted row, at {last.budget:,} rows",
                f"{last.eviction:.2f} of {last.scan:.2f} microseconds",
                last.eviction < last.scan,
            ),
        )


def run(*, quick: bool, say: Say) -> Importance:
    """Measure."""
    sizes = QUICK if quick else FULL
    contestants = _contestants(sizes, say)
    growth = []
    for budget in sizes.budgets:
        say(f"growth, {budget:,} rows")
        growth.append(_growth(budget, sizes, say))
    return Importance(sizes, contestants, tuple(growth))


def _streams(budget: int, arrivals: int) -> Tables:
    """Make two streams whose values, the importance, are small for most rows."""
    tables = keyed(budget * arrivals // 2, _KEYS * budget, seed=3)
    weights = 1.0 / np.sqrt(np.arange(1, _KEYS * budget + 1))
    draw = np.random.default_rng(4)
    shares = np.cumsum(weights) / weights.sum()
    made = {}
    for name, table in tables.items():
        keys = np.searchsorted(shares, draw.random(table.num_rows))
        matters = np.minimum(1.0 + draw.pareto(1.2, table.num_rows), 100.0)
        made[name] = table.set_column(1, "key", [keys]).set_column(2, "value", [matters])
    return made


def _join(budget: int, strategy: str | Ijoin) -> ps.Join:
    stream = ps.Stream(time="time", window=_WINDOW * budget // 2)
    return ps.Join(
        streams={LEFT: stream, RIGHT: stream},
        on=ps.Equal("key"),
        goal=ps.MaxImportance(of="value", strategy=strategy),
        budget=ps.Budget(rows=budget),
    )


def _contestants(sizes: Sizes, say: Say) -> tuple[Contestant, ...]:
    tables = _streams(sizes.budget, sizes.arrivals)
    turns = take_turns(
        {name: partial(_join(sizes.budget, goal).replay, tables) for name, goal in _GOALS.items()},
        _importance,
        sizes.rounds,
        say,
    )
    arrivals = sum(table.num_rows for table in tables.values())
    return tuple(
        Contestant(
            name,
            Spread.of([arrivals / _MILLION / each for each in seconds(own)]),
            ratios(seconds(own), seconds(turns["fifo"])),
            own[0].kept[0],
        )
        for name, own in turns.items()
    )


def _importance(replay: Replay) -> tuple[float, int]:
    return replay.metrics.importance, replay.metrics.lost


def _growth(budget: int, sizes: Sizes, say: Say) -> Growth:
    tables = _streams(budget, sizes.arrivals)
    goals = {name: _GOALS[name] for name in ("fifo", "ijoin, successive")}
    turns = take_turns(
        {name: partial(_join(budget, goal).replay, tables) for name, goal in goals.items()},
        _importance,
        sizes.rounds,
        say,
    )
    fifo, successive = (min(seconds(own)) for own in turns.values())
    lost = turns["ijoin, successive"][0].kept[1]
    return Growth(budget, _MILLION * (successive - fifo) / lost, _time_of_scan(budget // 2))


def _time_of_scan(rows: int) -> float:
    """Return the microseconds to compute the priorities of a number of rows, at best."""
    draw = np.random.default_rng(5)
    importance, matches, came = draw.random(rows), draw.random(rows), draw.random(rows)
    last = came + draw.random(rows)
    _scan(importance, matches, came, last, 3.0)
    best = np.inf
    for _ in range(20):
        start = time.process_time()
        for _ in range(1 + 200_000 // rows):
            _scan(importance, matches, came, last, 3.0)
        best = min(best, (time.process_time() - start) / (1 + 200_000 // rows))
    return _MILLION * float(best)


@numba.njit(cache=True, error_model="numpy")
def _scan(
    importance: npt.NDArray[np.float64],
    matches: npt.NDArray[np.float64],
    came: npt.NDArray[np.float64],
    last: npt.NDArray[np.float64],
    now: float,
) -> int:
    """Return the row with the lowest residence priority."""
    found = 0
    lowest = np.inf
    for row in range(importance.size):
        idle = now - last[row]
        priority = importance[row] * matches[row] * np.exp(-2.5 * idle) / (now - came[row])
        if idle >= 0.12:
            priority -= idle
        if priority < lowest:
            lowest = priority
            found = row
    return found
