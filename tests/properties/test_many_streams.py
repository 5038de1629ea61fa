"""Joins of two to five streams against brute force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows, cut_rows, expected_rows
from tests.conformance.checks import as_lists

if TYPE_CHECKING:
    from penstock.predicates import Predicate

NAMES = ("a", "b", "c", "d", "e")


def predicate(word: str, count: int) -> Predicate:
    # The predicate names the streams in another order than the join.
    columns: dict[str, Any] = dict.fromkeys(sorted(NAMES[:count], key=lambda n: n in "bd"), "v")
    made: dict[str, Predicate] = {
        "Equal": ps.Equal("v"),
        "Equal of two columns": ps.Equal("v", "w"),
        "Within": ps.Within(1, **columns),
        "Within nothing": ps.Within(0, **columns),
        "Band": ps.Band(low=0, high=2, **columns),
        "Band below": ps.Band(low=-3, high=-1, **columns),
        "Compare <": ps.Compare("<", **columns),
        "Compare !=": ps.Compare("!=", **columns),
        "Compare =": ps.Compare("=", **columns),
    }
    return made[word]


WORDS = (
    *("Equal", "Equal of two columns", "Within", "Within nothing"),
    *("Band", "Band below", "Compare <", "Compare !=", "Compare ="),
)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("word", WORDS)
def test_streams_that_are_not_in_step_join_as_by_brute_force(word: str, count: int) -> None:
    draw = np.random.default_rng(7 + count)
    rows, end = {2: (80, 240), 3: (50, 100), 4: (30, 25), 5: (18, 7)}[count]
    if word == "Compare !=":
        rows //= 2  # almost everything joins
    tables = {
        name: pa.table(
            {
                "t": np.sort(draw.integers(0, end, rows)),
                "v": pa.array(draw.integers(0, 6, rows), mask=draw.random(rows) < 0.05),
                "w": draw.integers(0, 2, rows),
            }
        )
        for name in NAMES[:count]
    }
    windows = (4, 0, 6, 2, 3)
    join = ps.Join(
        streams={
            name: ps.Stream(time="t", window=window)
            for name, window in zip(tables, windows, strict=False)
        },
        on=predicate(word, count),
    )
    expected = expected_rows(join, tables)
    assert expected
    for shards in (1, 2):
        batches = as_lists(cut_rows(tables, batches=6, seed=shards))
        assert canonical_rows(join.replay(batches, shards=shards).result) == expected
