from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.bench.live import (
    Burst,
    BurstFigures,
    Harvest,
    HarvestFigures,
    LiveFigures,
    Phases,
    save_live_plot,
)
from penstock.bench.live.burst_plan import plan_of
from penstock.bench.live.course import Course, course_of
from penstock.bench.live.real_time import Batch, Monitored
from penstock.bench.live.speed import Sample, Size
from penstock.bench.live.truth import TrueResults
from tests.bench.test_live_loads import SPEED, VECTORS

if TYPE_CHECKING:
    from pathlib import Path

PHASES = Phases(warm_up=1, before=2, burst=4, after=3)
# 10 results in each second, 50 in each of the burst; all of the same second.
TRUE = np.array([10, 10, 10, 50, 50, 50, 50, 10, 10, 10])
TRUTH = TrueResults(np.column_stack([np.zeros(10, np.int64), TRUE, np.zeros(10, np.int64)]))
LOAD = Burst(PHASES, rate=plan_of(SPEED).rate)


def course(batches: list[Batch], *, stopped: float = 12.0, waits: bool = False) -> Course:
    return course_of("query", Monitored(tuple(batches), stopped), TRUTH, LOAD, waits=waits)


def in_step(results: list[int]) -> Course:
    """A query that keeps up: each second's rows are joined half a second after it."""
    return course([Batch(at + 1.1, 0.4, (at + 1, at + 1), each) for at, each in enumerate(results)])


ALL = in_step(TRUE.tolist())
SHED = in_step([10, 10, 10, 20, 20, 20, 20, 8, 10, 10])
LATE = course([Batch(1.1, 0.5, (1, 1), 10), Batch(2, 1.5, (3, 3), 20), Batch(4, 7, (7, 7), 200)])


def test_recall_is_by_second_of_the_streams() -> None:
    assert ALL.recall.tolist() == [1.0] * 10
    assert SHED.recall == pytest.approx([1, 1, 1, 0.4, 0.4, 0.4, 0.4, 0.8, 1, 1])
    assert SHED.recall_between(3, 7) == pytest.approx(0.4)


def test_a_micro_batch_of_several_seconds_has_one_recall() -> None:
    half = course([Batch(0, 1, (3, 3), 30), Batch(4, 1, (5, 5), 50)])
    assert half.recall[3:5] == pytest.approx([0.5, 0.5])
    # What it did not get to is missing.
    assert half.recall[5:].tolist() == [0.0] * 5


def test_recall_is_back_with_the_first_second_after_which_nothing_is_missing() -> None:
    assert burst().back_after(ALL) == 0
    assert burst().back_after(SHED) == 1
    assert burst().back_after(LATE) == np.inf


def test_results_that_are_late_are_not_in_time() -> None:
    assert SHED.recall_between(3, 7, in_time=True) == SHED.recall_between(3, 7)
    # All of the burst's results are there at 11 s, which is in time for its last two seconds.
    assert LATE.recall_between(3, 7) == 1
    assert LATE.recall_between(3, 7, in_time=True) == pytest.approx(0.5)


def test_backlog_is_what_has_come_and_is_not_joined() -> None:
    at = np.array([1.0, 1.6, 3.4, 3.5, 10.9, 11.0, 12.0])
    assert LATE.backlog(at) == pytest.approx([1.0, 0.6, 2.4, 0.5, 7.0, 3.0, 3.0])


def test_the_micro_batch_that_was_stopped_counts() -> None:
    assert LATE.took.tolist() == [0.5, 1.5, 7.0, 1.0]
    assert LATE.percentile(100) == 7.0
    assert ALL.took.tolist() == [0.4] * 10
    nothing = course([])
    assert nothing.took.tolist() == [12.0]
    assert nothing.recall_between(3, 7) == 0


def test_the_need_of_some_seconds_is_that_of_micro_batches_inside_of_them() -> None:
    assert LATE.need_between(3, 7) == pytest.approx(7 / 4)
    assert np.isnan(course([]).need_between(3, 7))


def test_streams_out_of_step_are_compared_with_what_could_be_joined() -> None:
    # The left stream is a second ahead: its rows find partners of the second before.
    counts = np.array([[0, 3, 0], [2, 3, 0]])
    batches = (Batch(1, 0.5, (2, 1), 5), Batch(2, 0.5, (2, 2), 3))
    load = Burst(Phases(1, 1, 1, 1))
    ahead = course_of("", Monitored(batches, 3.0), TrueResults(counts), load, waits=False)
    assert ahead.found.tolist() == [3.0, 5.0]
    batches = (Batch(1, 0.5, (2, 1), 3), Batch(2, 0.5, (2, 2), 5))
    waits = course_of("", Monitored(batches, 3.0), TrueResults(counts), load, waits=True)
    assert waits.found.tolist() == [3.0, 5.0]


