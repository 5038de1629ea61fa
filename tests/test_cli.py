from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import cli
from penstock.demo import demonstrate
from penstock.strategies import STRATEGIES, WORK_STRATEGIES
from tests.demo.support import in_process

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


def penstock(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call the program in a process of its own."""
    return subprocess.run(  # noqa: S603 -- ours
        [sys.executable, "-c", "from penstock.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the demo replay its joins in process."""
    monkeypatch.setattr("penstock.demo.demonstrate", partial(demonstrate, runner=in_process))


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


def test_strategies_are_all_listed_with_what_they_save_goals_and_paper() -> None:
    lines = run("strategies").splitlines()
    assert lines[0].split() == ["strategy", "saves", "goals", "from", "what", "it", "does"]
    assert [line.split()[0] for line in lines[1:]] == [*STRATEGIES, *WORK_STRATEGIES]
    assert "Keep the most recent rows of each stream" in lines[1]
    assert lines[1].split()[:5] == ["fifo", "memory", "MaxSubset,", "MaxImportance", "kulkarni08"]
    by_name = {line.split()[0]: line.split()[1:4] for line in lines[1:]}
    assert by_name["grub"] == ["cpu", "MaxSubset", "gedik05"]
    assert by_name["by-cost"] == ["cpu", "MaxSubset", "ours"]
    assert by_name["best"] == ["memory", "MaxSubset", "ours"]
    assert by_name["cluster"] == ["memory,", "cpu", "Sample"]


@pytest.mark.usefixtures("without_spark")
def test_demo_prints_one_table_and_saves_a_picture_and_the_figures(tmp_path: Path) -> None:
    figures_file = tmp_path / "new" / "figures.json"
    options = ("--auctions", "500", "--memory", "30%", "--seed", "3")
    text = run("demo", *options, "--output", str(tmp_path), "--json", str(figures_file))

    picture = tmp_path / "penstock-demo.png"
    assert picture.read_bytes().startswith(PNG)
    assert picture.stat().st_size > 20_000
    assert f"Recall over time: {picture}" in text
    assert 'What "best" reports about itself (print(metrics)):\n  Results    ' in text
    assert "Next steps:" in text
    assert "\x1b" not in text

    figures: dict[str, Any] = json.loads(figures_file.read_text())
    assert figures["penstock"] == ps.__version__
    assert figures["picture"] == str(picture)
    assert figures["market"]["auctions"] == 500
    assert len(figures["edges_days"]) == 61
    rows = tables_rows(text)
    assert list(rows) == ["exact", "fifo", "random", "best"]
    exact = figures["runs"][0]
    assert figures["budget_rows"] == int(0.3 * exact["rows_most"])
    for found in figures["runs"]:
        results, recall, *estimate, held, kilobytes, speed = rows[found["strategy"]]
        assert int(results.replace(",", "")) == found["results"]
        assert found["recall"] == found["results"] / exact["results"]
        assert recall == f"{100 * found['recall']:.1f}"
        assert estimate[0] == f"{100 * found['estimate']['value']:.{found['recall'] < 1:d}f}"
        assert int(held.replace(",", "")) == found["rows_most"]
        assert int(kilobytes.replace(",", "")) == round(found["state_bytes"] / 1e3)
        assert float(speed.replace(",", "")) > 0
        assert len(found["batch_seconds"]) == len(found["batch_rows"]) == 8
        assert len(found["recall_in_bins"]) == 60


@pytest.mark.usefixtures("without_spark")
def test_demo_with_json_to_standard_output_prints_nothing_else(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    text = run("demo", "--auctions", "100", "--output", str(picture), "--json", "-")
    assert [found["strategy"] for found in json.loads(text)["runs"]] == [
        "exact",
        "fifo",
        "random",
        "best",
    ]
    assert "<svg" in picture.read_text()


@pytest.mark.slow
@pytest.mark.spark
def test_demo_on_spark_gives_what_the_replay_gives(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    figures_file = tmp_path / "figures.json"
    options = ("--auctions", "200", "--seed", "5", "--memory", "20%")
    places = ("--output", str(tmp_path), "--json", str(figures_file))
    done = penstock("demo", *options, *places, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr

    assert list(tables_rows(done.stdout)) == ["exact", "fifo", "random", "best"]
    assert "\x1b" not in done.stdout + done.stderr
    assert (tmp_path / "penstock-demo.png").read_bytes().startswith(PNG)
    # What takes long is named where a pipe reads it, and Spark says nothing.
    steps = r"(Compiling|Starting|Exact|Join with|Drawing|Opening) [^\n]* \.\.\."
    assert all(re.fullmatch(steps, line) for line in done.stderr.splitlines())
    assert not list(temporary.glob("penstock-demo-*"))

    found: dict[str, Any] = json.loads(figures_file.read_text())
    expected = demonstrate(auctions=200, seed=5, memory="20%", runner=in_process).as_json()
    for name in ("market", "memory", "budget_rows", "edges_days"):
        assert found[name] == expected[name]
    same = ("strategy", "results", "recall", "rows_most", "evicted", "dropped", "recall_in_bins")
    expected_runs: Any = expected["runs"]
    for run, replayed in zip(found["runs"], expected_runs, strict=True):
        assert {name: run[name] for name in same} == {name: replayed[name] for name in same}
        assert run["batch_rows"] == list(replayed["batch_rows"])
        assert run["state_bytes"] > 0
        assert run["seconds"] > sum(run["batch_seconds"]) / 2
        assert run["thousand_rows_per_second"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--auctions", "5"], "auctions must be at least 100; got 5; fewer show nothing"),
        (["--memory", "10"], "memory must be a percentage above 0% and at most 100%; got '10'"),
        (["--memory", "101%"], "memory must be a percentage above 0% and at most 100%"),
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

    monkeypatch.setattr("penstock.demo.demonstrate", fail)
    with pytest.raises(SystemExit):
        cli.main(["demo", "--output", str(tmp_path)])
    assert capsys.readouterr().err == (
        "penstock: tables must have one schema; got a: int64 and a: string\n"
    )


def test_without_java_the_demo_says_how_to_get_it(tmp_path: Path) -> None:
    done = penstock(
        "demo", "--output", str(tmp_path), JAVA_HOME=str(tmp_path), TMPDIR=str(tmp_path)
    )
    assert done.returncode == 2
    assert done.stdout == ""
    *steps, said = done.stderr.splitlines()
    assert said.startswith(f"penstock: Spark needs Java 17 or newer; {tmp_path}/bin/java does not")
    assert "apt install openjdk-17-jre-headless" in said
    assert all(step.endswith(" ...") for step in steps)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", ["pyspark", "pandas"])
def test_without_spark_the_demo_says_how_to_get_it(missing: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; "
        f"from penstock.cli import main; main(['demo', '--output', {str(tmp_path)!r}])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- ours
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f'penstock: the demo needs {missing}; pip install "penstock[cli,spark]"\n'


def test_other_commands_load_no_spark() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from penstock import cli; "
        "CliRunner().invoke(cli.app, ['strategies']); sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_an_unexpected_error_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("penstock.demo.demonstrate", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--output", str(tmp_path)])


@pytest.mark.parametrize("arguments", [["demo", "--output"], ["bench", "join", "--json"]])
def test_ctrl_c_is_one_line(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.demo.demonstrate", interrupt)
    monkeypatch.setattr("penstock.spark.session", interrupt)
    with pytest.raises(SystemExit) as exit_:
        cli.main([*arguments, str(tmp_path / "file.png")])
    assert exit_.value.code == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "penstock: interrupted\n"


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["dmeo"])
    assert exit_.value.code == 2
    assert "demo" in capsys.readouterr().err
