from __future__ import annotations

import json
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import cli
from penstock.demo import Demonstration, demonstrate, scenario
from penstock.strategies import STRATEGIES
from penstock.testing import canonical_rows, expected_rows

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def tables_rows(text: str) -> dict[str, list[str]]:
    """The lines of the table, by their first word."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: words[1:] for words in lines if words and words[0] in {*STRATEGIES, "exact"}}


@pytest.fixture(scope="module")
def small() -> Demonstration:
    ticks = count(step=2)
    return demonstrate(auctions=500, memory="30%", seed=3, clock=lambda: float(next(ticks)))


def test_version() -> None:
    assert run("--version") == f"penstock {ps.__version__}\n"


def test_help_names_the_commands() -> None:
    text = run("--help")
    assert "within a memory budget" in text
    assert "demo" in text
    assert "strategies" in text


def test_help_of_demo_says_what_the_options_are_for() -> None:
    text = " ".join(run("demo", "--help").split())
    for option in ("--auctions", "--memory", "--seed", "--output", "--json"):
        assert option in text
    assert "draws it over time" in text


def test_strategies_are_all_listed_with_goals() -> None:
    lines = run("strategies").splitlines()
    assert lines[0].split() == ["strategy", "goals", "what", "it", "does"]
    assert [line.split()[0] for line in lines[1:]] == list(STRATEGIES)
    assert "fifo      MaxSubset  Keep the most recent tuples of each stream" in lines[1]


def test_demo_prints_one_table_and_saves_a_picture_and_the_figures(tmp_path: Path) -> None:
    figures_file = tmp_path / "new" / "figures.json"
    options = ("--auctions", "500", "--memory", "30%", "--seed", "3")
    text = run("demo", *options, "--output", str(tmp_path), "--json", str(figures_file))

    picture = tmp_path / "penstock-demo.png"
    assert picture.read_bytes().startswith(PNG)
    assert picture.stat().st_size > 20_000
    assert f"Recall over time: {picture}" in text
    assert "To go on:" in text
    assert "\x1b" not in text

    figures: dict[str, Any] = json.loads(figures_file.read_text())
    assert figures["penstock"] == ps.__version__
    assert figures["picture"] == str(picture)
    assert figures["market"]["auctions"] == 500
    assert len(figures["edges_days"]) == 61
    rows = tables_rows(text)
    assert list(rows) == ["exact", "fifo", "random"]
    exact = figures["runs"][0]
    assert figures["budget_rows"] == int(0.3 * exact["rows_most"])
    for found in figures["runs"]:
        results, recall, held, megabytes, shed, speed = rows[found["strategy"]]
        assert int(results.replace(",", "")) == found["results"]
        assert found["recall"] == found["results"] / exact["results"]
        assert recall == f"{100 * found['recall']:.1f}"
        assert int(held.replace(",", "")) == found["rows_most"]
        assert float(megabytes) == pytest.approx(found["bytes_most"] / 1e6, abs=0.005)
        assert int(shed.replace(",", "")) == found["evicted"] + found["dropped"]
        assert int(speed.replace(",", "")) > 0
        assert len(found["recall_in_bins"]) == 60


def test_demo_with_json_to_standard_output_prints_nothing_else(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    text = run("demo", "--auctions", "100", "--output", str(picture), "--json", "-")
    assert [found["strategy"] for found in json.loads(text)["runs"]] == ["exact", "fifo", "random"]
    assert "<svg" in picture.read_text()


def test_figures_of_the_demo_are_consistent(small: Demonstration) -> None:
    exact, *shed = small.runs
    assert exact.recall == 1.0
    assert exact.evicted == exact.dropped == 0
    assert exact.results == small.bids  # every bid is for an auction that is open
    for found in shed:
        assert found.recall == found.results / exact.results
        assert 0 < found.recall < 1
        assert found.rows_most <= small.budget_rows < exact.rows_most
        assert found.bytes_most < exact.bytes_most
        assert found.evicted + found.dropped > 0
        assert found.seconds == 2.0
        assert found.thousand_arrivals_per_second == (small.auctions + small.bids) / 2_000


def test_recall_in_bins_adds_up_to_recall(small: Demonstration) -> None:
    tables = scenario.tables(500, seed=3)
    days = scenario.day_counts(scenario.join(seed=3).replay(tables).result)
    assert days.sum() == small.bids
    for found in small.runs:
        bins = np.nan_to_num(found.recall_in_bins)
        assert (bins * days).sum() == pytest.approx(found.results)
        assert ((bins >= 0) & (bins <= 1)).all()


@pytest.mark.parametrize("strategy", [None, "fifo", "random"])
def test_counts_are_enough_for_recall(strategy: str | None) -> None:
    """Each result of a join with a budget is one of the exact join's, and comes once."""
    tables = scenario.tables(200, seed=1)
    exact = scenario.join(seed=1)
    rows = None if strategy is None else 20
    result = scenario.join(seed=1, strategy=strategy, rows=rows).replay(tables).result
    expected = expected_rows(exact, tables)
    assert Counter(canonical_rows(result)) <= Counter(expected)
    assert (strategy is None) == (result.num_rows == len(expected))


def test_both_streams_end_at_the_same_moment() -> None:
    tables = scenario.tables(300, seed=0)
    last = tables["auctions"]["opened_at"][-1].as_py()
    assert max(tables["bids"]["at"].to_pylist()) <= last
    assert pa.types.is_timestamp(tables["bids"].schema.field("at").type)


def test_with_all_of_the_memory_nothing_is_lost() -> None:
    found = demonstrate(auctions=150, memory="100%")
    assert [run.recall for run in found.runs] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--auctions", "5"], "auctions must be at least 100; got 5; fewer show nothing"),
        (["--memory", "10"], "memory must be a percentage above 0% and at most 100%; got '10'"),
        (["--memory", "101%"], "memory must be a percentage above 0% and at most 100%"),
        (["--memory", "0.5%", "--auctions", "100"], "memory must be at least 2 of the"),
        (["--seed", "-1"], "seed must be a whole number from 0"),
        (["--output", "demo.gif"], "--output must be a folder, or a file that ends in .png"),
        (["--json", "."], "--json must be a file that can be written (it is a folder)"),
    ],
)
def test_an_error_of_ours_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["demo", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}")
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_message_of_several_lines_is_put_on_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(**_: object) -> None:
        raise ps.SchemaError("tables must have one schema; got\na: int64\nand\na: string")

    monkeypatch.setattr(cli, "demonstrate", fail)
    with pytest.raises(SystemExit):
        cli.main(["demo", "--output", str(tmp_path)])
    assert capsys.readouterr().err == (
        "penstock: tables must have one schema; got a: int64 and a: string\n"
    )


def test_an_unexpected_error_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "demonstrate", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--output", str(tmp_path)])


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["dmeo"])
    assert exit_.value.code == 2
    assert "demo" in capsys.readouterr().err
