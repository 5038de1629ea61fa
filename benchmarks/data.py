"""Streams for the benchmarks: a row of every stream at every tick of a whole-number clock.

So a window of `rows` - 1 ticks holds `rows` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.strategies import STRATEGIES

if TYPE_CHECKING:
    import numpy.typing as npt

LEFT, RIGHT = "left", "right"

Tables = dict[str, pa.Table]


def keyed(rows: int, keys: int, *, seed: int, start: int = 0) -> Tables:
    """Make two streams with uniform keys: a time, a key and a value of 8 bytes each."""
    rng = np.random.default_rng([seed, start])
    return {
        name: pa.table(
            {
                "time": np.arange(start, start + rows),
                "key": rng.integers(0, keys, rows),
                "value": rng.random(rows),
            }
        )
        for name in (LEFT, RIGHT)
    }


def with_text(tables: Tables, *, seed: int) -> Tables:
    """Turn the keys of streams into text, and the values into notes of 10 to 40 letters."""
    rng = np.random.default_rng(seed)
    keys = 1 + max(table["key"].to_numpy().max() for table in tables.values())
    names = pa.array([f"key-{key:08d}" for key in range(keys)])
    letters = "".join(chr(letter) for letter in rng.integers(97, 123, 1000))
    notes = pa.array([letters[at : at + 10 + at % 31] for at in range(900)])
    return {
        name: pa.table(
            {
                "time": table["time"],
                "key": names.take(table["key"]),
                "note": notes.take(pa.array(rng.integers(0, len(notes), table.num_rows))),
            }
        )
        for name, table in tables.items()
    }


def equality(
    window_rows: int, *, budget_rows: int | None = None, strategy: str | None = None
) -> ps.Join:
    """Join the two streams on their keys."""
    stream = ps.Stream(time="time", window=window_rows - 1)
    goal = ps.MaxSubset if strategy is None else STRATEGIES[strategy].serves[0]
    return ps.Join(
        streams={LEFT: stream, RIGHT: stream},
        on=ps.Equal("key"),
        goal=goal(strategy=strategy),
        budget=None if budget_rows is None else ps.Budget(rows=budget_rows),
    )


def count_pairs(tables: Tables, window_rows: int) -> int:
    """Count what the equality join of whole-number keys must give, by sorting instead of joining.

    A left row of time t joins the right rows of its key with a time from t - w to t + w, w being
    the window: one run among the right rows sorted by key and time.
    """
    keys, times = (
        {name: table[column].to_numpy() for name, table in tables.items()}
        for column in ("key", "time")
    )
    reach = window_rows - 1
    # Keys so far apart that no time reaches from one to the next.
    apart = 1 + reach + max(int(t.max()) for t in times.values()) + reach
    right: npt.NDArray[np.int64] = np.sort(keys[RIGHT] * apart + times[RIGHT])
    left: npt.NDArray[np.int64] = keys[LEFT] * apart + times[LEFT]
    first = np.searchsorted(right, left - reach, side="left")
    last = np.searchsorted(right, left + reach, side="right")
    return int((last - first).sum())