def burst(*, spark: bool = True) -> BurstFigures:
    """Figures of a burst."""
    courses = {"cpu": SHED, "sampled": in_step([1] * 10), "best": SHED, "exact": LATE}
    return BurstFigures(
        load=LOAD,
        speed=SPEED,
        samples=(Sample(Size(1_000, 40.0), 0.5),),
        plan=plan_of(SPEED),
        courses=courses | ({"spark": LATE} if spark else {}),
    )


def harvest() -> HarvestFigures:
    """Figures of live harvesting: 10 results in each second, all rows of them in it."""
    load = Harvest(8, warm_up=2, rate=10)
    counts = np.zeros((10, 3, 3), np.int64)
    counts[:, 1, 1] = 10

    def found(name: str, batches: list[Batch], *, waits: bool) -> Course:
        monitored = Monitored(tuple(batches), 12.0)
        return course_of(name, monitored, TrueResults(counts), load, waits=waits)

    def of_each(results: int) -> list[Batch]:
        return [Batch(at + 1.1, 0.4, (at + 1,) * 3, results) for at in range(10)]

    return HarvestFigures(
        load=load,
        speed=VECTORS,
        samples=(Sample(Size(200, 3_600.0), 0.3),),
        plan=load.plan(VECTORS),
        courses={
            "cpu": found("cpu", of_each(9), waits=True),
            "random": found("random", of_each(3), waits=True),
            "exact": found("late", [Batch(1, 7, (4, 3, 3), 30)], waits=False),
        },
    )


BOTH = pytest.mark.parametrize("figures", [burst(), harvest()], ids=["burst", "harvest"])


@BOTH
def test_every_row_has_a_cell_for_every_heading(figures: LiveFigures[Any, Any]) -> None:
    tables = figures.tables()
    assert list(tables) == ["queries", "targets"]
    for table in tables.values():
        assert {len(row) for row in table.rows} == {len(table.headings)}
    assert len(tables["queries"].rows) == len(figures.courses)


def test_recall_is_in_the_tables() -> None:
    assert burst().tables()["queries"].rows[0][1:5] == ("100.0", "40.0", "40.0", "93.3")
    assert harvest().tables()["queries"].rows[0][1:3] == ("90.0", "90.0")


def test_bounds_of_the_burst() -> None:
    found = {target.words: target for target in burst().targets()}
    assert len(found) == 7
    assert found["recall in the burst, cpu / sampled"].ratio == pytest.approx(0.4 / 0.02)
    assert found["cpu: seconds after the burst until recall is 1"].reached
    assert found["exact: backlog at the end of the burst / its length"].ratio == pytest.approx(1)
    assert not found["exact: seconds for a second of the burst"].reached
    assert len(burst(spark=False).targets()) == 6


def test_bounds_of_harvesting() -> None:
    found = {target.words: target for target in harvest().targets()}
    assert found["cpu: backlog at the end, s"].reached
    assert found["cpu: 99th percentile of micro-batches, s"].ratio == pytest.approx(0.4)
    assert found["exact: backlog at the end / length of the streams"].ratio == pytest.approx(0.7)
    assert found["recall in time, cpu / random-drop"].ratio == pytest.approx(3.0)
    assert all(target.reached for target in found.values())


def test_words_say_what_was_calibrated_and_chosen() -> None:
    words = burst().sentences()
    assert "takes 0.25 s" in words
    assert "1.25 µs for a result" in words
    assert "in the burst 23,810, for which it needs 2.75 s" in words
    assert "join 833 rows/s of each stream. Chosen: 1,666 rows/s" in harvest().sentences()


@BOTH
def test_json_has_everything(figures: LiveFigures[Any, Any]) -> None:
    found = json.loads(json.dumps(figures.as_json(), allow_nan=False))
    assert list(found["queries"]) == list(figures.courses)
    assert found["plan"]["cpu"] == figures.plan.cpu
    assert found["load"]["rate"] == figures.load.rate
    assert len(found["targets"]) == len(figures.targets())
    assert len(found["queries"]["cpu"]["found"]) == figures.load.seconds


@pytest.mark.parametrize(
    ("figures", "title"),
    [(burst(), "A burst of 5 times the rows"), (harvest(), "twice as fast as the exact join")],
    ids=["burst", "harvest"],
)
def test_the_picture_has_three_panels(
    figures: LiveFigures[Any, Any], title: str, tmp_path: Path
) -> None:
    save_live_plot(tmp_path / "live.svg", figures)
    text = (tmp_path / "live.svg").read_text()
    for words in (title, "Backlog", "Recall of each second"):
        assert words in text
