"""Join departures with later ones of the same plane: exactly, and with a part of the memory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

import penstock as ps
from examples.flights.data import departures
from examples.flights.picture import save_age_curve
from penstock.strategies import STRATEGIES
from penstock.yardsticks import offline_optima

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa

HOURS = 72
STREAMS = {
    "departures": ps.Stream(time="gone_at", window=f"{HOURS} hours"),  # a plane that may return
    "returns": ps.Stream(time="departed_at", window="0 seconds"),  # and is seen to leave again
}
SHARES = (0.1, 0.2)


def join(strategy: str | None = None, rows: int | None = None) -> ps.Join:
    """Make the join; the exact one if it may hold any number of rows."""
    return ps.Join(
        streams=STREAMS,
        on=ps.Equal("tailnum"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def strategies() -> list[str | None]:
    """Name all strategies that this goal has, and last None: Penstock's own choice."""
    return [*(name for name, kind in STRATEGIES.items() if ps.MaxSubset in kind.serves), None]


def age_curve(result: pa.Table, rows: int) -> npt.NDArray[np.float64]:
    """Count how often a departure's plane leaves again in each hour after it."""
    left = pc.struct_field(result["departures"], "gone_at")
    again = pc.struct_field(result["returns"], "departed_at")
    minutes = pc.minutes_between(left, again).to_numpy()
    # The very last minute of the window counts with its last hour.
    hours = np.minimum(minutes // 60, HOURS - 1)
    return np.bincount(hours, minlength=HOURS) / rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how much of the exact result each strategy finds, and draw the age curve."""
    options = _parser().parse_args(arguments)
    table = departures(options.days)
    tables = {"departures": table, "returns": table}

    exact = join().replay(tables)
    held, emitted = exact.metrics.held_most, exact.metrics.emitted
    print(f"{table.num_rows:,} departures, {pc.count_distinct(table['tailnum']).as_py():,} planes")
    print(f"{emitted:,} returns within {HOURS} hours; the exact join holds {held:,} rows")
    print()
    print(f"{'strategy':<24}" + "".join(f"{share:>12.0%}" for share in SHARES) + "  of the memory")
    for strategy in strategies():
        replays = [join(strategy, round(share * held)).replay(tables).metrics for share in SHARES]
        label = strategy or f"none given ({replays[0].strategy})"
        print(_line(label, [each.emitted / emitted for each in replays]))
    if options.optimum:
        limits = [round(share * held) for share in SHARES]
        optima = offline_optima(join(), tables, limits)
        print(_line("offline optimum", [each.recall for each in optima]))

    save_age_curve(options.plot, age_curve(exact.result, table.num_rows))
    print(f"\nThe figures are recall. The age curve is in {options.plot}")


def _line(label: str, recalls: Sequence[float]) -> str:
    return f"{label:<24}" + "".join(f"{recall:>12.1%}" for recall in recalls)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--days", type=int, default=365, help="of 2013, from 1 January; all of it")
    words = "also the offline optimum, which knows the future; ten seconds for a month"
    parser.add_argument("--optimum", action="store_true", help=words)
    plot = Path("flights-age-curve.png")
    parser.add_argument("--plot", type=Path, default=plot, metavar="FILE", help="for the picture")
    return parser


if __name__ == "__main__":
    main()
