"""Compiles the kernels before the tests, for all types of times and values.

    python -m tests.compile_kernels

Otherwise two test processes, and the workers of their Spark sessions, would each compile the same.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
import pyarrow as pa

import penstock as ps

ROWS = 200
TYPES = {"whole": pa.int64(), "fraction": pa.float64()}
GOALS = (
    ps.MaxSubset(strategy="random"),
    ps.MaxSubset(),
    ps.MaxImportance(of=1.0, strategy="ijoin"),
    ps.Sample(),
)


def compile_for(time: str, value: str) -> None:
    """Run each kind of retention over times and values of these types."""
    table = pa.table({"t": np.arange(ROWS), "x": np.arange(ROWS) % 7})
    table = table.cast(pa.schema([("t", TYPES[time]), ("x", TYPES[value])]))
    streams = {name: ps.Stream(time="t", window=50) for name in ("a", "b")}
    on = ps.Within(1, a="x", b="x")
    for goal in GOALS:
        join = ps.Join(streams=streams, on=on, goal=goal, budget=ps.Budget(rows=20))
        join.replay(dict.fromkeys(streams, table))


def main() -> None:
    """Compile for all, two at a time."""
    with ProcessPoolExecutor(2) as pool:
        for done in [pool.submit(compile_for, *types) for types in product(TYPES, TYPES)]:
            done.result()


if __name__ == "__main__":
    main()
