"""`penstock explain`, from files to words."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import cli
from penstock.capacity import StreamStatistics
from penstock.capacity.recommendation import OWN_CHOICE, recommend
from penstock.capacity.strategy_models import MODELS
from penstock.statistics.age_curve import AgeCurve
from penstock.testing import age_model

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = ("--window", "auctions=500 seconds", "--window", "bids=0 seconds")
COLUMNS = ("--time", "auctions=opened_at", "--time", "bids=at", "--on", "id")
NAMES = ("--stream", "auctions=auctions.parquet", "--stream", "bids=bids.csv")
USUAL = (*NAMES, *COLUMNS, *WINDOWS)


def clock(table: pa.Table, name: str, zone: str | None) -> pa.Table:
    """The model's numbers as timestamps."""
    seconds = pa.array((table["time"].to_numpy() * 1e6).astype(np.int64))
    start = int(BEGIN.timestamp()) * 10**6
    times = pa.array(seconds.to_numpy() + start).cast(pa.timestamp("us", zone))
    return pa.table({"id": table["id"], name: times, "value": table["value"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample: auctions in Parquet, with a zone; bids in CSV, without."""
    place = tmp_path_factory.mktemp("sample")
    model = age_model(curve="BELL", duration=4_000.0, arrivals="mean-rate", seed=1)
    pa.parquet.write_table(clock(model.s1, "opened_at", "UTC"), place / "auctions.parquet")
    pa.csv.write_csv(clock(model.s2, "at", None), place / "bids.csv")
    pa.csv.write_csv(model.s1, place / "numbers-1.csv")
    pa.parquet.write_table(model.s2, place / "numbers-2.pq")
    pa.csv.write_csv(clock(model.s2, "at", None).slice(0, 0), place / "empty.csv")
    words = model.s2.set_column(1, "at", pa.array(["noon"] * model.s2.num_rows))
    pa.csv.write_csv(words, place / "words.csv")
    (place / "broken.parquet").write_text("not Parquet at all")
    (place / "nothing.csv").write_text("")
    (place / "sample.xml").write_text("<sample/>")
    (place / "list.json").write_text('[{"id": 1}]')
    (place / "nothing.jsonl").write_text("")
    return place


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(cli.app, ("explain", *arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_prints_tables_says_what_it_would_choose_and_saves_a_picture(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures_file = tmp_path / "figures.json"
    places = ("--output", str(tmp_path), "--json", str(figures_file))
    text = run(folder, monkeypatch, *USUAL, "--memory", "25%", "--recall", "0.8", *places)

    figures: dict[str, Any] = json.loads(figures_file.read_text())
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert figures["penstock"] == ps.__version__
    assert figures["budget_rows"] == round(0.25 * figures["needed_rows"])
    assert figures["needed_rows"] == pytest.approx(500, rel=0.05)
    assert figures["streams"]["auctions"]["rate"] == pytest.approx(1.0, rel=0.05)
    assert figures["streams"]["auctions"]["window"] == 500
    assert rows["auctions"][-1] == f"{figures['streams']['auctions']['results_per_row']:.2f}"
    assert list(figures["recall"]) == list(MODELS)
    for name, recall in figures["recall"].items():
        shown, needed, size, part = rows[name]
        assert shown == f"{100 * recall:.1f}"
        assert int(needed.replace(",", "")) == figures["rows_for_wished_recall"][name]
        assert float(size) == pytest.approx(
            figures["bytes_for_wished_recall"][name] / 1e6, rel=0.05
        )
        assert int(part) == round(
            100 * figures["rows_for_wished_recall"][name] / figures["needed_rows"]
        )
    assert figures["recall"]["age"] == pytest.approx(0.335, abs=0.02)
    assert figures["choice"] == "age"
    (warning,) = figures["warnings"]
    assert warning.startswith('The times of "bids" have no time zone and are taken as UTC.')
    assert f"Beware: {warning}" in text
    assert figures["hints"] == []
    assert figures["tried"] == {}
    assert (
        "Choice: age. Rows of auctions give most results per row of memory if they are kept up to"
        in text
    )
    assert ": 1.3 times what random finds. Rows of each stream: auctions" in text
    picture = tmp_path / "penstock-explain.png"
    assert picture.read_bytes().startswith(PNG)
    assert picture.stat().st_size > 20_000
    assert f"Recall against memory: {picture}" in text
    assert "\x1b" not in text


def test_json_to_standard_output_and_nothing_else(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = tmp_path / "picture.svg"
    text = run(folder, monkeypatch, *USUAL, "--output", str(picture), "--json", "-")
    figures = json.loads(text)
    assert figures["budget_rows"] == round(0.1 * figures["needed_rows"])
    assert len(figures["curve"]["rows"]) == 101
    assert figures["curve"]["recall"]["age"][-1] == 1.0
    assert "<svg" in picture.read_text()


def test_tried_on_the_sample(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--rows", "125", "--try", "--json", str(tmp_path / "f.json"))
    text = run(folder, monkeypatch, *USUAL, *options, "--output", str(tmp_path))
    figures = json.loads((tmp_path / "f.json").read_text())
    assert figures["budget_rows"] == 125
    assert "tried: recall (%) in the sample with 125 rows (0.0" in text
    assert figures["tried"]["fifo"] == pytest.approx(figures["recall"]["fifo"], abs=0.04)
    assert figures["tried"]["random"] == pytest.approx(figures["recall"]["random"], abs=0.05)
    most = max(figures["tried"].values())
    assert figures["tried"][figures["choice"]] >= 0.97 * most
    assert "of the sample's results" in figures["why"]


def test_where_no_formula_sees_anything_the_join_is_left_to_choose() -> None:
    rising = StreamStatistics(rate=1.0, window=100.0, curve=AgeCurve([1, 2, 3]))
    idle = StreamStatistics(rate=1.0, window=0.0, curve=AgeCurve([0]))
    prediction = ps.Prediction(ps.Statistics(streams={"a": rising, "b": idle}), 20)
    recommended = recommend(prediction, {}, str)
    assert recommended.name == OWN_CHOICE
    assert "add --try" in recommended.reason


def test_what_was_tried_decides() -> None:
    falling = StreamStatistics(rate=1.0, window=100.0, curve=AgeCurve([3, 2, 1]))
    idle = StreamStatistics(rate=1.0, window=0.0, curve=AgeCurve([0]))
    prediction = ps.Prediction(ps.Statistics(streams={"a": falling, "b": idle}), 20)
    assert recommend(prediction, {}, str).reason.startswith("Rows match soon after they arrive")
    tried = {"age": 0.4, "expected": 0.5, "random": 0.25, OWN_CHOICE: 0.49}
    assert recommend(prediction, tried, str) == (
        OWN_CHOICE,
        "It found 49.0% of the sample's results: 2.0 times what random finds.",
    )
    assert recommend(prediction, tried | {OWN_CHOICE: 0.4}, str).name == "expected"


def test_times_that_are_numbers_names_once_for_all_and_bytes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = ("--stream", "a=numbers-1.csv", "--stream", "b=numbers-2.pq")
    windows = ("--window", "500", "--window", "b=0")
    options = ("--time", "time", "--on", "id", *windows, "--memory", "40 kB")
    text = run(folder, monkeypatch, *streams, *options, "--output", str(tmp_path), "--json", "-")
    figures = json.loads(text)
    assert figures["unit_of_time"] == "1"
    assert figures["streams"]["a"]["window"] == 500
    assert figures["streams"]["b"]["window"] == 0
    most = max(stream["row_bytes"] for stream in figures["streams"].values())
    assert figures["budget_rows"] == int(40_000 / most)


@pytest.mark.parametrize(
    "how", [("--within", "2.5"), ("--band=-1:0.5",), ("--compare", "<"), ()], ids=str
)
def test_other_predicates_and_three_streams(
    how: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(1)
    for name in "abc":
        days = [BEGIN + timedelta(days=i) for i in range(60)]
        table = pa.table(
            {"day": pa.array(days).cast(pa.date32()), "x": generator.integers(0, 9, 60)}
        )
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    streams = tuple(word for name in "abc" for word in ("--stream", f"{name}={name}.csv"))
    options = ("--time", "day", "--on", "x", "--window", "5 days", *how)
    text = run(tmp_path, monkeypatch, *streams, *options, "--output", "p.png")
    assert "The sample spans" in text
    assert "rows per day" in text
    assert "Choice: " in text


def test_enough_memory_and_a_sample_that_is_too_short(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = ("--window", "auctions=2 hours", "--window", "bids=0 seconds")
    options = (*NAMES, *COLUMNS, *long, "--rows", "9000", "--output", str(tmp_path))
    text = run(folder, monkeypatch, *options)
    assert "With 9,000 rows (2.4 MB) the join is exact on average, whatever the strategy" in text
    assert 'Beware: The sample (67 minutes) is shorter than the window of "auctions"' in text


def test_a_folder_of_parquet_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pa.parquet.read_table(folder / "auctions.parquet")
    parts = tmp_path / "auctions"
    parts.mkdir()
    for number, at in enumerate((0, 2_000)):
        pa.parquet.write_table(whole.slice(at, 2_000), parts / f"part-{number}.parquet")
    streams = ("--stream", f"auctions={parts}", "--stream", f"bids={folder / 'bids.csv'}")
    options = (*streams, *COLUMNS, *WINDOWS, "--json", "-", "--output", str(tmp_path))
    figures = json.loads(run(tmp_path, monkeypatch, *options))
    assert figures["streams"]["auctions"]["rows"] == min(whole.num_rows, 4_000)


def test_no_picture_unless_it_is_asked_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = tuple(word.replace("=", f"={folder}/") if "." in word else word for word in NAMES)
    figures_file = tmp_path / "figures.json"
    options = (*streams, *COLUMNS, *WINDOWS, "--json", str(figures_file))
    text = run(tmp_path, monkeypatch, *options)
    assert list(tmp_path.iterdir()) == [figures_file]
    assert json.loads(figures_file.read_text())["picture"] is None
    assert "Recall against memory" not in text


def test_rows_are_given_in_megabytes_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(folder, monkeypatch, *USUAL, "--rows", "125")
    figures = json.loads(run(folder, monkeypatch, *USUAL, "--rows", "125", "--json", "-"))
    auctions = figures["streams"]["auctions"]
    assert auctions["needed_bytes"] == auctions["needed_rows"] * auctions["row_bytes"]
    # Only auctions wait, so all rows that are held are auctions.
    assert figures["needed_bytes"] == auctions["needed_bytes"]
    assert figures["budget_bytes"] == pytest.approx(125 * auctions["row_bytes"])
    assert f"rows of it on average, {figures['needed_bytes'] / 1e6:.2g} MB." in text
    assert f"recall (%) with 125 rows ({figures['budget_bytes'] / 1e6:.2g} MB)" in text


def test_a_budget_in_bytes_is_given_back_as_it_was_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "rows (0.04 MB)" in run(folder, monkeypatch, *USUAL, "--memory", "40kB")


JSON_LINES = {
    "auctions.jsonl": ("opened_at", "%Y-%m-%dT%H:%M:%S.%fZ"),
    "bids.ndjson.gz": ("at", "%Y-%m-%d %H:%M:%S"),
}


def test_json_lines_are_read_as_the_same_rows_in_parquet(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are text there; one file is compressed, and has whole numbers before a fraction."""
    model = age_model(curve="BELL", duration=4_000.0, arrivals="mean-rate", seed=1)
    for table, (file, (time, form)) in zip((model.s1, model.s2), JSON_LINES.items(), strict=True):
        rows = table.to_pylist()
        lines = [
            json.dumps(
                {
                    "id": row["id"],
                    time: (BEGIN + timedelta(seconds=int(row["time"]))).strftime(form),
                    "value": i if i < len(rows) - 1 else 0.5,
                }
            )
            for i, row in enumerate(rows)
        ]
        opened = gzip.open if file.endswith(".gz") else open
        with opened(tmp_path / file, "wt") as out:
            out.write("\n".join(lines) + "\n")
        sample = pa.table(
            {
                "id": table["id"],
                time: pa.array(
                    [BEGIN + timedelta(seconds=int(row["time"])) for row in rows],
                    pa.timestamp("us", "UTC"),
                ),
                "value": pa.array([*range(len(rows) - 1), 0.5]),
            }
        )
        pa.parquet.write_table(sample, tmp_path / f"{time}.parquet")
    options = (*COLUMNS, *WINDOWS, "--json", "-")
    json_lines = ("--stream", "auctions=auctions.jsonl", "--stream", "bids=bids.ndjson.gz")
    parquet = ("--stream", "auctions=opened_at.parquet", "--stream", "bids=at.parquet")
    found = json.loads(run(tmp_path, monkeypatch, *json_lines, *options))
    expected = json.loads(run(tmp_path, monkeypatch, *parquet, *options))
    assert found.pop("warnings")[0].startswith('The times of "bids" have no time zone')
    assert expected.pop("warnings") == []
    assert found == expected


def test_dates_are_times_for_it_as_for_the_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = pa.array(range(20_000, 20_060), pa.int32()).cast(pa.date32())
    table = pa.table({"day": days, "id": [i % 3 for i in range(60)]})
    for name in ("a.parquet", "b.parquet"):
        pa.parquet.write_table(table, tmp_path / name)
    streams = ("--stream", "a=a.parquet", "--stream", "b=b.parquet")
    options = ("--time", "day", "--on", "id", "--window", "5 days", "--json", "-")
    figures = json.loads(run(tmp_path, monkeypatch, *streams, *options))
    each = ps.Stream(time="day", window="5 days")
    join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("id"))
    assert figures["results"] == join.replay({"a": table, "b": table}).result.num_rows
    assert figures["warnings"] == []


def one_sided(tmp_path: Path, clock: bool, early: int) -> tuple[str, ...]:
    """Write 1,000 auctions and a bid on each, of which some come before their auction."""
    opened = np.arange(1_000) * 10
    placed = opened + np.where(np.arange(1_000) < early, -5, 25)
    kind = pa.timestamp("s") if clock else pa.int64()
    for name, times in (("auctions", opened), ("bids", placed)):
        table = pa.table({"at": pa.array(times).cast(kind), "id": np.arange(1_000)})
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
    names = ("auctions", "bids")
    streams = [word for name in names for word in ("--stream", f"{name}={name}.parquet")]
    window = "100 seconds" if clock else "100"
    return (*streams, "--time", "at", "--on", "id", "--window", window, "--json", "-")


@pytest.mark.parametrize("clock", [True, False])
def test_a_window_that_no_result_needs_is_pointed_out(
    clock: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = json.loads(run(tmp_path, monkeypatch, *one_sided(tmp_path, clock, early=0)))
    (hint,) = figures["hints"]
    zero = '"0 seconds"' if clock else "0"
    assert hint.startswith('In 100% of the results the row of "bids" comes last, so')
    assert f"With --window bids={zero} (in Python window={zero}) the exact join holds 10 r" in hint
    assert "instead of 20 (" in hint
    assert hint.endswith("and finds 100% of the results.")


def test_what_the_window_would_cost_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = json.loads(run(tmp_path, monkeypatch, *one_sided(tmp_path, clock=False, early=8)))
    assert few["streams"]["bids"]["waited"] == pytest.approx(0.008, abs=0.002)
    assert few["hints"][0].startswith("In 99.")
    many = json.loads(run(tmp_path, monkeypatch, *one_sided(tmp_path, clock=False, early=50)))
    assert many["hints"] == []


AUCTIONS = ("--stream", "auctions=auctions.parquet")
TIMES_OF_BOTH = ("--time", "auctions=opened_at", "--time", "bids=time", "--on", "id")
SAME = ("--stream", "a=bids.csv", "--stream", "b=bids.csv", "--time", "at", "--on", "id")


def bids(file: str, *columns: str) -> tuple[str, ...]:
    return (*AUCTIONS, "--stream", f"bids={file}", *(columns or COLUMNS), *WINDOWS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            bids("none.csv"),
            "file of stream \"bids\" must be there; got 'none.csv'; check the path",
        ),
        (
            bids("sample.xml"),
            'file of stream "bids" must be Parquet (.parquet, or a folder of such files), CSV (',
        ),
        (
            bids("list.json"),
            'file of stream "bids" must be JSON lines, one object in each (JSON parse error:',
        ),
        (
            bids("nothing.jsonl"),
            'file of stream "bids" must be JSON lines, one object in each (Empty JSON file)',
        ),
        (
            bids("broken.parquet"),
            'file of stream "bids" must be Parquet (Could not open Parquet input source',
        ),
        (
            bids("nothing.csv"),
            'file of stream "bids" must be CSV with names in its first line (Empty CSV file)',
        ),
        (
            bids("empty.csv"),
            'time column "at" of stream "bids" must be a timestamp, a date or a number; got \'n',
        ),
        (
            bids("words.csv"),
            'time column "at" of stream "bids" must be a timestamp, a date or a number; got \'str',
        ),
        (
            bids("numbers-2.pq"),
            'stream "bids" must have a column "at"; it has "id", "time", "value"',
        ),
        (
            bids("numbers-2.pq", *TIMES_OF_BOTH),
            'time columns of streams "auctions" (timestamp[us, tz=UTC]) and "bids" (double) must',
        ),
        (
            (*NAMES, *COLUMNS, "--window", "500 parsecs"),
            'window of Stream(time="opened_at") must be a duration',
        ),
        (
            (*NAMES, *COLUMNS, "--window", "500", "--window", "bids=0"),
            'window of stream "auctions" must be a clock duration, as its time column "opened_at"',
        ),
        (
            (*SAME, "--window", "0 seconds"),
            "--window must be above zero for a stream; got {'a': '0 seconds'",
        ),
        (
            (*NAMES, *COLUMNS, "--window", "auctions=500 seconds"),
            "--window must be given for stream \"bids\"; got ['auctions=500 seconds']; write",
        ),
        (
            (*USUAL, "--time", "bid=at"),
            '--time must be for one of the streams "auctions", "bids"; got \'bid=at\'; did you',
        ),
        ((*USUAL, "--time", "bids=at"), "--time must be given once for \"bids\"; got 'bids=at'"),
        ((*USUAL, "--on", "key"), "--on must be given once without a name; got 'key'"),
        (
            (*NAMES, *COLUMNS[:-1], "id,key", *WINDOWS),
            'stream "auctions" must have a column "key"; it has',
        ),
        (("--stream", "bids.csv", *COLUMNS, *WINDOWS), "--stream must be NAME=FILE; got"),
        ((*USUAL, "--stream", "bids=b.csv"), "--stream must be one for each stream; got"),
        ((*AUCTIONS, *COLUMNS, *WINDOWS), "--stream must be given for two streams or more; got ["),
        ((*USUAL, "--rows", "5", "--memory", "1MB"), "budget must be --rows or --memory; got (5"),
        ((*USUAL, "--rows", "0"), "rows of Budget must be a whole number from 1"),
        ((*USUAL, "--rows", "1"), "rows of the budget must be at least 2, one for each stream"),
        ((*USUAL, "--memory", "lots"), "memory of Budget must be an amount of memory"),
        ((*USUAL, "--memory", "0%"), "--memory must be a share above 0 and at most 1, or a"),
        ((*USUAL, "--recall", "120%"), "--recall must be a share above 0 and at most 1, or a"),
        ((*USUAL, "--within", "near"), "--within must be a number; got 'near'"),
        ((*USUAL, "--band", "5"), "--band must be LOW:HIGH, two numbers; got '5'"),
        ((*USUAL, "--compare", "=="), "operator of Compare must be one of"),
        ((*USUAL, "--compare", "<", "--within", "5"), "predicate must be one of --within, --band"),
        ((*USUAL, "--output", "p.gif"), "--output must be a folder, or a file that ends in .png"),
        ((*USUAL, "--json", "."), "--json must be a file that can be written (it is a folder)"),
    ],
)
def test_bad_input_is_one_line_in_the_users_words(
    arguments: tuple[str, ...],
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    with pytest.raises(SystemExit) as exit_:
        cli.main(["explain", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}"), captured.err
    assert captured.err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_a_stream_called_low_cannot_be_in_a_band(folder: Path) -> None:
    streams = ("--stream", f"low={folder}/numbers-1.csv", "--stream", f"b={folder}/numbers-2.pq")
    options = ("--time", "time", "--on", "value", "--window", "5", "--band", "0:1")
    result = CliRunner().invoke(cli.app, ("explain", *streams, *options))
    assert "name of a stream in --band must be neither low nor high" in str(result.exception)


def test_help_says_what_the_options_are_for() -> None:
    result = CliRunner().invoke(cli.app, ("explain", "--help"))
    text = " ".join(result.stdout.split())
    for option in ("--stream", "--time", "--window", "--on", "--rows", "--memory", "--recall"):
        assert option in text
    assert "penstock explain --memory 10%" in text
