"""Times that are floats: a rounded sum must not decide which rows are in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import canonical_rows, expected_rows
from tests.engine import support

if TYPE_CHECKING:
    from penstock.predicates import Predicate

PREDICATES: tuple[Predicate, ...] = (
    ps.Equal("v"),
    ps.Within(0, left="v", right="v"),
    ps.Compare("<=", left="v", right="v"),
)
TENTHS = [tenths / 10 for tenths in range(25)]


@pytest.mark.parametrize("on", PREDICATES, ids=str)
@support.examples(40)
@given(
    left=st.lists(st.sampled_from(TENTHS), max_size=6),
    right=st.lists(st.sampled_from(TENTHS), max_size=6),
    windows=st.tuples(st.sampled_from(TENTHS), st.sampled_from(TENTHS)),
)
# 0.8 - 0.3 is 0.5, but 0.8 - 0.5 is above 0.3.
@example(left=[0.3], right=[0.8], windows=(0.5, 0.0))
def test_the_difference_of_the_times_alone_decides(
    on: Predicate, left: list[float], right: list[float], windows: tuple[float, float]
) -> None:
    join = ps.Join(
        streams={
            name: ps.Stream(time="t", window=window)
            for name, window in zip(("left", "right"), windows, strict=True)
        },
        on=on,
    )
    tables = {
        name: pa.table(
            {
                "t": pa.array(sorted(times), pa.float64()),
                "v": pa.array([1] * len(times), pa.int64()),
            }
        )
        for name, times in (("left", left), ("right", right))
    }
    assert canonical_rows(join.replay(tables).result) == expected_rows(join, tables)
    one_by_one = {
        name: [table.slice(row, 1) for row in range(6)] or [table] for name, table in tables.items()
    }
    assert canonical_rows(join.replay(one_by_one).result) == expected_rows(join, tables)
