"""Live harvesting: what is joined, how many results there are, and what is said of it."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock import cli
from penstock.bench import HarvestFigures, bench_harvest, save_harvest_plot
from penstock.bench.burst_real_time import Batch, Watched
from penstock.bench.course import Course, course_of
from penstock.bench.harvest_calibration import HarvestPlan, HarvestSpeed, RateSample, fit, plan_of
from penstock.bench.harvest_load import HarvestLoad
from penstock.bench.harvest_queries import compile_kernels, our_join
from penstock.bench.harvest_run import queries_of
from penstock.bench.harvest_truth import Reports, TrueCombinations, count_combinations
from penstock.budget import Budget
from penstock.errors import SessionError, SpecificationError
from penstock.spark import session

if TYPE_CHECKING:
    from pathlib import Path

LOAD = HarvestLoad(10, warm_up=2, measured=8)
SPEED = HarvestSpeed(floor=0.25, row=1e-5, pair=5e-7)
# 10 results in each second, all rows of them in it.
TRUTH = TrueCombinations(np.repeat(np.arange(10), 10)[:, None].repeat(3, axis=1), 10)


def course(results: list[int], *, seconds: float = 0.4) -> Course:
    """A query that joins each second's rows soon after it."""
    batches = [Batch(at + 1.1, seconds, (at + 1,) * 3, each) for at, each in enumerate(results)]
    return course_of(Course, "query", Watched(tuple(batches), 12.0), TRUTH, LOAD, waits=True)


def figures() -> HarvestFigures:
    late = course_of(
        Course, "late", Watched((Batch(1, 7, (4, 3, 3), 30),), 12.0), TRUTH, LOAD, waits=False
    )
    return HarvestFigures(
        load=LOAD,
        speed=SPEED,
        samples=(RateSample(200, 0.3),),
        plan=plan_of(SPEED),
        courses={"cpu": course([9] * 10), "random": course([3] * 10), "exact": late},
    )


def test_combinations_are_those_of_a_look_at_all() -> None:
    draw = np.random.default_rng(5)
    streams = [
        Reports(np.sort(draw.integers(0, 9_000_000, 40)), draw.integers(0, 8, 40)) for _ in range(3)
    ]
    expected = sorted(
        tuple(int(stream.at[i]) // 1_000_000 for stream, i in zip(streams, rows, strict=True))
        for rows in product(range(40), repeat=3)
        if len({int(stream.things[i]) for stream, i in zip(streams, rows, strict=True)}) == 1
        and np.ptp([stream.at[i] for stream, i in zip(streams, rows, strict=True)]) <= 3_000_000
    )
    found = count_combinations(streams, window=3, seconds=9)
    assert sorted(map(tuple, found.rows.tolist())) == expected
    assert len(expected) > 100
    assert found.in_each_second().sum() == len(expected)
    assert found.until(9, 9, 9) == len(expected)
    assert found.until(9, 4, 9) == sum(row[1] < 4 for row in expected)


def test_without_results_nothing_is_counted() -> None:
    streams = [Reports(np.array([5]), np.array([thing])) for thing in (1, 2)]
    found = count_combinations(streams, window=1, seconds=2)
    assert found.until(2, 2) == 0
    assert found.in_each_second().tolist() == [0, 0]


def test_targets_say_whether_there_is_a_backlog() -> None:
    found = {target.words: target for target in figures().targets()}
    assert found["cpu: backlog at the end, s"].reached
    assert found["cpu: 99th percentile of micro-batches, s"].ratio == pytest.approx(0.4)
    assert found["exact: backlog at the end / length of the streams"].ratio == pytest.approx(0.7)
    assert found["recall in time, cpu / random-drop"].ratio == pytest.approx(3.0)
    assert all(target.reached for target in found.values())


def test_every_row_has_a_cell_for_every_heading() -> None:
    for table in figures().tables().values():
        assert {len(row) for row in table.rows} == {len(table.headings)}
    assert figures().tables()["queries"].rows[0][1:3] == ("90.0", "90.0")


def test_json_has_everything() -> None:
    found = json.loads(json.dumps(figures().as_json(), allow_nan=False))
    assert list(found["queries"]) == ["cpu", "random", "exact"]
    assert found["plan"]["rate"] == 2430
    assert found["queries"]["cpu"]["found"] == [9.0] * 10


def test_the_picture_has_three_panels(tmp_path: Path) -> None:
    save_harvest_plot(tmp_path / "harvest.svg", figures())
    text = (tmp_path / "harvest.svg").read_text()
    for words in ("twice as fast as the exact join", "Backlog", "Recall of each second"):
        assert words in text


def test_twice_the_rate_that_the_exact_join_can_take() -> None:
    plan = plan_of(SPEED)
    assert SPEED.seconds(plan.rate / 2) == pytest.approx(1.0, abs=0.01)
    # What is not in the costs leaves less to the join.
    assert plan_of(SPEED, overhead=0.35).cpu == pytest.approx(0.5)
    with pytest.raises(SessionError, match=r"what rows leave for a budget must be 0\.05 s or more"):
        plan_of(SPEED, overhead=0.9)


def test_what_is_too_small_to_be_measured_is_left_out() -> None:
    speed = fit([RateSample(200, 0.5), RateSample(400, 0.45), RateSample(800, 1.0)])
    assert min(speed.floor, speed.row, speed.pair) >= 0
    assert speed.seconds(800) == pytest.approx(1.0, rel=0.1)


def test_all_queries_are_there_and_the_slow_one_comes_last() -> None:
    queries = queries_of(HarvestPlan(1, 100, 0.4))
    assert list(queries) == ["cpu", "random", "exact"]
    assert queries["random"].name == "Penstock, random-drop, cpu=0.4"
    assert queries["exact"].join.budget is None


def test_a_part_without_seconds_is_refused() -> None:
    with pytest.raises(SpecificationError, match="seconds of measured must be 1 or more; got 0"):
        HarvestLoad(10, warm_up=1, measured=0)


@pytest.mark.parametrize("budget", [None, Budget(cpu=0.5)])
def test_kernels_are_compiled_by_use(budget: Budget | None) -> None:
    compile_kernels(our_join(budget))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seconds", "3"], "seconds must be 4 or more; got 3"),
        (["--plot", "harvest.gif"], "--plot must be a folder, or a file that ends in .png"),
        (["--write", "page.md"], "--write must be a page with a line <!-- queries: begin -->"),
    ],
)
def test_bad_options_are_one_line_before_spark_starts(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "harvest", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}")
    assert captured.err.count("\n") == 1


