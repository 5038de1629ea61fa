from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from benchmarks import (
    batches,
    choice,
    data,
    equality,
    formulas,
    grub,
    harvesting,
    importance,
    memory,
    memory_choice,
    similar,
    window,
    within,
    work,
    workload,
)
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.nested_loop import Scan, nested_loop
from benchmarks.report import Target, as_markdown
from penstock.bench.timing import Spread, ratios, take_turns, timed
from penstock.errors import SpecificationError
from penstock.report.tables import Table, read_page, replace_sections
from penstock.testing import FakeClock, exact_join

if TYPE_CHECKING:
    from pathlib import Path


def silent(text: str) -> None:
    assert text


def test_equality_gives_every_result_and_no_strategy_gives_more() -> None:
    figures = equality.run(quick=True, say=silent)
    exact, *shedding = figures.numbers
    assert 4 < exact.results_per_left_row < 6
    assert all(0 < contestant.results < exact.results for contestant in shedding)
    assert figures.text[0].results == exact.results
    assert sum(step.share for step in figures.steps) == pytest.approx(1)
    assert len(figures.targets()) == 3


def test_within_and_both_nested_loops_agree() -> None:
    (case,) = within.run(quick=True, say=silent).cases
    assert case.matches == 2
    assert 1 < case.results_per_arrival < 4


def test_budgets_of_work_shed_nothing_or_half() -> None:
    exact, *others = work.run(quick=True, say=silent).contestants
    assert exact.recall == 1
    for each in others:
        assert each.loop > 0
        if each.budget == "half of the work":
            assert 0 < each.recall < 0.9
        else:
            assert each.recall == 1


def test_a_workload_is_compared_with_one_large_join() -> None:
    figures = workload.run(quick=True, say=silent)
    (compared,) = figures.compared
    by_name = {way.name: way.results for way in compared.ways}
    assert list(by_name) == [workload.WORKLOAD, workload.ONE, workload.APART]
    # About as many results by all ways: half of the windows fits.
    own, together = workload.streams(compared.sizes)
    pairs = [data.count_pairs(each, compared.sizes.window_rows) for each in own.values()]
    assert data.count_pairs(together, compared.sizes.window_rows) == sum(pairs)
    assert all(0.3 < found / sum(pairs) < 0.8 for found in by_name.values())
    assert len(figures.targets()) == len(figures.tables()) == 1


def test_harvesting_finds_more_than_random_dropping_with_as_many_comparisons() -> None:
    figures = harvesting.run(quick=True, say=silent)
    grub, dropped = (figures.ways[name] for name in ("grub", "random-drop"))
    assert grub.recall > 2 * dropped.recall > 0
    assert 0 < grub.compared < 0.25
    assert len(figures.tables()) == 1
    assert len(figures.targets()) == 1


def test_figures_11_to_13_are_counted_on_the_engine() -> None:
    figures = grub.run(quick=True, say=silent)
    assert set(figures.outcomes) == set(grub.QUICK) < set(grub.CASES)
    assert all(each.grub > 3 * each.dropped > 0 for each in figures.outcomes.values())
    assert len(figures.tables()) == 1
    assert [target.reached for target in figures.targets()] == [True]


def test_the_choice_of_a_strategy_is_compared_with_all_others() -> None:
    figures = choice.run(quick=True, say=silent)
    two, *three = figures.points
    assert two.found[two.default] == two.found["by-partner"] > 1.5 * two.found["probe-no-insert"]
    assert all(each.default == "probe-no-insert" for each in three)
    assert all(0 < each.found["coin-flip"] < each.found[each.default] < 1 for each in three)
    assert all(each.of_best > 0.95 for each in figures.points)  # in runs as short as these
    better = choice.Point("no choice", 0.2, {"a": 0.5, "b": 0.4}, default="b")
    (missed,) = choice.Choice((*figures.points, better)).targets()
    assert missed.seen == "0.800 (no choice, 20%)"
    assert not missed.reached


