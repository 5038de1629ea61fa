"""`penstock explain --cpu`, from files to words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import cli
from penstock.capacity.cpu_explanation import CpuExplanation
from penstock.capacity.recommendation import OWN_CHOICE
from tests.capacity.test_cpu_prediction import NAMES, SAMPLE, clocked, two
from tests.capacity.test_explain import run

if TYPE_CHECKING:
    from pathlib import Path

WINDOWS = ("--window", "l=3 seconds", "--window", "r=5 seconds")
USUAL = ("--stream", "l=l.parquet", "--stream", "r=r.parquet", "--time", "t", "--on", "k", *WINDOWS)
NUMBERS = ("--stream", "l=n-l.parquet", "--stream", "r=n-r.parquet", "--time", "t", "--on", "k")
COSTS = ("--costs", "insert=0.001,result=0.0002")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A third of the sample, with timestamps and with numbers."""
    place = tmp_path_factory.mktemp("sample")
    part = {n: t.filter(pa.array(t["t"].to_numpy() < 50)) for n, t in SAMPLE.items()}
    for name, table in part.items():
        pa.parquet.write_table(table, place / f"n-{name}.parquet")
    for name, table in clocked(part).items():
        pa.parquet.write_table(table, place / f"{name}.parquet")
    return place


def test_a_share_of_the_processor_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f.json"
    options = ("--cpu", "5%", "--recall", "0.8", "--output", str(tmp_path), "--json", str(file))
    text = run(folder, monkeypatch, *USUAL, *COSTS, *options)
    figures = json.loads(file.read_text())
    cpu = figures["cpu"]
    assert cpu["share"] == 0.05
    assert list(cpu["recall"]) == list(NAMES)
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    for name, recall in cpu["recall"].items():
        shown, needed, part = rows[name]
        assert shown == f"{100 * recall:.1f}"
        assert needed == f"{100 * cpu['share_for_wished_recall'][name]:.3g}"
        assert int(part) == round(100 * cpu["share_for_wished_recall"][name] / cpu["full_share"])
    assert "recall (%) with 5% of a core  share of a core (%) for 80% recall" in text
    assert f"The exact join takes {100 * cpu['full_share']:.3g}% of a core: with that much" in text
    assert "Choice: by-partner. All rows probe, and those are inserted whose values" in text
    assert "times what probe-no-insert finds." in text
    assert "Costs, in seconds: arrival 0, insert 0.001, compare 0, result 0.0002." in text
    assert len(cpu["curve"]["shares"]) == 101
    # Memory is not limited, so nothing is said about it.
    assert "fifo" not in text
    assert "budget_rows" not in figures
    picture = tmp_path / "penstock-explain.png"
    assert picture.stat().st_size > 20_000
    assert f"Recall against the share of a core: {picture}" in text


def test_both_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ("--cpu", "0.05", "--memory", "30%")
    text = run(folder, monkeypatch, *USUAL, *COSTS, *limits)
    figures = json.loads(run(folder, monkeypatch, *USUAL, *COSTS, *limits, "--json", "-"))
    memory, cpu = max(figures["recall"].values()), figures["cpu"]["recall"]["by-partner"]
    assert figures["lower_recall"] == pytest.approx(memory * cpu)
    assert f"With both limits expect {memory * cpu:.1%} or more: {memory:.1%} with the" in text
    assert f"limit of memory alone, times {cpu:.1%} with that of the processor alone." in text
    assert f"recall (%) with {figures['budget_rows']} rows" in text


def test_usual_costs_and_shards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--cpu", "50%", "--shards", "4")
    text = run(folder, monkeypatch, *USUAL, *options)
    cpu = json.loads(run(folder, monkeypatch, *USUAL, *options, "--json", "-"))["cpu"]
    assert cpu["costs"] == {"arrival": 1e-6, "insert": 5e-7, "compare": 5e-8, "result": 4e-7}
    assert cpu["shards"] == 4
    assert cpu["shards_for_all"] == 1
    assert "% of a core in each of 4 shards: with that much nothing is lost" in text
    assert "With 50% of a core in each of 4 shards the join is exact on average" in text


