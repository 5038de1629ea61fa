"""Predictions: against the paper's formulas, and against themselves."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.capacity import StreamStatistics, predict
from penstock.capacity.prediction import Prediction
from penstock.capacity.strategy_models import MODELS
from penstock.testing import age_model
from tests.capacity.support import (
    WINDOW,
    age_join,
    age_streams,
    equation_3,
    frequency_join,
    frequency_streams,
    section_3_3,
    stream,
    tables,
)

if TYPE_CHECKING:
    from penstock.goals import Goal


def statistics(**streams: StreamStatistics) -> ps.Statistics:
    return ps.Statistics(streams=streams)


# Example 3.3: one row per unit of time, a window of 4.
EXAMPLE = statistics(a=stream([1, 1, 2, 1], window=4.0), b=stream([0], window=0.0))


@pytest.mark.parametrize(
    ("rows", "age", "fifo", "random"),
    [(1, 4 / 15, 1 / 5, 1 / 4), (2, 8 / 15, 2 / 5, 1 / 2), (3, 4 / 5, 4 / 5, 3 / 4), (4, 1, 1, 1)],
)
def test_example_3_3(rows: int, age: float, fifo: float, random: float) -> None:
    found = Prediction(EXAMPLE, rows).recall
    assert found["age"] == pytest.approx(age)
    assert found["fifo"] == pytest.approx(fifo)
    assert found["random"] == found["until-expiry"] == found["prob"] == pytest.approx(random)


@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_age_is_equation_3_of_the_model(shape: str) -> None:
    """Within 3 points of recall: what 20,000 rows of sample leave open."""
    model = age_streams(shape)
    measured = age_join().measure(tables(model))
    for share in (0.1, 0.2, 0.4, 0.6, 0.8):
        found = age_join(int(share * WINDOW)).predict(measured).recall
        assert found["age"] == pytest.approx(equation_3(model.curve, share), abs=0.03)
        sums = np.concatenate([[0.0], np.cumsum(model.curve)])
        shorter = float(np.interp(share * 20, np.arange(21), sums)) / 5.0
        assert found["fifo"] == pytest.approx(shorter, abs=0.03)
        assert found["random"] == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("zipf", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("correlation", ["DC", "IC", "UC"])
def test_prob_is_section_3_3_of_the_model(correlation: str, zipf: float) -> None:
    """Within 4 points of recall: the ranking is learned from half of 40,000 rows.

    With the steepest skew and opposite orders, half of the results hang on keys that come eight
    times in the sample: within 10 points.
    """
    close = 0.1 if (correlation, zipf) == ("IC", 2.0) else 0.04
    model = frequency_streams(correlation, zipf)
    measured = frequency_join().measure(tables(model))
    for share in (0.1, 0.2, 0.5):
        expected = section_3_3(model.frequencies_1, model.frequencies_2, share)
        found = frequency_join(int(share * WINDOW)).predict(measured).recall["prob"]
        assert found == pytest.approx(expected, abs=close)


def test_prob_expects_nothing_of_keys_that_were_never_seen_before() -> None:
    measured = age_join().measure(tables(age_streams("INC", duration=5_000.0)))
    found = age_join(100).predict(measured).recall
    assert found["prob"] == pytest.approx(found["random"], abs=0.001)


def test_memory_goes_where_it_gives_most() -> None:
    of = statistics(a=stream([9, 1]), b=stream([1, 1], window=400.0))
    found = Prediction(of, 50)
    # Fifty rows hold a for half of its window, where 9 of 10 results are.
    assert found.division["age"] == {"a": 50.0, "b": 0.0}
    assert found.recall["age"] == pytest.approx(9 / 12)
    # Equal parts, whatever they give.
    assert found.division["fifo"] == {"a": 25.0, "b": 25.0}
    assert found.recall["fifo"] == pytest.approx((4.5 + 2 * 25 / 400) / 12)


def test_what_one_stream_does_not_need_the_others_get() -> None:
    of = statistics(a=stream([1], window=10.0), b=stream([1], window=200.0))
    found = Prediction(of, 100)
    assert found.division["random"] == {"a": 10.0, "b": 90.0}
    assert found.recall["random"] == pytest.approx((1 + 90 / 200) / 2)


def test_a_window_of_no_length_needs_no_memory() -> None:
    found = Prediction(EXAMPLE, 3)
    assert found.division["fifo"] == {"a": 3.0, "b": 0.0}
    # Rows of equal times wait too, for no time.
    both = statistics(a=stream([2], window=10.0), b=stream([1], window=0.0))
    assert Prediction(both, 5).recall["random"] == pytest.approx((2 * 0.5 + 1) / 3)


def test_enough_memory_gives_everything() -> None:
    of = statistics(a=stream([3, 1, 4]), b=stream([1, 5], rate=2.3, window=77.0))
    assert of.needed_rows == pytest.approx(277.1)
    for rows in (278, 10_000, None):
        assert set(Prediction(of, rows).recall.values()) == {1.0}


def test_the_exact_join_is_predicted_too() -> None:
    assert age_join().predict(age_join().measure(tables(age_streams("BELL")))).rows is None


curves = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)
streams = st.builds(stream, curves, rate=st.floats(0.5, 20), window=st.floats(1, 100))


@given(streams, streams, st.floats(0.01, 1.0), st.sampled_from(sorted(MODELS)))
def test_rows_for_is_the_inverse_of_recall(
    a: StreamStatistics, b: StreamStatistics, recall: float, strategy: str
) -> None:
    of = statistics(a=a, b=b)
    found = Prediction(of, None)
    rows = found.rows_for(recall, strategy)
    assert Prediction(of, rows).recall[strategy] >= recall - 1e-6
    if rows > 2:
        # Fewer do not do, but for the pieces in which memory is divided.
        assert Prediction(of, rows - 1).recall[strategy] < recall + 0.02
    assert found.rows_for(recall) <= rows


@given(streams, streams, st.floats(0.0, 1.0))
def test_age_expects_at_least_what_fifo_and_random_do(
    a: StreamStatistics, b: StreamStatistics, share: float
) -> None:
    of = statistics(a=a, b=b)
    if a.curve.has_minima or b.curve.has_minima:
        return  # eq. 3 knows only one way to keep rows
    found = Prediction(of, int(share * of.needed_rows)).recall
    assert found["age"] >= max(found["fifo"], found["random"]) - 0.01
    assert all(0 <= recall <= 1 for recall in found.values())


def test_the_curve_runs_from_nothing_to_everything() -> None:
    curve = Prediction(EXAMPLE, 1).curve(5)
    assert curve.rows.tolist() == [0, 1, 2, 3, 4]
    assert set(curve.recall) == set(MODELS)
    assert curve.recall["age"] == pytest.approx([0, 4 / 15, 8 / 15, 4 / 5, 1])
    for values in curve.recall.values():
        assert values[0] == 0
        assert values[-1] == 1
        assert (np.diff(values) >= 0).all()


def test_the_best_is_the_first_of_equals() -> None:
    assert Prediction(EXAMPLE, 1).best == "age"
    assert Prediction(EXAMPLE, None).best == "age"
    hot = stream([1], own=(0.5, 0.5), partner=(0.9, 0.1))
    of = statistics(a=hot, b=stream([0], window=0.0))
    assert Prediction(of, 50).best == "prob"
    assert Prediction(of, 50).recall["prob"] == pytest.approx(0.9)


def test_with_three_streams_all_waiting_rows_must_be_there() -> None:
    of = statistics(a=stream([1]), b=stream([1]), c=stream([1]))
    found = Prediction(of, 150)
    # Half of each stream's rows, by lot: both members that wait are there in a quarter.
    assert found.recall["random"] == pytest.approx(0.25)
    assert found.division["age"] == pytest.approx({"a": 50, "b": 50, "c": 50}, abs=1)
    assert found.recall["age"] == pytest.approx(0.25, abs=0.01)
    assert Prediction(of, 300).recall["age"] == 1.0
    assert found.rows_for(0.25, "random") == 150


def test_with_three_streams_no_stream_is_starved() -> None:
    """The sum of eq. 3 would give all memory to a, whose rows give most: and find nothing."""
    of = statistics(a=stream([3]), b=stream([2]), c=stream([2]))
    found = Prediction(of, 120)
    assert min(found.division["age"].values()) > 20
    assert found.recall["age"] >= found.recall["random"] - 0.01


def test_three_streams_by_lot_as_predicted() -> None:
    """A prediction beside a run: random keys, three streams, half of the memory."""
    generator = np.random.default_rng(0)
    rows = 6_000
    sample = {
        name: pa.table(
            {"t": np.sort(generator.uniform(0, 6_000, rows)), "k": generator.integers(0, 40, rows)}
        )
        for name in "abc"
    }
    each = ps.Stream(time="t", window=100.0)
    exact = ps.Join(streams=dict.fromkeys("abc", each), on=ps.Equal("k"))
    goal = ps.MaxSubset(strategy="random")
    limited = replace(exact, goal=goal, budget=ps.Budget(rows=150))
    found = limited.predict(exact.measure(sample)).recall["random"]
    true = limited.replay(sample).metrics.emitted / exact.replay(sample).metrics.emitted
    assert found == pytest.approx(0.25, abs=0.02)
    assert true == pytest.approx(found, abs=0.06)


@pytest.mark.parametrize(
    ("recall", "strategy", "words"),
    [
        (0, None, "recall must be above 0 and at most 1; got 0; write 0.9"),
        (1.01, "age", "recall must be above 0 and at most 1; got 1.01"),
        (float("nan"), "age", "recall must be above 0 and at most 1; got nan"),
        ("90%", "age", "recall must be above 0 and at most 1; got '90%'"),
        (0.5, "aeg", 'strategy must be one of "age", .*; got \'aeg\'; did you mean "age"\\?'),
        (0.5, 3, 'strategy must be one of "age", .*; got 3; leave it out for the best one'),
    ],
)
def test_a_wish_that_is_none_is_refused(recall: object, strategy: object, words: str) -> None:
    with pytest.raises(ps.SpecificationError, match=words):
        Prediction(EXAMPLE, 2).rows_for(recall, strategy)  # type: ignore[arg-type]


@pytest.mark.parametrize("points", [1, 0, 2.0, "9"])
def test_a_curve_has_points(points: object) -> None:
    with pytest.raises(ps.SpecificationError, match="points must be a whole number of 2 or more"):
        Prediction(EXAMPLE, 2).curve(points)  # type: ignore[arg-type]


def test_statistics_of_other_streams_are_refused() -> None:
    with pytest.raises(
        ps.SpecificationError, match="statistics must be of the join's streams 's1'"
    ):
        age_join(10).predict(EXAMPLE)
    with pytest.raises(ps.SpecificationError, match=r"must be penstock\.Statistics; got 'dict'"):
        predict(age_join(10), {})  # type: ignore[arg-type]


def test_a_budget_in_bytes_needs_to_know_what_a_row_takes() -> None:
    of = statistics(s1=stream([1]), s2=stream([1]))
    join = replace(age_join(), budget=ps.Budget(memory=10_000))
    with pytest.raises(ps.SpecificationError, match="row_bytes of the statistics must be known"):
        join.predict(of)
    sized = statistics(s1=stream([1], row_bytes=250.0), s2=stream([1], row_bytes=100.0))
    assert join.predict(sized).rows == 40
    assert join.predict(sized).row_bytes == 250.0


@pytest.mark.parametrize(
    "goal",
    [ps.MaxSubset(), ps.Sample(), ps.MaxImportance(of="id", strategy="ijoin")],
    ids=lambda goal: type(goal).__name__,
)
def test_a_budget_in_bytes_holds_the_rows_that_are_predicted(goal: Goal) -> None:
    """A sample and IJOIN keep more with each row, so fewer of them fit."""
    made = age_model(curve="DEC", duration=1_500.0, seed=1)
    given_tables = {"s1": made.s1, "s2": made.s2}
    join = replace(age_join(), goal=goal, budget=ps.Budget(memory=50_000))
    predicted = join.predict(join.measure(given_tables))
    found = join.replay(given_tables).metrics
    assert found.bytes_most is not None
    assert 49_000 < found.bytes_most <= 50_000
    assert predicted.rows == pytest.approx(found.held_most, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rate": -1.0}, "rate of StreamStatistics must be finite, and zero or more; got -1.0"),
        ({"window": float("inf")}, "window of StreamStatistics must be finite"),
        ({"own": (0.5, 0.5)}, "own and partner of StreamStatistics must be of one length"),
    ],
)
def test_statistics_that_are_none_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ps.SpecificationError, match=words):
        stream([1], **settings)


def test_statistics_without_any_result_are_refused() -> None:
    with pytest.raises(ps.SpecificationError, match="streams of Statistics must be in some result"):
        statistics(a=stream([0]), b=stream([0]))


def test_predictions_and_statistics_can_be_pickled_copied_and_read() -> None:
    found = Prediction(EXAMPLE, 2)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301 -- ours
        assert again.recall == found.recall
        assert repr(again) == repr(found)
    assert repr(found).startswith("<Prediction for 2 rows: age 53.3%, prob 50.0%")
    assert repr(Prediction(EXAMPLE, None)).startswith("<Prediction for no limit: age 100.0%")
    assert "a (4 rows in the window, 5 results each)" in repr(EXAMPLE)
