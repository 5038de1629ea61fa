"""What it costs to choose the rows to keep: strategies at a large budget, and their state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.data import LEFT, equality, keyed
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import save
from penstock.report.tables import Table

if TYPE_CHECKING:
    from benchmarks.data import Tables
    from penstock.engine.arrays import Array
    from penstock.engine.replay import Replay

_MILLION = 1e6
_SAMPLING = ("uniform", "eq-cluster", "pps-cluster", "cluster")
_STRATEGIES = ("fifo", "random", "until-expiry", "age", "prob", "expected", "best", *_SAMPLING)
# Rows of a window, in multiples of the budget's.
_WINDOWS = (1, 10, 100)


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, in its window, keys, and the budget of both."""

    rows: int
    window_rows: int
    keys: int
    budget_rows: int
    rounds: int
    state_budget: int


FULL = Sizes(
    rows=1_000_000,
    window_rows=250_000,
    keys=100_000,
    budget_rows=100_000,
    rounds=3,
    state_budget=5_000,
)
QUICK = Sizes(rows=4_000, window_rows=1_000, keys=400, budget_rows=400, rounds=1, state_budget=50)


@dataclass(frozen=True)
class Contestant:
    """One strategy.

    Attributes
    ----------
    million_per_second
        Arrivals per second of processor time, all that it learns included.
    of_fifo
        The same as a multiple of `fifo`'s.
    """

    name: str
    million_per_second: Spread
    of_fifo: Spread
    results_per_left_row: float


@dataclass(frozen=True)
class State:
    """State of a join, saved and in memory, in bytes for each row of the budget."""

    name: str
    saved: tuple[float, ...]
    memory: tuple[float, ...]


@dataclass(frozen=True)
class Shedding:
    """Figures of the strategies."""

    sizes: Sizes
    contestants: tuple[Contestant, ...]
    states: tuple[State, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            Table.titled(
                f"A budget of {self.sizes.budget_rows:,} rows, windows of twice "
                f"{self.sizes.window_rows:,}",
                ("strategy", "million arrivals/s and core", "times fifo", "results per left row"),
                tuple(
                    (
                        each.name,
                        each.million_per_second.text(),
                        each.of_fifo.text(),
                        f"{each.results_per_left_row:.2f}",
                    )
                    for each in self.contestants
                ),
            ),
            Table.titled(
                "Bytes for each row of the budget, in windows of 1, 10 and 100 times as many rows",
                ("strategy", *(f"saved, {n}" for n in _WINDOWS), *(f"held, {n}" for n in _WINDOWS)),
                tuple(
                    (each.name, *(f"{size:,.0f}" for size in (*each.saved, *each.memory)))
                    for each in self.states
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare speeds: at least half of fifo's and half a million; samples, half of prob's."""
        by_name = {each.name: each for each in self.contestants}
        learning = [by_name[name] for name in ("age", "prob")]
        of_prob = {
            name: by_name[name].of_fifo.median / by_name["prob"].of_fifo.median
            for name in _SAMPLING
        }
        samples = tuple(
            Target(f"{name}, at least half as fast as prob", f"{ratio:.2f} times", ratio >= 0.5)
            for name, ratio in of_prob.items()
        )
        return samples + tuple(
            target
            for each in learning
            for target in (
                Target(
                    f"{each.name}, at least half as fast as fifo",
                    f"{each.of_fifo.median:.2f} times",
                    each.of_fifo.median >= 0.5,
                ),
                Target(
                    f"{each.name}, at least 0.5 million arrivals per second and core",
                    f"{each.million_per_second.median:.2f} million",
                    each.million_per_second.median >= 0.5,
                ),
            )
        )


def run(*, quick: bool, say: Say) -> Shedding:
    """Measure."""
    sizes = QUICK if quick else FULL
    tables = keyed(sizes.rows, sizes.keys, seed=1)
    turns = take_turns(
        {
            name: partial(
                equality(sizes.window_rows, budget_rows=sizes.budget_rows, strategy=name).replay,
                tables,
            )
            for name in _STRATEGIES
        },
        _results,
        sizes.rounds,
        say,
    )
    arrivals = sum(table.num_rows for table in tables.values())
    contestants = tuple(
        Contestant(
            name,
            Spread.of([arrivals / _MILLION / time for time in seconds(own)]),
            ratios(seconds(turns["fifo"]), seconds(own)),
            own[0].kept / tables[LEFT].num_rows,
        )
        for name, own in turns.items()
    )
    say("state")
    return Shedding(sizes, contestants, tuple(_state(name, sizes) for name in _STRATEGIES))


def _results(replay: Replay) -> int:
    return replay.metrics.emitted


def _state(strategy: str, sizes: Sizes) -> State:
    """Fill windows of different lengths, in batches of as many rows as the budget has."""
    saved, memory = [], []
    for times in _WINDOWS:
        window = times * sizes.state_budget
        rows = window + 2 * sizes.state_budget
        tables = keyed(rows, 4 * sizes.state_budget, seed=2)
        join = equality(window, budget_rows=sizes.state_budget, strategy=strategy)
        operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
        for start in range(0, rows, sizes.state_budget):
            operator.process(_slice(tables, start, sizes.state_budget))
            save(operator)
        saved.append(sum(seal.size for seal in operator.saved.values()) / sizes.state_budget)
        held = sum(_bytes_of(part) for part in operator.store.memory)
        memory.append(held / sizes.state_budget)
    return State(strategy, tuple(saved), tuple(memory))


def _bytes_of(part: Array | tuple[Any, ...]) -> int:
    """Return the size of an array, or of a group of arrays."""
    return sum(map(_bytes_of, part)) if isinstance(part, tuple) else part.nbytes


def _slice(tables: Tables, start: int, rows: int) -> Tables:
    return {name: table.slice(start, rows) for name, table in tables.items()}