def test_tried_on_the_sample(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(folder, monkeypatch, *USUAL, *COSTS, "--cpu", "5%", "--try")
    assert "tried: recall (%) in the sample with 5% of a core" in text
    assert OWN_CHOICE in text
    assert "of the sample's results." in text


def test_times_that_are_numbers_need_costs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    windows = ("--window", "l=3", "--window", "r=5", "--cpu", "5%")
    text = run(folder, monkeypatch, *NUMBERS, *windows, *COSTS)
    assert "Costs, in units of time: arrival 0, insert 0.001" in text
    with pytest.raises(SystemExit):
        cli.main(["explain", *NUMBERS, *windows])
    words = "penstock: --costs must be given with --cpu where times are numbers; got 'nothing'; for"
    assert capsys.readouterr().err.startswith(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cpu", "0"), "--cpu must be a share above 0 and at most 1, or a percentage; got '0'"),
        (("--cpu", "120%"), "--cpu must be a share above 0 and at most 1, or a percentage; got"),
        (COSTS, "--costs must be given with --cpu; got 'insert=0.001,result=0.0002'; add --cpu"),
        (("--shards", "2"), "--shards must be given with --cpu; got 2; add --cpu 50%"),
        (("--cpu", "5%", "--shards", "0"), "shards must be a whole number of 1 or more; got 0"),
        (
            ("--cpu", "5%", "--costs", "inserts=1"),
            "--costs must be STEP=TIME, with steps arrival, insert, compare, result; got 'ins",
        ),
        (("--cpu", "5%", "--costs", "1e-6"), "--costs must be STEP=TIME, with steps arrival"),
        (
            ("--cpu", "5%", "--costs", "insert=-1"),
            "insert of --costs must be a time of 0 or more; got '-1'; for example --costs ins",
        ),
        (("--cpu", "5%", "--costs", "insert=1,insert=2"), "--costs must be given once for insert"),
        (("--cpu", "5%", "--costs", "insert=0"), "Costs must be above 0 for one step at least"),
    ],
)
def test_bad_input_is_one_line_in_the_users_words(
    options: tuple[str, ...],
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["explain", *USUAL, *options])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}"), captured.err
    assert captured.err.count("\n") == 1


def test_help_says_what_the_options_are_for() -> None:
    result = CliRunner().invoke(cli.app, ("explain", "--help"))
    text = " ".join(result.stdout.split())
    for option in ("--cpu", "--costs", "--shards"):
        assert option in text


def test_more_than_a_core_is_said_in_plain_words() -> None:
    heavy = two(share=0.5, costs=ps.Costs(insert=0.01, result=0.002))
    words = CpuExplanation(heavy, 0.9).least()
    assert words == (
        "The exact join takes 3.33 cores, and a shard has at most one. With 4 shards nothing would "
        "be lost on average, if their work is alike."
    )
    assert CpuExplanation(heavy, 0.9).warnings() == []


def test_one_value_that_no_number_of_shards_can_divide() -> None:
    heavy = two(share=0.5, costs=ps.Costs(insert=0.01, result=0.002), shards=2)
    skewed = replace(heavy, statistics=replace(heavy.statistics, hottest=0.61))
    found = CpuExplanation(skewed, 0.9)
    assert found.least() == (
        "The exact join takes 1.67 cores in each of 2 shards, and a shard has at most one. More "
        "shards do not suffice: one value gives 61% of the results, and all its rows are in one "
        "shard."
    )
    (warning,) = found.warnings()
    assert warning.startswith("One value gives 61% of the results, and all its rows are in one sh")


def test_arrivals_alone_can_be_too_much() -> None:
    dear = two(share=0.1, costs=ps.Costs(arrival=0.002, result=0.0002))
    assert CpuExplanation(dear, 0.9).choice() == (
        "With 10% of a core hardly any result is found: arrivals alone take 20% of a core, "
        "whatever becomes of the rows."
    )


def test_what_was_tried_decides() -> None:
    tried = {"by-partner": 0.5, "coin-flip": 0.3}
    assert CpuExplanation(two(share=0.1), 0.9, tried).choice() == (
        "Choice: by-partner. It found 50.0% of the sample's results."
    )
    own = CpuExplanation(two(share=0.1), 0.9, {**tried, OWN_CHOICE: 0.499})
    assert own.choice().startswith("Choice: the join's own; leave the strategy out. It found 49.9%")
    assert own.trials()[1][0] == ["by-partner", "50.0"]
