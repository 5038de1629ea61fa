from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.bench.burst_calibration import Sample, Speed, fit
from penstock.bench.burst_figures import BurstCourse, BurstFigures
from penstock.bench.burst_load import Load, Phases
from penstock.bench.burst_plan import plan_of
from penstock.bench.burst_plot import save_burst_plot
from penstock.bench.burst_real_time import Batch, Watched
from penstock.bench.burst_truth import TrueResults
from penstock.bench.course import course_of

if TYPE_CHECKING:
    from pathlib import Path

PHASES = Phases(warm_up=1, before=2, burst=4, after=3)
# 10 results in each second, 50 in each of the burst; all of the same second.
TRUE = np.array([10, 10, 10, 50, 50, 50, 50, 10, 10, 10])
TRUTH = TrueResults(np.column_stack([np.zeros(10, np.int64), TRUE, np.zeros(10, np.int64)]))
SPEED = Speed(floor=0.25, arrival=1e-5, result=2.5e-6, shards=2)


def course(batches: list[Batch], *, stopped: float = 12.0, waits: bool = False) -> BurstCourse:
    return course_of(
        BurstCourse, "query", Watched(tuple(batches), stopped), TRUTH, PHASES, waits=waits
    )


def in_step(results: list[int]) -> BurstCourse:
    """A query that keeps up: each second's rows are joined half a second after it."""
    return course([Batch(at + 1.1, 0.4, (at + 1, at + 1), each) for at, each in enumerate(results)])


ALL = in_step(TRUE.tolist())
SHED = in_step([10, 10, 10, 20, 20, 20, 20, 8, 10, 10])
LATE = course([Batch(1.1, 0.5, (1, 1), 10), Batch(2, 1.5, (3, 3), 20), Batch(4, 7, (7, 7), 200)])


def test_recall_is_by_second_of_the_streams() -> None:
    assert ALL.recall.tolist() == [1.0] * 10
    assert SHED.recall == pytest.approx([1, 1, 1, 0.4, 0.4, 0.4, 0.4, 0.8, 1, 1])
    assert SHED.recall_in_burst == pytest.approx(0.4)


def test_a_micro_batch_of_several_seconds_has_one_recall() -> None:
    half = course([Batch(0, 1, (3, 3), 30), Batch(4, 1, (5, 5), 50)])
    assert half.recall[3:5] == pytest.approx([0.5, 0.5])
    # What it did not get to is missing.
    assert half.recall[5:].tolist() == [0.0] * 5


def test_recall_is_back_with_the_first_second_after_which_nothing_is_missing() -> None:
    assert ALL.back_after == 0
    assert SHED.back_after == 1
    assert LATE.back_after == np.inf


def test_results_that_are_late_are_not_in_time() -> None:
    assert SHED.recall_between(3, 7, in_time=True) == SHED.recall_in_burst
    # All of the burst's results are there at 11 s, which is in time for its last two seconds.
    assert LATE.recall_in_burst == 1
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
    assert nothing.recall_in_burst == 0


def test_the_need_in_the_burst_is_that_of_micro_batches_inside_of_it() -> None:
    assert LATE.need_in_burst() == pytest.approx(7 / 4)
    assert np.isnan(course([]).need_in_burst())


def test_streams_out_of_step_are_compared_with_what_could_be_joined() -> None:
    # The left stream is a second ahead: its rows find partners of the second before.
    counts = np.array([[0, 3, 0], [2, 3, 0]])
    batches = (Batch(1, 0.5, (2, 1), 5), Batch(2, 0.5, (2, 2), 3))
    phases = Phases(1, 1, 1, 1)
    ahead = course_of(
        BurstCourse, "", Watched(batches, 3.0), TrueResults(counts), phases, waits=False
    )
    assert ahead.found.tolist() == [3.0, 5.0]
    batches = (Batch(1, 0.5, (2, 1), 3), Batch(2, 0.5, (2, 2), 5))
    waits = course_of(
        BurstCourse, "", Watched(batches, 3.0), TrueResults(counts), phases, waits=True
    )
    assert waits.found.tolist() == [3.0, 5.0]


