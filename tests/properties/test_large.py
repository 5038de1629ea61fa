"""More rows than fit one slice of arrivals, one sub-window or one piece of output.

Too many for brute force, so the exact join is checked against Arrow's own hash join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.testing import cut_rows
from tests.conformance.checks import as_lists

if TYPE_CHECKING:
    import numpy.typing as npt

ROWS = 40_000
WINDOWS = {"left": 9_000, "right": 3_000}


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    draw = np.random.default_rng(0)
    return {
        name: pa.table(
            {
                "t": np.sort(draw.integers(0, ROWS, ROWS)),
                "key": draw.integers(0, 700, ROWS),
                name: np.arange(ROWS),
            }
        )
        for name in WINDOWS
    }


def arrow_join(tables: dict[str, pa.Table]) -> pa.Table:
    """Join on the key, and keep what is in the older row's window."""
    left = tables["left"]
    right = tables["right"].rename_columns({"t": "u"})
    both = left.join(right, "key", join_type="inner")
    age = pc.subtract(both["u"], both["t"])
    old_left = pc.and_(pc.greater_equal(age, 0), pc.less_equal(age, WINDOWS["left"]))
    old_right = pc.and_(pc.less(age, 0), pc.greater_equal(age, -WINDOWS["right"]))
    return both.filter(pc.or_(old_left, old_right)).select(["left", "right"])


def pairs(table: pa.Table) -> npt.NDArray[np.int64]:
    left, right = (table[name].to_numpy() for name in WINDOWS)
    found: npt.NDArray[np.int64] = np.sort(left * ROWS + right)
    return found


@pytest.mark.parametrize(("batches", "shards"), [(1, 1), (7, 1), (4, 3)])
def test_many_rows_join_as_in_arrow(tables: dict[str, pa.Table], batches: int, shards: int) -> None:
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=window) for name, window in WINDOWS.items()},
        on=ps.Equal("key"),
    )
    result = join.replay(as_lists(cut_rows(tables, batches=batches)), shards=shards).result
    found = pa.table({name: pc.struct_field(result[name], name) for name in WINDOWS})
    expected = pairs(arrow_join(tables))
    assert expected.size > 2**19
    assert np.array_equal(pairs(found), expected)


def test_comparisons_over_hundreds_of_windows_find_no_result_twice() -> None:
    """A probe must not read twice a chain that two sub-windows share."""
    draw = np.random.default_rng(1)
    times = {name: np.sort(draw.integers(0, 60_000, 3_000)) for name in WINDOWS}
    tables = {
        name: pa.table({"t": t, name: np.arange(3_000), "v": draw.integers(0, 9, 3_000)})
        for name, t in times.items()
    }
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=160) for name in WINDOWS},
        on=ps.Compare("<=", left="v", right="v"),
    )
    result = join.replay(tables).result
    found = np.stack(
        [result[name].combine_chunks().field(name).to_numpy() for name in WINDOWS], axis=1
    )
    apart = np.abs(times["left"][:, np.newaxis] - times["right"])
    values = [tables[name]["v"].to_numpy() for name in WINDOWS]
    fits = values[0][:, np.newaxis] <= values[1]
    expected = np.argwhere((apart <= 160) & fits)
    assert found[np.lexsort(found.T[::-1])].tolist() == expected.tolist()
