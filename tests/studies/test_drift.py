from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.studies import STUDIES
from penstock.studies.drift import DriftingCurve, DriftingKeys, DriftRow
from penstock.studies.run import measure_here
from penstock.studies.workload import exact_times, workload

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def rows() -> list[DriftRow]:
    return measure_here(STUDIES["drift"], quick=True)


def row_of(*recalls: int) -> DriftRow:
    """A row of this many windows, with the change in the middle: results of 100 in each fifth."""
    found = np.repeat(recalls, 5)
    return DriftRow("streams", "age", 0.1, len(recalls) / 2, found, np.full(found.size, 100))


def test_the_curve_changes_in_the_middle_and_the_first_stream_does_not() -> None:
    scenario = DriftingCurve(rate_1=2.0, rate_2=10.0, windows=8)
    made = workload(scenario)
    result = made.join().replay(made.tables).result
    times = result["time"].to_numpy()
    ages = (times - result["s1"].combine_chunks().field("time").to_numpy()) / made.window
    # DEC has its mean in the first third of the window, INC in the last one.
    assert ages[(times > 500) & (times < 2000)].mean() < 0.33
    assert ages[times >= 2000].mean() > 0.67
    assert (np.diff(made.tables["s2"]["time"].to_numpy()) > 0).all()


def test_other_keys_are_hot_in_both_streams_after_the_middle() -> None:
    made = workload(DriftingKeys(keys=100, windows=8))
    for table in made.tables.values():
        keys, times = (table[name].to_numpy() for name in ("key", "time"))
        before, after = (
            np.bincount(keys[chosen], minlength=100) for chosen in (times < 2000, times >= 2000)
        )
        assert before.argmax() == 0
        assert after.argmax() == 50


def test_the_number_of_results_is_what_the_flat_curve_says() -> None:
    scenario = DriftingKeys(windows=8)
    made = workload(scenario)
    times = exact_times(scenario)
    settled = np.count_nonzero((times > 500) & (times < 2000)) / 1500
    assert settled == pytest.approx(made.rate * made.curve.sum(), rel=0.1)


def test_recall_over_time_of_all_contenders(rows: list[DriftRow]) -> None:
    assert [row.contender for row in rows] == [
        *("recent", "prob", "age-first", "age", "choice", "choice-quick"),
        *("recent", "prob", "age", "choice", "choice-quick"),
    ]
    for row in rows:
        assert row.found.shape == row.exact.shape == (40,)
        assert row.change == 4.0
        assert row.end == 8.0
        assert ((row.found >= 0) & (row.found <= row.exact)).all()


def test_with_the_first_curve_only_recall_does_not_come_back(rows: list[DriftRow]) -> None:
    told = next(row for row in rows if row.contender == "age-first")
    assert told.settled < 0.5 * told.recall(2, 4)


def test_where_curves_are_learned_recall_comes_back(rows: list[DriftRow]) -> None:
    told, learned = (
        next(row for row in rows if row.contender == name) for name in ("age-first", "choice-quick")
    )
    assert learned.settled > 2 * told.settled


def test_recall_is_that_of_windows_which_begin_at_each_fifth() -> None:
    row = row_of(80, 80, 40, 60)
    assert row.ends[[0, 1, -1]].tolist() == [1.0, 1.2, 4.0]
    assert row.in_windows()[[0, 5, 6, 10, -1]] == pytest.approx([0.8, 0.8, 0.72, 0.4, 0.6])
    assert row.after()[[0, -1]] == pytest.approx([0.4, 0.6])
    assert row.recall(1, 3) == pytest.approx(0.6)


def test_back_is_where_the_first_window_begins_that_is_good_enough() -> None:
    row = row_of(80, 80, 80, 80, 80, 20, 80, 80, 80, 80)
    assert row.back_after(0.75) == pytest.approx(1.0)
    assert row.back_after(0.3) == pytest.approx(0.2)
    assert row.back_after(0.2) == 0.0
    assert np.isnan(row.back_after(0.9))


def test_where_there_is_nothing_to_find_there_is_no_recall() -> None:
    row = row_of(0, 0)
    empty = DriftRow("streams", "age", 0.1, 1.0, row.found, np.zeros_like(row.found))
    assert np.isnan(empty.in_windows()).all()


def test_the_table_and_the_picture(rows: list[DriftRow], tmp_path: Path) -> None:
    table = STUDIES["drift"].table(rows)
    assert len(table.rows) == len(rows)
    assert all(len(row) == len(table.headings) for row in table.rows)
    assert "Memory is 10%" in table.notes[0]
    STUDIES["drift"].draw(rows, tmp_path / "drift.svg")
    text = (tmp_path / "drift.svg").read_text()
    for words in ("here they change", "AGE, given the first curve", "recall (% of the exact"):
        assert words in text