def figures(*, spark: bool = True) -> BurstFigures:
    courses = {"cpu": SHED, "sampled": in_step([1] * 10), "best": SHED, "exact": LATE}
    plan = plan_of(SPEED)
    return BurstFigures(
        load=Load(plan.rate, PHASES),
        speed=SPEED,
        samples=(Sample(1_000, 40.0, 0.5),),
        plan=plan,
        courses=courses | ({"spark": LATE} if spark else {}),
    )


def test_every_row_has_a_cell_for_every_heading() -> None:
    for table in figures().tables().values():
        assert {len(row) for row in table.rows} == {len(table.headings)}
    assert len(figures(spark=False).tables()["queries"].rows) == 4


def test_figures_with_bounds() -> None:
    found = {target.words: target for target in figures().targets()}
    assert len(found) == 7
    assert found["recall in the burst, cpu / sampled"].ratio == pytest.approx(0.4 / 0.02)
    assert found["cpu: seconds after the burst until recall is 1"].reached
    assert found["exact: backlog at the end of the burst / its length"].ratio == pytest.approx(1)
    assert not found["exact: seconds for a second of the burst"].reached
    assert len(figures(spark=False).targets()) == 6


def test_words_say_what_was_calibrated_and_chosen() -> None:
    words = figures().sentences()
    assert "takes 0.25 s" in words
    assert "2.50 µs for a result" in words
    assert "in the burst 22,730, for which it needs 2.75 s" in words


def test_json_has_everything() -> None:
    found = json.loads(json.dumps(figures().as_json(), allow_nan=False))
    assert list(found["queries"]) == ["cpu", "sampled", "best", "exact", "spark"]
    assert found["queries"]["cpu"]["true"] == TRUE.tolist()
    assert found["load"]["phases"]["burst"] == 4
    assert found["plan"]["cpu"] == 0.6
    assert len(found["targets"]) == 7


def test_the_picture_has_three_panels(tmp_path: Path) -> None:
    save_burst_plot(tmp_path / "burst.svg", figures())
    text = (tmp_path / "burst.svg").read_text()
    for words in ("A burst of 5 times the rows", "Backlog", "Recall of each second"):
        assert words in text


def test_the_plan_leaves_the_same_head_room_to_all() -> None:
    plan = plan_of(SPEED)
    assert SPEED.seconds(5 * plan.rate) == pytest.approx(2.75, abs=0.001)
    assert SPEED.seconds(5 * plan.rate * plan.fraction) == pytest.approx(0.85, abs=0.02)
    assert plan.cpu + SPEED.floor == pytest.approx(0.85)
    rows, best = SPEED.seconds(5 * plan.rate, 0.0) - SPEED.floor, plan.best_fraction
    results = SPEED.seconds(5 * plan.rate) - SPEED.floor - rows
    assert best * rows + best**2 * results == pytest.approx(plan.cpu, abs=0.02)
    assert rows + plan.recall * results == pytest.approx(plan.cpu, abs=0.02)


def test_what_is_not_in_the_costs_leaves_less_to_the_join_and_a_lower_rate() -> None:
    plan, usual = plan_of(SPEED, overhead=0.37), plan_of(SPEED)
    assert plan.cpu == pytest.approx(0.48)
    assert plan.rate < usual.rate
    # Steady streams leave a part of it.
    assert SPEED.seconds(plan.rate) - SPEED.floor == pytest.approx(0.85 * 0.48, abs=0.001)
    assert SPEED.seconds(5 * plan_of(SPEED, overhead=0.6).rate) == pytest.approx(2.25, abs=0.001)


def test_costs_that_cannot_be_measured_are_small_and_not_negative() -> None:
    speed = fit([Sample(1_000, 40.0, 0.5), Sample(4_000, 40.0, 0.4), Sample(4_000, 1.0, 0.5)], 2)
    assert min(speed.floor, speed.arrival, speed.result) >= 0
    assert speed.result == 1e-9
