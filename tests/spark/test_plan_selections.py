"""Selections as Spark computes them, beside those of replay: null, NaN, texts, times, errors."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import penstock as ps
from penstock.planning.selection_values import selected_rows
from penstock.testing import canonical_rows
from tests.planning.selections import ROWS, SELECTIONS, WITHOUT_VALUES, parsed_of
from tests.spark.support import make_sources

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_selections_are_those_of_replay(spark: SparkSession, tmp_path: Path) -> None:
    frame = make_sources(tmp_path, {"rows": [ROWS]})["rows"].read(spark).alias("b")
    # Side by side Spark would compute what two columns have in common for all rows at first.
    alone = [each for each in SELECTIONS if "/" in each or "%" in each or "CAST" in each]
    together = [each for each in SELECTIONS if each not in alone]
    texts = [" AND ".join(f"({text})" for text in parsed_of(each)) for each in together]
    columns = [f"COALESCE({text}, FALSE) AS c{at}" for at, text in enumerate(texts)]
    made = frame.selectExpr("id", *columns).orderBy("id").toArrow()
    for at, selection in enumerate(together):
        own = selected_rows(parsed_of(selection), ROWS).tolist()
        assert made[f"c{at}"].to_pylist() == own, selection
    for selection in alone:
        filtered = frame
        for text in parsed_of(selection):
            filtered = filtered.filter(text)
        ids = ROWS["id"].filter(pa.array(selected_rows(parsed_of(selection), ROWS))).to_pylist()
        assert sorted(filtered.toArrow()["id"].to_pylist()) == ids, selection
    for selection in WITHOUT_VALUES:
        with pytest.raises(PySparkException, match=r"ARITHMETIC|DIVIDE|REMAINDER|CAST|OVERFLOW"):
            frame.filter(parsed_of(selection)[0]).toArrow()


@pytest.mark.slow
def test_a_plan_gives_spark_texts_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    query = ps.Query(
        "SELECT b.`od``d`, b.s FROM rows b [NOW], sites v, towns w "
        "WHERE b.s = 'O''Brien' AND b.`x y` = v.`v v` AND v.`v v` = w.`w-w`",
        streams={"rows": "at"},
        tables=["sites", "towns"],
    )
    tables = {
        "rows": ROWS.select(["id", "at", "s", "x"]).rename_columns(["od`d", "at", "s", "x y"]),
        "sites": ROWS.select(["x"]).rename_columns(["v v"]),
        "towns": ROWS.select(["x"]).rename_columns(["w-w"]),
    }
    plan = query.optimize(query.measure(tables))
    expected = [{"od`d": 1, "s": "O'Brien"}]
    sources = make_sources(tmp_path, {name: [table] for name, table in tables.items()})
    for each in (plan, *query.plans(query.measure(tables))):
        assert each.replay(tables).result.to_pylist() == expected
        frames = {name: source.read(spark) for name, source in sources.items()}
        assert each.batch(frames).toArrow().to_pylist() == expected
    star = ps.Query("SELECT * FROM rows b [NOW] WHERE b.s = 'red'", streams={"rows": "at"})
    own = {"rows": tables["rows"]}
    made = star.optimize(star.measure(own)).replay(own).result
    assert made.column_names == ["od`d", "at", "s", "x y"]


CONDITIONS = [
    "b.f BETWEEN v.f - 0.1 AND v.f + 0.2",
    "ABS(b.f - v.f) <= 0.3",
    "ABS(b.g - v.f) <= 0.3",
    "ABS(b.i - v.i) <= 2.5",
    "v.w BETWEEN b.w - 1 AND b.w + 1",
    "b.i BETWEEN v.d - 0.5 AND v.d + 0.25",
    "b.f < v.f",
    "b.f <> v.g",
    "b.w = v.f",
    "b.g = v.f",
    "b.day = v.at",
    "b.d = v.i",
]


def values(seed: int) -> pa.Table:
    """Floats whose differences depend on how they are computed, and numbers at all ends."""
    chance = np.random.default_rng(seed)
    tenths = chance.integers(-9, 9, 40) / 10
    tenths[:5] = [np.nan, np.inf, -np.inf, -0.0, 2.0**53]
    wide = chance.integers(-3, 3, 40)
    wide[:4] = [2**63 - 1, -(2**63), 2**53 + 1, 2**63 - 2]
    whole = chance.integers(-3, 3, 40)
    whole[:3] = [2**31 - 1, -(2**31), 2**31 - 2]
    days = chance.integers(0, 9, 40).astype("datetime64[D]")
    return pa.table(
        {
            "id": range(40),
            "t": pa.array(range(40)).cast(pa.timestamp("us", "UTC")),
            "f": tenths,
            "g": pa.array(tenths.astype(np.float32)),
            "i": pa.array(whole, pa.int32()),
            "w": wide,
            "d": pa.array([Decimal(int(each)) / 4 for each in whole], pa.decimal128(14, 2)),
            "day": pa.array(days, pa.date32()),
            "at": pa.array(days.astype("datetime64[us]")),
        }
    )


@pytest.mark.slow
def test_conditions_with_tables_hold_for_the_rows_of_replay(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = {"b": values(1), "v": values(2)}
    sources = make_sources(tmp_path, {name: [table] for name, table in tables.items()})
    frames = {name: source.read(spark) for name, source in sources.items()}
    for condition in CONDITIONS:
        query = ps.Query(
            f"SELECT b.id AS x, v.id AS y FROM b [NOW], v WHERE {condition}",  # noqa: S608
            streams={"b": "t"},
            tables=["v"],
        )
        plan = query.optimize(query.measure(tables))
        own = plan.replay(tables).result
        assert own.num_rows > 0, condition
        made = plan.batch(frames).toArrow()
        assert canonical_rows(made.cast(own.schema)) == canonical_rows(own), condition
