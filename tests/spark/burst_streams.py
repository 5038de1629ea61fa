"""Streams with a burst, and joins that keep up by giving up work, for drivers that are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.testing import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 7
"""How long the streams are; each second is a micro-batch."""
BURST = range(2, 5)
"""The seconds in which five times as many rows come."""

_STEADY, _FACTOR = 40, 5  # rows per second of each stream
_MICROSECONDS = 1_000_000

_COSTS = ps.Costs(insert=0.001, compare=1e-5, result=0.0005)
JOINS = {
    "burst": ps.Join(
        streams={name: ps.Stream(time="at", window="2 seconds") for name in "ab"},
        on=ps.Equal("level"),
        budget=ps.Budget(cpu=0.2, costs=_COSTS),
    ),
    "burst of three": ps.Join(
        streams={name: ps.Stream(time="at", window="1 second") for name in "abc"},
        on=ps.Within(0.1, a="level", b="level", c="level"),
        budget=ps.Budget(cpu=0.8, costs=_COSTS),
    ),
    # What was learned of parts of windows must survive as well.
    "harvest of three": ps.Join(
        streams={name: ps.Stream(time="at", window="1 second") for name in "abc"},
        on=ps.Similar(0.05, dimensions=1, a="vector", b="vector", c="vector"),
        goal=ps.MaxSubset(strategy="grub"),
        budget=ps.Budget(cpu=0.3, costs=ps.Costs(compare=1e-5)),
    ),
}


def make_batches() -> dict[str, list[pa.Table]]:
    """Make each stream's micro-batches, always the same ones, each a second long."""
    draw = np.random.default_rng(3)
    tables = {name: _table(draw) for name in "abc"}
    at = [second * _MICROSECONDS for second in range(1, SECONDS)]
    ends = pa.array(at, pa.timestamp("us", "UTC")).to_pylist()
    batches = cut(JOINS["burst of three"], tables, ends)
    return {name: [batch[name] for batch in batches] for name in tables}


def _table(draw: np.random.Generator) -> pa.Table:
    times = np.sort(np.concatenate(list(_times(draw))))
    level = pa.array(np.round(draw.normal(0, 2, times.size), 1))
    return pa.table(
        {
            "at": pa.array((times * _MICROSECONDS).astype(np.int64), pa.timestamp("us", "UTC")),
            "level": level,
            "vector": pa.FixedSizeListArray.from_arrays(level, 1),
        }
    )


def _times(draw: np.random.Generator) -> Iterator[np.ndarray]:
    for second in range(SECONDS):
        rows = _STEADY * (_FACTOR if second in BURST else 1)
        yield draw.uniform(second, second + 1, rows)
