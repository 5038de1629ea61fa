"""Three streams joined on nearby values, against a nested loop over the same windows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.nested_loop import nested_loop
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.report.tables import Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.engine.replay import Replay

_NAMES = ("a", "b", "c")
_WANTED = 20  # times as fast as the nested loop
_RANGE = 1e6  # of the values, which are uniform


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, and for each case how many rows of a window match."""

    rows: int
    window_rows: int
    matches: tuple[int, ...]
    rounds: int


FULL = Sizes(rows=80_000, window_rows=5_000, matches=(2, 5), rounds=5)
QUICK = Sizes(rows=600, window_rows=100, matches=(2,), rounds=1)


@dataclass(frozen=True)
class Case:
    """One selectivity.

    Attributes
    ----------
    matches
        Rows of a window that a probing row matches, on average.
    results_per_arrival
        Combinations of three that an arrival completes, on average.
    engine, plain, tuned, blocks
        Microseconds of processor time per arrival: of the engine, Arrow to Arrow, and of the
        nested loops, numbers to row numbers.
    faster, faster_than_tuned, faster_than_blocks
        How many times faster the engine is than each of the nested loops.
    """

    matches: int
    results_per_arrival: float
    engine: Spread
    plain: Spread
    tuned: Spread
    blocks: Spread
    faster: Spread
    faster_than_tuned: Spread
    faster_than_blocks: Spread


@dataclass(frozen=True)
class Within:
    """Figures of the join on nearby values."""

    sizes: Sizes
    cases: tuple[Case, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        columns = ("matches per window", *(str(case.matches) for case in self.cases))
        return (
            Table.titled(
                f"Windows of {self.sizes.window_rows:,} rows; microseconds per arrival",
                columns,
                (
                    ("results per arrival", *(f"{c.results_per_arrival:.1f}" for c in self.cases)),
                    ("Penstock", *(c.engine.text() for c in self.cases)),
                    ("nested loop, plain", *(c.plain.text() for c in self.cases)),
                    ("nested loop, tuned", *(c.tuned.text() for c in self.cases)),
                    ("nested loop, in blocks", *(c.blocks.text() for c in self.cases)),
                    ("times faster than plain", *(c.faster.text(1) for c in self.cases)),
                    (
                        "times faster than tuned",
                        *(c.faster_than_tuned.text(1) for c in self.cases),
                    ),
                    (
                        "times faster than in blocks",
                        *(c.faster_than_blocks.text(1) for c in self.cases),
                    ),
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare speeds: an index pays off."""
        return tuple(
            Target(
                f"{case.matches} matches per window, at least {_WANTED} times faster than the "
                f"nested loop, plain",
                f"{case.faster.median:.1f} times",
                case.faster.median >= _WANTED,
            )
            for case in self.cases
        )


def run(*, quick: bool, say: Say) -> Within:
    """Measure."""
    sizes = QUICK if quick else FULL
    rng = np.random.default_rng(1)
    values = rng.random((sizes.rows, len(_NAMES))) * _RANGE
    tables = {
        name: pa.table(
            {"time": np.arange(sizes.rows), "x": values[:, s], "value": rng.random(sizes.rows)}
        )
        for s, name in enumerate(_NAMES)
    }
    cases = []
    for matches in sizes.matches:
        say(f"{matches} matches per window")
        cases.append(_measure(matches, tables, values, sizes, say))
    return Within(sizes, tuple(cases))


def _measure(
    matches: int,
    tables: dict[str, pa.Table],
    values: npt.NDArray[np.float64],
    sizes: Sizes,
    say: Say,
) -> Case:
    # Of uniform values, 2 distance / range are within the distance of a given one.
    distance = matches * _RANGE / (2 * sizes.window_rows)
    window = sizes.window_rows - 1
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=window) for name in _NAMES},
        on=ps.Within(distance, **dict.fromkeys(_NAMES, "x")),
    )
    loop = partial(
        nested_loop,
        np.repeat(np.arange(sizes.rows), len(_NAMES)),
        np.tile(np.arange(len(_NAMES)), sizes.rows),
        values.ravel(),
        window=window,
        distance=distance,
    )
    turns = take_turns(
        {
            "engine": partial(join.replay, tables),
            "plain": loop,
            "tuned": partial(loop, scan="tuned"),
            "blocks": partial(loop, scan="blocks"),
        },
        _results,
        sizes.rounds,
        say,
    )
    counts = {turn.kept for own in turns.values() for turn in own}
    assert len(counts) == 1, "all must give the same number of results"
    arrivals = values.size
    times = {name: seconds(own) for name, own in turns.items()}
    spreads = {
        name: Spread.of([time / arrivals * 1e6 for time in own]) for name, own in times.items()
    }
    return Case(
        matches,
        counts.pop() / arrivals,
        spreads["engine"],
        spreads["plain"],
        spreads["tuned"],
        spreads["blocks"],
        ratios(times["plain"], times["engine"]),
        ratios(times["tuned"], times["engine"]),
        ratios(times["blocks"], times["engine"]),
    )


def _results(result: Replay | npt.NDArray[np.int64]) -> int:
    return len(result) if isinstance(result, np.ndarray) else result.result.num_rows