def test_the_command_prints_tables_draws_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: None)
    monkeypatch.setattr("penstock.bench.bench_harvest", lambda *_, **__: figures())
    ends = [
        f"<!-- {name}: {end} -->" for name in ("queries", "targets") for end in ("begin", "end")
    ]
    (tmp_path / "page.md").write_text("\n".join(ends))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "harvest", "--json", "harvest.json", "--write", "page.md"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Calibration: a micro-batch of the exact join takes 0.25 s")
    assert "The picture: penstock-harvest.png" in shown
    assert "| cpu: backlog at the end" in (tmp_path / "page.md").read_text()
    assert json.loads((tmp_path / "harvest.json").read_text())["picture"] == "penstock-harvest.png"


# By hand (`pytest -m crash tests/bench`): it runs in real time, and stops its worker's session.
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.crash
def test_a_short_run_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("penstock.bench.harvest_run._PAUSE", 0.1)
    monkeypatch.setattr("penstock.bench.burst_real_time._GRACE", 2.0)
    spark = session(cores=2, memory="1g")
    remembered = "spark.sql.streaming.numRecentProgressUpdates"
    spark.conf.set(remembered, "3")
    # Of a slow machine, so that there are few rows.
    speed = HarvestSpeed(floor=0.5, row=1e-4, pair=5e-5)
    try:
        found = bench_harvest(spark, 8, warm_up=10, speed=speed)
        assert spark.conf.get(remembered) == "3"
    finally:
        spark.stop()
    assert list(found.courses) == ["cpu", "random", "exact"]
    for name, course_ in found.courses.items():
        # How far each got in so short a time says something about the machine, not about us.
        reached = int(course_.joined.max())
        recall = course_.recall[:reached]
        recall = recall[np.isfinite(recall)]
        assert course_.true.sum() > 500
        if name == "exact":
            assert recall == pytest.approx(np.ones(recall.size))
        else:
            assert (recall <= 1 + 1e-9).all()
    assert not list(tmp_path.glob("penstock-harvest-*"))
