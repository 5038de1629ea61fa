"""How a budget will be divided, from samples: as a table, a picture, and on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.capacity import Statistics, StreamStatistics
from penstock.cli import app
from penstock.errors import SpecificationError
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.sampling_memory import mean_for
from tests.workload import test_goals
from tests.workload.streams import WINDOW, by_age
from tests.workload.test_cpu import COSTS, two, wanted
from tests.workload.test_replay import recalls

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

FILE = """
import penstock as ps

def join(name):
    streams = {
        f"{name}1": ps.Stream(time="time", window=100.0),
        f"{name}2": ps.Stream(time="time", window=0.0),
    }
    return ps.Join(streams=streams, on=ps.Equal("id"), goal=ps.MaxSubset(strategy="age"))

work = ps.Workload({name: join(name) for name in ("inc", "dec")}, budget=ps.Budget(rows=640))
"""


def test_the_allotment_follows_the_formulas(tmp_path: Path) -> None:
    joins: dict[str, ps.Join] = {}
    tables: dict[str, pa.Table] = {}
    for name, curve, seed in (("inc", "INC", 1), ("dec", "DEC", 2)):
        joins[name], own = by_age(name, curve, seed, duration=6 * WINDOW)
        tables |= own
    work = ps.Workload(joins, budget=ps.Budget(rows=640))
    prediction = work.predict(work.measure(tables))
    # Fig. 11 of `srivastava04`, p = 2: 69 % with half of the memory.
    assert prediction.recall == pytest.approx({"inc": 0.69, "dec": 0.69}, abs=0.02)
    assert sum(prediction.allotment.values()) == 640
    assert "recall" in str(prediction)
    total = ps.Workload(joins, budget=ps.Budget(rows=640), objective="total")
    assert sum(total.predict(work.measure(tables)).recall.values(), 0.0) >= 2 * 0.68
    in_bytes = ps.Workload(joins, budget=ps.Budget(memory="200 kB"), weights={"dec": 1.5})
    more = in_bytes.predict(in_bytes.measure(tables))
    assert more.unit == "bytes"
    assert more.recall["dec"] == pytest.approx(1.5 * more.recall["inc"], abs=0.02)
    with pytest.raises(SpecificationError, match="given for each join"):
        work.predict({})


@pytest.mark.parametrize("part", [0.3, 0.6])
def test_a_core_is_predicted_to_be_divided_as_it_will_be(part: float, tmp_path: Path) -> None:
    joins, tables = two()
    work = ps.Workload(joins, budget=ps.Budget(cpu=part * wanted(joins, tables), costs=COSTS))
    prediction = work.predict(work.measure(tables))
    assert prediction.unit == "millionths of a core"
    assert sum(prediction.allotment.values()) == prediction.budget
    replay = work.replay(tables)
    allotted = replay.metrics.work_allotted
    for name, amount in prediction.allotment.items():
        share = allotted[name] / sum(allotted.values())
        assert amount / prediction.budget == pytest.approx(share, abs=0.03)
    found = recalls(joins, tables, replay.results, since=3 * WINDOW)
    assert min(prediction.recall.values()) == pytest.approx(min(found.values()), abs=0.05)
    prediction.draw(tmp_path / "core.png")


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["least", "total"])
@pytest.mark.parametrize("strategy", [None, "pps-cluster", "uniform"])
def test_samples_are_predicted_to_be_divided_as_they_will_be(
    strategy: str | None, objective: str, tmp_path: Path
) -> None:
    work = test_goals.make_workload(ps.Sample(strategy=strategy), objective=objective)
    tables = test_goals.make_tables()
    prediction = work.predict(work.measure(tables))
    assert prediction.measure == "expected error"
    assert not prediction.recall
    if objective == "least":
        assert prediction.error["a"] == pytest.approx(prediction.error["b"], rel=0.02)
    allotted = work.replay(tables).metrics.allotment
    for name, amount in prediction.allotment.items():
        assert amount == pytest.approx(allotted[name], abs=0.03 * test_goals.BUDGET_ROWS)
    assert "expected error" in str(prediction)
    prediction.draw(tmp_path / "samples.png")


def test_the_error_of_samples_with_equal_clusters_is_that_of_a_random_sample() -> None:
    """Of N rows with as many matches each, drawn with chance p: the square is (1 - p) / (p N)."""
    each = StreamStatistics(rate=5.0, window=100.0, curve=AgeCurve([2.0]))
    stream = ps.Stream(time="t", window=100)
    goal, budget = ps.Sample(strategy="eq-cluster"), ps.Budget(rows=200)
    joins = {
        name: ps.Join(
            streams={name + "1": stream, name + "2": stream},
            on=ps.Equal("k"),
            goal=goal,
            budget=budget,
        )
        for name in ("a", "b")
    }
    statistics = {
        name: Statistics(streams=dict.fromkeys(j.names, each)) for name, j in joins.items()
    }
    prediction = ps.Workload(joins, budget=budget).predict(statistics)
    assert prediction.allotment == {"a": 100, "b": 100}
    chance = mean_for(100.0) / 1_000
    expected = ((1 - chance) / (chance * 1_000)) ** 0.5
    # The curve is straight between its points.
    assert prediction.error["a"] == pytest.approx(expected, rel=0.05)


def test_where_importance_is_the_goal_it_says_that_recall_is_of_results() -> None:
    work = test_goals.make_workload(ps.MaxImportance(of="votes"))
    prediction = work.predict(work.measure(test_goals.make_tables()))
    assert "recall of results" in str(prediction)


def test_the_command_prints_and_draws_it(tmp_path: Path) -> None:
    given = []
    for name, curve, seed in (("inc", "INC", 1), ("dec", "DEC", 2)):
        for stream, table in by_age(name, curve, seed, duration=6 * WINDOW)[1].items():
            pq.write_table(table, tmp_path / f"{stream}.parquet")
            given += ["--stream", f"{stream}={tmp_path / stream}.parquet"]
    (tmp_path / "work.py").write_text(FILE)
    place = tmp_path / "work.png"
    said = [str(tmp_path / "work.py"), *given, "--output", str(place)]
    said += ["--json", str(tmp_path / "work.json")]
    result = CliRunner().invoke(app, ["explain-workload", *said])
    assert result.exit_code == 0, result.output
    assert "allotted rows" in result.output
    assert place.stat().st_size > 10_000
    figures = json.loads((tmp_path / "work.json").read_text())
    assert figures["recall"]["inc"] == pytest.approx(0.69, abs=0.02)
