"""The overloaded query: what is joined, how many results there are, and what is said of it."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from penstock import cli
from penstock.bench import OverloadFigures, bench_overload, save_overload_plot
from penstock.bench.live.course import course_of
from penstock.bench.live.real_time import Batch, Monitored
from penstock.bench.live.truth import by_seconds
from penstock.bench.overload_load import STREAMS, OverloadLoad, boxed, count_triples
from penstock.bench.overload_run import OverloadSpeed, compile_kernels, rate_for
from penstock.errors import SpecificationError
from penstock.spark import session

if TYPE_CHECKING:
    from pathlib import Path

LOAD = OverloadLoad(10, warm_up=2, measured=8)
# 10 results in each second, all rows of them in it.
TRUTH = by_seconds(
    1_000_000 * np.repeat(np.arange(10), 10)[:, None].repeat(3, axis=1), window=2, seconds=10
)


def figures() -> OverloadFigures:
    soon = [Batch(at + 1.1, 0.4, (at + 1,) * 3, 2) for at in range(10)]
    late = [Batch(1, 7, (4, 3, 3), 30)]
    courses = {
        name: course_of(name, Monitored(tuple(each), 12.0), TRUTH, LOAD, waits=False)
        for name, each in (("boxes", soon), ("whole", late))
    }
    return OverloadFigures(load=LOAD, floor=0.3, row=0.1, trigger=1, recall=0.2, courses=courses)


def test_results_are_those_of_a_look_at_all() -> None:
    draw = np.random.default_rng(5)
    rows = {
        name: {"at": np.sort(draw.integers(0, 9_000_000, 40)), "k": draw.integers(0, 4, 40)}
        | ({"j": draw.integers(0, 4, 40)} if name == "b" else {})
        for name in STREAMS
    }
    tables = {
        name: pa.table(
            {
                ("j" if (name, column) == ("c", "k") else column): values
                for column, values in columns.items()
            }
        )
        for name, columns in rows.items()
    }
    expected = sorted(
        tuple(int(each["at"][i]) // 1_000_000 for each, i in zip(rows.values(), at, strict=True))
        for at in product(range(40), repeat=3)
        if rows["a"]["k"][at[0]] == rows["b"]["k"][at[1]]
        and rows["b"]["j"][at[1]] == rows["c"]["k"][at[2]]
        and np.ptp([each["at"][i] for each, i in zip(rows.values(), at, strict=True)]) <= 2_000_000
    )
    found = count_triples(tables, 9)
    second, *later = np.nonzero(found.counts)
    seconds = np.column_stack([second, *(second + each - 3 for each in later)])
    times = found.counts[(second, *later)]
    assert sorted(map(tuple, np.repeat(seconds, times, axis=0).tolist())) == expected
    assert len(expected) > 100
    empty = {name: table.slice(0, 0) for name, table in tables.items()}
    assert count_triples(empty, 9).in_each_second().tolist() == [0] * 9


def test_drop_boxes_keep_a_fifth_of_each_stream() -> None:
    plan = boxed(LOAD.plan())
    assert dict(plan.kept) == dict.fromkeys(STREAMS, 0.2)
    assert plan.recall == pytest.approx(0.2**3)
    assert plan.estimate.cost < 0.25 * plan.full.cost


@pytest.mark.parametrize("rate", [10, 100_000])
def test_the_whole_plan_drops_nothing_at_any_rate(rate: int) -> None:
    plan = OverloadLoad(rate, warm_up=2, measured=8).plan()
    assert dict(plan.kept) == dict.fromkeys(STREAMS, 1.0)
    assert (plan.rate, plan.cost) == (plan.full.rate, plan.full.cost)


def test_the_query_needs_two_seconds_for_each() -> None:
    speed = OverloadSpeed(floor=0.3, row=2e-4)
    trigger, rate = rate_for(speed)
    assert (speed.floor + trigger * rate * speed.row) / trigger == pytest.approx(2.0, abs=0.01)


def test_there_are_few_rows_while_spark_starts() -> None:
    load = OverloadLoad(2_000, warm_up=4, measured=1, start_up=2)
    assert load.is_row() == "value < 10000 AND (value >= 4000 OR value % 1000 = 0)"
    with pytest.raises(SpecificationError, match="start_up must be from 0 to the 4 s of the warm"):
        OverloadLoad(2_000, warm_up=4, measured=1, start_up=5)


def test_what_is_said_of_it(tmp_path: Path) -> None:
    found = figures()
    targets = {target.words: target for target in found.targets()}
    assert targets["drop boxes: backlog at the end, s"].reached
    assert targets["drop boxes: results / by the model, of what is joined"].ratio == pytest.approx(
        1.0
    )
    behind = targets["nothing dropped: backlog at the end / length of the streams"]
    assert behind.ratio == pytest.approx(0.7)
    assert all(target.reached for target in targets.values())
    for table in found.tables().values():
        assert {len(row) for row in table.rows} == {len(table.headings)}
    assert found.tables()["queries"].rows[0][1:3] == ("20", "20")
    said = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert list(said["queries"]) == ["boxes", "whole"]
    save_overload_plot(tmp_path / "overload.svg", found)
    assert "with drop boxes and without" in (tmp_path / "overload.svg").read_text()


def test_the_command_prints_tables_draws_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: None)
    monkeypatch.setattr("penstock.bench.bench_overload", lambda *_, **__: figures())
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "overload", "--json", "overload.json"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Calibration: a micro-batch of the query takes 0.30 s")
    assert "The picture: penstock-overload.png" in shown
    assert json.loads((tmp_path / "overload.json").read_text())["recall"] == 0.2


def test_a_part_without_seconds_is_refused() -> None:
    with pytest.raises(SpecificationError, match="measured must be 1 or more; got 0"):
        bench_overload(None, 0)  # type: ignore[arg-type]  # refused before it is used


def test_kernels_are_compiled_by_use() -> None:
    compile_kernels()


# In `make crash`: it runs in real time, and stops its worker's session.
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.crash
def test_a_short_run_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("penstock.bench.overload_run._PAUSE", 0.1)
    monkeypatch.setattr("penstock.bench.live.real_time._GRACE", 2.0)
    spark = session(cores=2, memory="1g")
    try:
        # Of a slow machine, so that there are few rows.
        speed = OverloadSpeed(floor=0.9, row=0.01)
        found = bench_overload(spark, 8, warm_up=10, start_up=7, speed=speed)
    finally:
        spark.stop()
    assert list(found.courses) == ["boxes", "whole"]
    for name, course in found.courses.items():
        # How far each got in so short a time says something about the machine, not about us.
        reached = int(course.joined.max())
        recall = course.recall[:reached]
        recall = recall[np.isfinite(recall)]
        assert course.true.sum() > 500
        if name == "whole":
            assert recall == pytest.approx(np.ones(recall.size))
        else:
            assert (recall < 0.5).all()
    assert not list(tmp_path.glob("penstock-overload-*"))