def test_what_is_found_is_compared_with_formulas() -> None:
    figures = formulas.run(quick=True, say=silent)
    by_name = {point.strategy: point for point in figures.points}
    assert set(by_name) == set(formulas.FORMULAS)
    # As shares of the full output with direct correlation at 40 %, by the printed formulas.
    assert by_name["coin-flip"].by_formula == pytest.approx(0.33, abs=0.03)
    assert by_name["probe-no-insert"].by_formula == pytest.approx(0.40, abs=0.02)
    assert by_name["max-subset"].by_formula == pytest.approx(0.50, abs=0.03)
    assert by_name["probe-no-insert"].ratio == pytest.approx(1, abs=0.2)
    nothing = formulas.Point("direct", 1.0, 0.2, "insert-no-probe", 0.0, 0.001)
    assert nothing.ratio is None
    bad = formulas.Point("direct", 1.0, 0.2, "coin-flip", 0.5, 0.4)
    (missed,) = formulas.Formulas((*figures.points, nothing, bad)).targets()
    assert missed.seen == "0.800 (coin-flip, direct, 20%, 1 times the rates)"
    assert not missed.reached


@pytest.mark.slow
def test_formulas_at_many_times_the_rates_run() -> None:
    figures = formulas.run_fast(quick=True, say=silent)
    assert len(figures.points) == 2 * len(formulas.FORMULAS)
    ratios = {(each.correlation, each.strategy): each.ratio for each in figures.points}
    assert ratios["inverse", "by-partner"] == pytest.approx(1, abs=0.1)


def test_results_are_counted_without_a_join() -> None:
    streams = formulas.Streams("inverse", 1.0, 20.0, 3)
    windows = {"l": 3.0, "r": 5.0}
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=each) for name, each in windows.items()},
        on=ps.Equal("key"),
    )
    times = join.replay(streams.tables).result["time"].to_numpy()
    assert streams.results == np.count_nonzero(times > 10.0)


def test_the_choice_in_a_share_of_the_memory_is_compared_with_all_others() -> None:
    figures = memory_choice.run(quick=True, say=silent)
    (point,) = figures.points
    assert max(point.found, key=lambda name: point.found[name]) in ("prob", "expected")
    assert 0.9 * max(point.found.values()) <= point.chosen < 1
    assert len(figures.targets()) == 2
    assert len(figures.tables()) == 1


def test_similar_compares_what_the_product_does() -> None:
    figures = similar.run(quick=True, say=silent)
    assert [case.type for case in figures.cases] == ["float32"]
    assert len(figures.targets()) == 1


def test_windows_of_all_lengths_give_as_many_results() -> None:
    figures = window.run(quick=True, say=silent)
    assert [round(length.results_per_arrival, 1) for length in figures.lengths] == [2.5, 2.5]
    assert len(figures.targets()) == 1


def test_batches_of_all_sizes_give_the_same_and_write_less_than_everything() -> None:
    figures = batches.run(quick=True, say=silent)
    small, large = figures.batches
    assert figures.results > 0
    assert small.kilobytes_per_batch <= large.kilobytes_per_batch
    assert not figures.targets()


def test_importance_is_found_by_all_and_a_scan_takes_longer_the_more_rows() -> None:
    figures = importance.run(quick=True, say=silent)
    assert all(each.importance > 0 for each in figures.contestants)
    assert [each.budget for each in figures.growth] == list(importance.QUICK.budgets)
    assert len(figures.targets()) == 4


def test_memory_is_measured_where_the_system_says() -> None:
    figures = memory.run(quick=True, say=silent)
    assert len(figures.tables()) >= 1
    for held in figures.held:
        assert held.rows == 2 * memory.QUICK.window_rows
        assert held.payload == 24


def test_memory_is_left_out_where_the_system_does_not_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    figures = memory.run(quick=True, say=silent)
    assert figures.held == ()
    assert "does not say" in as_markdown(figures)


