"""`penstock plan`, from files to words and a picture."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from penstock import cli
from penstock.errors import PenstockError, SpecificationError

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"
QUERY = """
SELECT o.id, p.amount, s.name
FROM orders o [RANGE 1 HOUR], payments AS p [ROWS 500], sites s [UNBOUNDED]
WHERE o.id = p.order_id AND o.site = s.id AND p.amount > 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("samples")
    rng = np.random.default_rng(0)
    seconds = np.sort(rng.integers(0, 86_400, 2_000))
    times = pa.array(seconds * 10**6).cast(pa.timestamp("us", "UTC"))
    orders = pa.table({"id": np.arange(2_000), "site": rng.integers(0, 5, 2_000), "at": times})
    pa.parquet.write_table(orders, place / "orders.parquet")
    paid = pa.array((seconds + 600) * 10**6).cast(pa.timestamp("us", "UTC"))
    payments = pa.table(
        {
            "order_id": np.arange(2_000),
            "amount": rng.uniform(0, 1, 2_000),
            "paid": paid,
            "due": paid,
        }
    )
    pa.parquet.write_table(payments, place / "payments.parquet")
    pa.csv.write_csv(pa.table({"id": [0, 1, 2, 3, 4], "name": list("abcde")}), place / "sites.csv")
    (place / "unrelated.txt").write_text("nothing")
    (place / "query.sql").write_text(QUERY)
    return place


def run(folder: Path, *more: str) -> None:
    cli.app(
        args=["plan", str(folder / "query.sql"), "--data", str(folder), *more],
        standalone_mode=False,
    )


def test_it_prints_the_plans_and_the_tree_and_draws_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, figures = tmp_path / "plan.png", tmp_path / "plan.json"
    run(folder, "--time", "payments=paid", "--output", str(picture), "--json", str(figures))
    said = capsys.readouterr().out
    assert said.startswith("plan ")
    assert "feasible: it needs" in said
    assert "└─ s: sites [UNBOUNDED]  table of 5 rows" in said.replace("├", "└")
    assert picture.read_bytes().startswith(PNG)
    found = json.loads(figures.read_text())
    # Not the one in which payments, with a window by rows, are joined with the table first.
    assert len(found["plans"]) == 2
    assert found["plans"][0]["feasible"]
    assert found["rates"] == pytest.approx(
        {"orders": 2_000 / 86_400, "payments": 2_000 / 86_400}, rel=0.01
    )
    # a payment finds its order, of about 83 in the hour before it
    forward, backward = found["selectivities"]["o.id = p.order_id"]
    assert forward == 0
    assert backward == pytest.approx(1 / 83, rel=0.1)


def test_too_little_of_a_processor(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = ("--costs", "arrival=20,insert=10,result=5", "--cpu", "25%")
    run(folder, "--time", "payments=paid", "--output", str(tmp_path), *costs)
    said = capsys.readouterr().out
    assert "not feasible without dropping rows" in said
    assert "drop box keeps" in said
    assert (tmp_path / "penstock-plan.png").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), r'time column of "payments" must be the only column of timestamps'),
        (("--time", "paid"), r"--time must be NAME=COLUMN"),
        (("--time", "shops=at"), r"--time must be for streams of the query; got 'shops'"),
        (("--cpu", "no"), r"--cpu must be a share"),
        (("--time", "payments=paid", "--selectivity", "0.3"), "--selectivity must be CONDITION=SH"),
        (("--time", "payments=paid", "--selectivity", "a.x=b"), "--selectivity must be CONDITION="),
        (("--time", "payments=paid", "--selectivity", "p.amount>0.5=7"), "from 0 to 1, or a tuple"),
        (("--time", "payments=paid", "--selectivity", "p.x > 1=0.7"), "of conditions of the query"),
    ],
)
def test_refusals(folder: Path, more: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=message):
        run(folder, "--output", str(tmp_path), *more)


def test_a_folder_without_the_streams(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(PenstockError, match="a folder with the query's streams"):
        cli.app(
            args=["plan", str(folder / "query.sql"), "--data", str(tmp_path)],
            standalone_mode=False,
        )


def test_it_runs_the_chosen_plan_over_the_sample(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = QUERY.replace("[ROWS 500]", "[NOW]")
    (tmp_path / "query.sql").write_text(text)
    results = tmp_path / "results.parquet"
    arguments = ["plan", str(tmp_path / "query.sql"), "--data", str(folder), "--time"]
    arguments += ["payments=paid", "--output", str(tmp_path), "--run", str(results)]
    cli.app(args=arguments, standalone_mode=False)
    rows = pa.parquet.read_table(results)
    assert rows.column_names == ["id", "amount", "name"]
    amounts = pa.parquet.read_table(folder / "payments.parquet")["amount"].to_numpy()
    assert rows.num_rows == (amounts > 0.5).sum()  # all are paid ten minutes after the order
    printed = capsys.readouterr().out
    assert "cost, measured" in printed
    assert f"{rows.num_rows:,} results of the sample" in printed
    with pytest.raises(SpecificationError, match=r"--run must be a file that ends in .parq"):
        cli.app(args=[*arguments[:-1], "results.txt"], standalone_mode=False)


def test_files_with_the_names_of_columns_are_left_alone(folder: Path, tmp_path: Path) -> None:
    for name in ("orders.parquet", "payments.parquet", "sites.csv"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "amount.parquet").write_text("nothing that can be read")
    (tmp_path / "query.sql").write_text(QUERY.replace(" [UNBOUNDED]", ""))
    run(tmp_path, "--time", "payments=paid", "--output", str(tmp_path))
    assert (tmp_path / "penstock-plan.png").exists()


def test_shares_that_are_known_are_given(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "plan.json"
    given = ["--selectivity", "p.amount>0.5=0.25", "--selectivity", "o.id = p.order_id=0,0.001"]
    to = ["--output", str(tmp_path), "--json", str(figures)]
    run(folder, "--time", "payments=paid", *given, *to)
    found = json.loads(figures.read_text())["selectivities"]
    assert found["p.amount > 0.5"] == 0.25
    assert found["o.id = p.order_id"] == [0, 0.001]
    assert "feasible: it needs" in capsys.readouterr().out


def test_a_sample_without_matches_has_a_plan_all_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = ("--costs", "arrival=20,insert=10,result=5", "--cpu", "1%")
    given = ("--time", "payments=paid", "--selectivity", "p.amount > 0.5=0")
    run(folder, *given, "--output", str(tmp_path), *costs)
    said = " ".join(capsys.readouterr().out.split())
    assert "it has no results, so that no stream is preferred" in said
