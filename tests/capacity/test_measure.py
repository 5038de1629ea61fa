"""Statistics from a sample: against the truth about generated streams, and against counting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from tests.capacity.support import (
    WINDOW,
    age_join,
    age_streams,
    frequency_join,
    frequency_streams,
    tables,
)

if TYPE_CHECKING:
    from penstock.predicates import Predicate


@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_the_age_curve_is_that_of_the_model(shape: str) -> None:
    model = age_streams(shape)
    found = age_join().measure(tables(model), parts=20).streams["s1"]
    assert found.rate == pytest.approx(1.0, rel=0.02)
    assert found.window == WINDOW
    assert found.needed_rows == pytest.approx(WINDOW, rel=0.02)
    # 20,000 rows, 5 results each: a part's share of 0.05 has a standard error of 0.003.
    assert found.curve.matches == pytest.approx(model.curve, rel=0.05, abs=0.03)
    assert found.results_per_row == pytest.approx(5.0, rel=0.03)


def test_rows_whose_window_has_not_ended_do_not_bias_the_curve() -> None:
    """A sample of a window and a half: a naive mean over all rows would lose a third."""
    model = age_streams("INC", rate_1=50.0, rate_2=250.0, duration=2 * WINDOW)
    late = {name: table.filter(_later(table, WINDOW / 2)) for name, table in tables(model).items()}
    found = age_join().measure(late, parts=20)
    # Rows of s2 refer to rows before the sample too: the first window's results are lost, but
    # with the rows that would have had them.
    assert found.streams["s1"].curve.matches == pytest.approx(model.curve, rel=0.12, abs=0.03)
    naive = found.results / late["s1"].num_rows
    assert naive < 0.8 * found.streams["s1"].results_per_row
    assert found.too_short == ()


def _later(table: pa.Table, time: float) -> pa.Array:
    return pa.array(table["time"].to_numpy() >= time)


def test_a_sample_shorter_than_the_window_says_so() -> None:
    model = age_streams("DEC", duration=2_000.0)
    early = {
        name: table.filter(pa.array(table["time"].to_numpy() < 200.0))
        for name, table in tables(model).items()
    }
    found = age_join().measure(early, parts=20)
    assert found.too_short == ("s1",)
    assert found.span == pytest.approx(200.0, rel=0.05)
    # Ages of 200 and more were never seen.
    assert not found.streams["s1"].curve.matches[8:].any()
    assert found.streams["s1"].curve.matches[:4].all()


def test_results_are_counted_for_the_one_that_waits() -> None:
    each = ps.Stream(time="t", window=4.0)
    join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("k"))
    a = pa.table({"t": [0.0, 10.0, 20.0], "k": ["x", "y", "z"]})
    b = pa.table({"t": [0.0, 3.0, 8.0, 20.0], "k": ["x", "x", "y", "z"]})
    found = join.measure({"a": a, "b": b}, parts=4)
    assert found.results == 4
    assert found.streams["a"].rate == 3 / 20
    # a waits for b at ages 0 (twice: of equals a comes first) and 3; its last row came at the
    # sample's end, so that two were seen at every age. b waits for a once, at age 2.
    assert found.streams["a"].curve.matches.tolist() == [1.0, 0.0, 0.0, 0.5]
    assert found.streams["b"].curve.matches.tolist() == [0.0, 0.0, 1 / 3, 0.0]
    # Two of the four results are of equal times: a window of zero has these, too.
    assert (found.streams["a"].waited, found.streams["b"].waited) == (1 / 4, 1 / 4)
    assert found.one_sided == ()


def test_a_stream_whose_rows_come_last_is_one_sided() -> None:
    each = ps.Stream(time="time", window=WINDOW)
    join = ps.Join(streams={"s1": each, "s2": each}, on=ps.Equal("id"))
    found = join.measure(tables(age_streams("BELL", duration=4_000.0)))
    assert (found.streams["s1"].waited, found.streams["s2"].waited) == (1.0, 0.0)
    assert found.one_sided == ("s2",)
    assert found.needed_bytes == sum(
        stream.needed_rows * stream.row_bytes for stream in found.streams.values()
    )
    # A window of zero is not pointed out.
    assert age_join().measure(tables(age_streams("BELL", duration=4_000.0))).one_sided == ()


def test_times_in_coarse_steps_make_no_comb() -> None:
    """Times in whole minutes, and a window of an hour: 61 ages do not fill 64 parts."""
    generator = np.random.default_rng(1)
    minutes = np.sort(generator.integers(0, 5_000, size=4_000))
    sample = pa.table(
        {
            "at": pa.array(minutes * 60_000_000).cast(pa.timestamp("us")),
            "k": generator.integers(0, 20, size=4_000),
        }
    )
    hour = ps.Stream(time="at", window="1 hour")
    join = ps.Join(streams={"a": hour, "b": hour}, on=ps.Equal("k"))
    for parts in (64, 48, 7):
        curve = join.measure({"a": sample, "b": sample}, parts=parts).streams["a"].curve
        assert curve.parts == min(parts, 60)
        # Each row has its own copy at age 0, beside the one result in some 1.2 minutes.
        even = curve.matches[1:]
        assert even == pytest.approx(np.full(even.size, even.mean()), rel=0.25)


def test_rates_count_only_rows_that_can_match() -> None:
    t = list(range(100))
    a = pa.table({"t": t, "k": [1 if i % 2 else None for i in t]})
    b = pa.table({"t": [None if i % 4 == 0 else i for i in t], "k": [1] * 100})
    each = ps.Stream(time="t", window=10)
    join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("k"))
    found = join.measure({"a": a, "b": b})
    assert found.streams["a"].rate == pytest.approx(0.5, rel=0.03)
    assert found.streams["b"].rate == pytest.approx(0.75, rel=0.03)
    assert found.streams["a"].rows == 100


@pytest.mark.parametrize("correlation", ["DC", "IC", "UC"])
def test_frequencies_are_those_of_the_model(correlation: str) -> None:
    model = frequency_streams(correlation, 1.0)
    found = frequency_join().measure(tables(model)).streams["s1"]
    assert found.own.sum() == pytest.approx(1.0)
    assert (np.diff(found.partner) < 0).all()
    expected = float((model.frequencies_1 * model.frequencies_2).sum())
    assert float((found.own * found.partner).sum()) == pytest.approx(expected, rel=0.05)


def test_frequencies_of_keys_that_come_but_once_foretell_nothing() -> None:
    found = age_join().measure(tables(age_streams("INC", duration=5_000.0)))
    assert found.streams["s1"].own.size == 1


def test_a_row_is_as_large_as_the_engine_counts_it() -> None:
    model = age_streams("INC", duration=2_000.0)
    found = age_join().measure(tables(model))
    join = age_join()
    limited = ps.Join(streams=join.streams, on=join.on, budget=ps.Budget(memory="40 kB"))
    held = limited.replay(tables(model)).metrics.budget_rows
    assert limited.predict(found).rows == held


@pytest.mark.parametrize(
    "on",
    [
        ps.Within(0.1, s1="x", s2="x"),
        ps.Band(low=0, high=0.2, s1="x", s2="x"),
        ps.Compare("<", s1="x", s2="x"),
        ps.Compare("!=", s1="x", s2="x"),
    ],
    ids=lambda on: type(on).__name__,
)
def test_other_predicates_have_frequencies_of_rows(on: Predicate) -> None:
    generator = np.random.default_rng(2)
    sample = {
        name: pa.table({"time": np.arange(500.0), "x": generator.beta(2, 5, size=500).round(2)})
        for name in ("s1", "s2")
    }
    each = ps.Stream(time="time", window=50.0)
    found = ps.Join(streams={"s1": each, "s2": each}, on=on).measure(sample)
    for stream in found.streams.values():
        assert stream.own.sum() == pytest.approx(1.0)
        # Frequencies and counted results say the same: r n = r r W sum f f.
        expected = stream.rate * stream.window * float((stream.own * stream.partner).sum())
        assert stream.results_per_row == pytest.approx(expected, rel=0.1)


def three(sample: dict[str, pa.Table], window: float = 20.0) -> tuple[ps.Join, ps.Statistics]:
    each = ps.Stream(time="t", window=window)
    join = ps.Join(streams=dict.fromkeys(sample, each), on=ps.Equal("k"))
    return join, join.measure(sample)


def test_with_three_streams_every_one_that_waits_counts() -> None:
    generator = np.random.default_rng(4)
    sample = {
        name: pa.table(
            {
                "t": np.sort(generator.uniform(0, 2_000, 2_000)),
                "k": generator.integers(0, 30, 2_000),
            }
        )
        for name in "abc"
    }
    join, found = three(sample)
    waiting = sum(stream.waiting for stream in found.streams.values())
    # Two wait for each result; the rate of results is about 3 r^3 W^2 / 30^2.
    assert waiting == pytest.approx(2 * 3 * 20.0**2 / 30**2, rel=0.1)
    assert found.results == join.replay(sample).metrics.emitted


GOOD = tables(age_streams("INC", duration=1_500.0))
NULL_TIMES = pa.schema([("time", pa.float64()), ("id", pa.int64())])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {**GOOD, "s1": GOOD["s1"].slice(0, 0)},
            "got '0 rows, of which 0 can be used'; take a sample in which every stream has rows",
        ),
        (
            {**GOOD, "s2": pa.table({"time": [1.0, 2.0], "id": pa.nulls(2, pa.int64())})},
            'rows of stream "s2" must be at least one that has a time and a key; got ',
        ),
        (
            {**GOOD, "s1": pa.table({"time": [None, None], "id": [1, 2]}, NULL_TIMES)},
            '2 rows, of which 0 can be used\'; look for nulls in "time" and "id"',
        ),
        (
            {**GOOD, "s2": pa.table({"time": [1e6, 2e6], "id": [1, 2]})},
            "sample must have a period of time in which every stream has rows; got",
        ),
        (
            {**GOOD, "s2": pa.table({"time": [1.0, 900.0], "id": [-1, -2]})},
            "results of the join must be at least one in the sample; got 'none of",
        ),
        ({"s1": GOOD["s1"]}, 'stream "s2" must be given a table'),
        (
            {**GOOD, "s2": GOOD["s2"].drop(["id"])},
            'stream "s2" must have a column "id"; it has "time", "value"',
        ),
        ({**GOOD, "s2": [GOOD["s2"]]}, 'table of stream "s2" must be a pyarrow.Table; got'),
        ([GOOD], "tables must be a table for each stream, by its name; got 'list'; write {'s1'"),
    ],
)
def test_a_sample_of_no_use_is_refused_in_the_users_words(given: object, words: str) -> None:
    with pytest.raises(ps.SchemaError, match=re.escape(words)):
        age_join().measure(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("parts", [0, -1, 2.5, "64", None])
def test_parts_are_a_whole_number(parts: object) -> None:
    with pytest.raises(ps.SpecificationError, match="parts must be a whole number of 1 or more"):
        age_join().measure(GOOD, parts)  # type: ignore[arg-type]


def test_the_sample_is_not_changed_and_the_same_sample_gives_the_same() -> None:
    before = {name: table.to_pydict() for name, table in GOOD.items()}
    found = [age_join().measure(GOOD).streams["s1"].curve.matches.tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert {name: table.to_pydict() for name, table in GOOD.items()} == before