def test_the_count_of_pairs_is_that_of_the_exact_join() -> None:
    tables = data.keyed(80, 9, seed=5)
    join = data.equality(20)
    assert data.count_pairs(tables, 20) == len(exact_join(join, tables))
    assert len(exact_join(join, data.with_text(tables, seed=5))) == data.count_pairs(tables, 20)


@pytest.mark.parametrize("scan", ["plain", "tuned", "blocks"])
def test_the_nested_loop_gives_the_definition(scan: Scan) -> None:
    rng = np.random.default_rng(3)
    streams = np.concatenate([np.arange(3), rng.integers(0, 3, 297)])
    times = np.sort(rng.integers(0, 150, 300))
    values = rng.integers(0, 60, 300).astype(np.float64)
    found = nested_loop(times, streams, values, window=20, distance=2.0, scan=scan)
    rows = [np.flatnonzero(streams == stream) for stream in range(3)]
    a, b, c = np.meshgrid(*rows, indexing="ij")
    values_of, times_of = ([column[i] for i in (a, b, c)] for column in (values, times))
    fits = (np.maximum.reduce(values_of) - np.minimum.reduce(values_of) <= 2) & (
        np.maximum.reduce(times_of) - np.minimum.reduce(times_of) <= 20
    )
    assert sorted(found.tolist()) == np.argwhere(fits).tolist()


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    turns = take_turns(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")},
        lambda _: len(order),
        2,
        silent,
    )
    assert order == ["a", "b"] * 3
    assert [turn.kept for turn in turns["a"]] == [3, 5]


def test_a_run_is_timed_without_what_is_kept() -> None:
    clock = FakeClock()
    turn = timed(lambda: clock.advance(2.0), lambda _: clock.advance(7.0), clock)
    assert turn.seconds == 2


def test_ratios_are_taken_round_by_round() -> None:
    assert ratios([2.0, 9.0, 4.0], [1.0, 3.0, 4.0]) == Spread(2.0, 1.0, 3.0)
    assert Spread(1234.5, 1.0, 2.0).text(1) == "1,234.5 (1.0 to 2.0)"


def test_a_page_gets_tables_and_targets() -> None:
    class Figures:
        def tables(self) -> tuple[Table, ...]:
            return (Table.titled("Speed", ("join", "rows/s"), (("a", "1"),)),)

        def targets(self) -> tuple[Target, ...]:
            return (Target("fast", "slow", reached=False),)

    text = as_markdown(Figures())
    assert text == (
        "Speed:\n\n| join | rows/s |\n| --- | ---: |\n| a | 1 |\n\n"
        "- Target, **not reached**: fast: slow"
    )


def test_a_page_without_markers_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a: end --> <!-- a: begin -->")
    with pytest.raises(SpecificationError, match="--write must be a page with a line <!-- a: beg"):
        read_page(page, ["a"])


def test_the_page_has_room_for_every_benchmark(pytestconfig: pytest.Config) -> None:
    sections = {name: f"figures of {name}" for name in ("machine", *BENCHMARKS)}
    page = read_page(pytestconfig.rootpath / "docs" / "benchmarks.md", sections)
    written = replace_sections(page, sections)
    assert all(text in written for text in sections.values())
    assert replace_sections(written, sections) == written


def test_the_command_writes_figures_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    main(["window", "--quick", "--json", str(file)])
    shown = capsys.readouterr()
    assert "within a factor 2" in shown.out
    assert "round 1 of 2" in shown.err
    figures = json.loads(file.read_text())
    assert list(figures) == ["machine", "window"]
    assert figures["window"]["lengths"][0]["window_rows"] == window.QUICK.windows[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["speed"], 'NAME must be one of equality, within, .*; got "speed"'),
        (["--quick", "--write", "page.md"], "--write must go without --quick"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert re.search(words, capsys.readouterr().err)
