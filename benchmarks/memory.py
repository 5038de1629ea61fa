"""The memory that a buffered row takes by the system's count, against what the metrics say.

Runs in a process of its own, which has nothing else in memory.
"""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.data import equality, keyed
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.report.tables import Table

if TYPE_CHECKING:
    from benchmarks.report import Target
    from penstock.bench.timing import Say

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream in its window, and in each micro-batch."""

    window_rows: int
    batch_rows: int


FULL = Sizes(500_000, 50_000)
QUICK = Sizes(5_000, 1_000)

# Keys for each row of a window.
_KEYS_PER_ROW = {
    "nearly every row with a key of its own": 20.0,
    "five rows (of both streams) with each key": 0.4,
}


@dataclass(frozen=True)
class Held:
    """The memory of a join whose windows have been full for one window's length.

    Attributes
    ----------
    keys
        How the keys are distributed, in words.
    rows
        Rows held, of both streams.
    said
        Bytes per row by `Metrics.bytes_most`.
    payload
        Bytes per row that are its payload.
    measured
        Bytes per row by which the process has grown.
    measured_most
        The same at its greatest, while joining.
    """

    keys: str
    rows: int
    said: float
    payload: float
    measured: float
    measured_most: float


@dataclass(frozen=True)
class Memory:
    """Figures of the memory that a row takes; none where the system does not tell."""

    sizes: Sizes
    held: tuple[Held, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        if not self.held:
            return (
                Table.titled("Bytes per row held: this system does not say", ("what", "bytes"), ()),
            )
        return tuple(
            Table.titled(
                f"Bytes per row, {held.rows:,} rows held, {held.keys}",
                ("what", "bytes per row", "times bytes_most"),
                tuple(
                    (what, f"{size:.0f}", f"{size / held.said:.2f}")
                    for what, size in (
                        ("payload alone", held.payload),
                        ("`Metrics.bytes_most`", held.said),
                        ("growth of the process, between batches", held.measured),
                        ("growth of the process, at its greatest", held.measured_most),
                    )
                ),
            )
            for held in self.held
        )

    def targets(self) -> tuple[Target, ...]:
        """Return no targets: the figures are for information."""
        return ()


def run(*, quick: bool, say: Say) -> Memory:
    """Measure."""
    sizes = QUICK if quick else FULL
    if not _STATUS.exists():
        say("skipped: this system does not say how much memory a process has")
        return Memory(sizes, ())
    held = []
    for keys in _KEYS_PER_ROW:
        say(f"windows of {sizes.window_rows:,} rows in a process of their own: {keys}")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            held.append(pool.submit(_measure, sizes, keys).result())
    return Memory(sizes, tuple(held))


def _measure(sizes: Sizes, keys: str) -> Held:
    pa.set_cpu_count(1)
    _fill(QUICK, keys)  # compiles, and has the libraries take what they need for themselves
    gc.collect()
    before = _status("VmRSS")
    operator = _fill(sizes, keys)
    most = _status("VmHWM")
    gc.collect()
    pa.default_memory_pool().release_unused()
    after = _status("VmRSS")
    metrics = operator.metrics()
    rows = sum(stream.held for stream in metrics.streams.values())
    payload = sum(stream.held * stream.row_bytes for stream in metrics.streams.values())
    return Held(
        keys,
        rows,
        metrics.bytes_most / metrics.held_most,
        payload / rows,
        (after - before) / rows,
        (most - before) / rows,
    )


def _fill(sizes: Sizes, described: str) -> Operator:
    """Make a join with full windows, fed in micro-batches, and discard all results."""
    keys = round(_KEYS_PER_ROW[described] * sizes.window_rows)
    join = equality(sizes.window_rows)
    schemas = {name: table.schema for name, table in keyed(1, keys, seed=1).items()}
    operator = Operator(bind(join, schemas))
    for start in range(0, 2 * sizes.window_rows, sizes.batch_rows):
        for _ in operator.pieces(keyed(sizes.batch_rows, keys, seed=1, start=start)):
            pass
    return operator


def _status(name: str) -> int:
    """Return a figure of this process, in bytes."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)
