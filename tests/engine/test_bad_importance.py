"""Rows without a usable importance: counted, joined with an importance of 0, never an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.metrics import Metrics, total
from penstock.strategies import STRATEGIES as TABLE
from penstock.testing import canonical_rows, cut
from tests.conformance.checks import run

NAN, INFINITY = float("nan"), float("inf")
BAD = (None, NAN, -1.0, INFINITY, -INFINITY, 1e101)
ROWS = 240
CUTS = (90, 91, 200, 410)
STRATEGIES = [name for name, made in TABLE.items() if issubclass(ps.MaxImportance, made().serves)]


def make_tables(bad: tuple[float | None, ...] = BAD) -> dict[str, pa.Table]:
    """Make two streams: each fifth row of the first has a bad importance, and some have no key."""
    draw = np.random.default_rng(3)
    scores = draw.integers(1, 6, ROWS).astype(float).tolist()
    keys = draw.integers(0, 5, ROWS).tolist()
    tables = {}
    for place, name in enumerate(("r", "s")):
        given: list[float | None] = list(scores)
        if not place:
            for at in range(0, ROWS, 5):
                given[at] = bad[at // 5 % len(bad)]
        own = [None if at % 20 == 10 else key for at, key in enumerate(keys)]
        column = pa.array(given, pa.float64(), from_pandas=False)
        tables[name] = pa.table({"t": 2 * np.arange(ROWS) + place, "k": own, "score": column})
    return tables


# Of the 48 rows with a bad importance, 12 have no key.
BAD_ROWS = 36


def join_of(of: Any = "score", rows: int | None = None, **goal: Any) -> ps.Join:  # noqa: ANN401
    stream = ps.Stream(time="t", window=60)
    budget = None if rows is None else ps.Budget(rows=rows, monitor=0.1)
    return ps.Join(
        streams={"r": stream, "s": stream},
        on=ps.Equal("k"),
        goal=ps.MaxImportance(of=of, **goal),
        budget=budget,
    )


def counted(metrics: Metrics) -> list[int]:
    return [stream.bad_importance for stream in metrics.streams.values()]


@pytest.mark.parametrize("result", ["min", "max", "sum", "product"])
def test_a_bad_importance_is_0_and_the_row_is_joined(result: str) -> None:
    zero = join_of(result=result).replay(make_tables(bad=(0.0,)))
    found = join_of(result=result).replay(make_tables())
    assert found.metrics.emitted == zero.metrics.emitted > 500
    for name in ("time", "weight", "importance"):
        assert found.result[name].to_pylist() == zero.result[name].to_pylist()
    assert counted(found.metrics) == [BAD_ROWS, 0]
    assert counted(zero.metrics) == [0, 0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("result", ["min", "sum"])
def test_every_strategy_takes_a_bad_importance_as_0(strategy: str, result: str) -> None:
    join = join_of(rows=20, strategy=strategy, result=result)
    found = join.replay(make_tables(bad=(None,))).metrics
    assert found.lost > 0
    assert counted(found) == [BAD_ROWS, 0]
    assert 0 < found.importance < INFINITY
    mixed = join.replay(make_tables()).metrics
    assert counted(mixed) == [BAD_ROWS, 0]
    assert 0 < mixed.importance < INFINITY


@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_the_count_survives_restarts(strategy: str | None) -> None:
    join = join_of(rows=20, strategy=strategy)
    tables = make_tables()
    batches = cut(join, tables, CUTS)
    saved = run(join, batches, saving=True)
    whole = join.replay(tables)
    assert saved.rows == canonical_rows(whole.result)
    assert counted(saved.metrics) == counted(whole.metrics) == [BAD_ROWS, 0]


def test_rows_that_cannot_match_are_counted_as_that() -> None:
    late = pa.table({"t": [1, None], "k": [1, 1], "score": [NAN, NAN]})
    first = pa.table({"t": [50], "k": [1], "score": [1.0]})
    batches = [{"r": first, "s": first}, {"r": late, "s": late}]
    metrics = run(join_of(), batches, saving=True).metrics
    assert counted(metrics) == [0, 0]
    assert metrics.streams["r"].late == metrics.streams["r"].bad_times == 1


def test_each_row_is_counted_once_by_the_definition_of_its_own_time() -> None:
    lookup = ps.Lookup("k", {0: 5, 1: 2})
    of = [(None, 1), (100, "score"), (200, lookup), (300, lambda rows: [NAN] * rows.num_rows)]
    tables = make_tables(bad=(None,))
    expected = []
    for table in tables.values():
        bad = 0
        for row in table.to_pylist():
            later = row["t"] >= 100 and row["score"] is None
            bad += row["k"] is not None and (
                (row["t"] < 200 and later)
                or (200 <= row["t"] < 300 and row["k"] > 1)
                or row["t"] >= 300
            )
        expected.append(bad)
    for rows in (None, 20):
        assert counted(join_of(of, rows).replay(tables).metrics) == expected


def test_counts_of_shards_add_up() -> None:
    tables = make_tables()
    for rows in (None, 40):
        assert counted(join_of(rows=rows).replay(tables, shards=3).metrics) == [BAD_ROWS, 0]
    parts = [join_of().replay(tables).metrics] * 2
    assert counted(total(parts)) == [2 * BAD_ROWS, 0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("result", ["min", "max", "sum", "product"])
def test_the_largest_importance_overflows_nothing(strategy: str, result: str) -> None:
    tables = {
        name: table.set_column(2, "score", pa.array(np.geomspace(1e-300, 1e100, ROWS)))
        for name, table in make_tables().items()
    }
    join = join_of(rows=20, strategy=strategy, result=result)
    saved = run(join, cut(join, tables, CUTS), saving=True)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        whole = join.replay(tables)
    assert saved.rows == canonical_rows(whole.result)
    assert 0 < whole.metrics.importance < INFINITY


@pytest.mark.parametrize("bad", [None, -1, 2**63 - 1, NAN, INFINITY], ids=str)
def test_a_bad_number_of_matches_stops_nothing(bad: float | None) -> None:
    tables = {}
    for name, table in make_tables().items():
        given = [bad if at % 7 == 0 else 2 for at in range(ROWS)]
        kind = pa.float64() if isinstance(bad, float) else pa.int64()
        tables[name] = table.append_column("n", pa.array(given, kind, from_pandas=False))
    stream = ps.Stream(time="t", window=60)
    join = ps.Join(
        streams={"r": stream, "s": stream},
        on=ps.Equal("k"),
        goal=ps.Sample(strategy="uniform", matches={"r": "n", "s": "n"}),
        budget=ps.Budget(rows=20),
    )
    saved = run(join, cut(join, tables, CUTS), saving=True)
    weights = join.replay(tables).result["weight"].to_numpy()
    assert len(saved.rows) == weights.size
    assert np.isfinite(weights).all()
