"""Random queries over generated streams, to compare plans by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

import penstock as ps

SPAN = 400.0
"""Length of the streams, in units of time, if nothing else is asked for."""

LONGEST = 20.0
"""The longest window: after that all windows are full."""


def make_query(
    seed: int, span: float = SPAN, density: int = 1
) -> tuple[ps.Query, dict[str, pa.Table]]:
    """Return a query of three or four streams in a chain of equalities, and its streams.

    Parameters
    ----------
    seed
        Of the query and of the rows.
    span
        Length of the streams.
    density
        So many times as many rows come in a unit of time, with as many times as many values: a row
        finds as many others, and plans cost so many times as much.
    """
    chance = np.random.default_rng(seed)
    count = 3 + seed % 2
    names = "abcd"[:count]
    tables = {}
    windows = {}
    keys = [density * int(chance.integers(5, 120)) for _ in names]
    for at, name in enumerate(names):
        rows = int(density * span * chance.uniform(0.5, 6.0))
        tables[name] = pa.table(
            {
                "t": np.sort(chance.uniform(0, span, rows)),
                "left": chance.integers(0, keys[at - 1], rows),
                "right": chance.integers(0, keys[at], rows),
                "x": chance.uniform(0, 1, rows),
            }
        )
        windows[name] = round(float(chance.uniform(2, LONGEST)), 1)
    on = [f"{one}.right = {two}.left" for one, two in pairwise(names)]
    on.append(f"{names[seed % count]}.x < {chance.uniform(0.2, 0.9):.2f}")
    output = ", ".join(f"{name}.t AS {name}" for name in names)
    read = ", ".join(f"{name} [RANGE {windows[name]}]" for name in names)
    text = f"SELECT {output} FROM {read} WHERE {' AND '.join(on)}"  # noqa: S608  # it goes nowhere
    return ps.Query(text, streams=dict.fromkeys(names, "t")), tables
