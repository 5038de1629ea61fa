"""How a budget will be divided, from samples: as a table, a picture, and on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli import app
from penstock.errors import SpecificationError
from tests.workload.streams import WINDOW, by_age

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

FILE = """
import penstock as ps

def join(name):
    streams = {
        f"{name}1": ps.Stream(time="time", window=100.0),
        f"{name}2": ps.Stream(time="time", window=0.0),
    }
    return ps.Join(streams=streams, on=ps.Equal("id"), goal=ps.MaxSubset(strategy="age"))

work = ps.Workload({name: join(name) for name in ("inc", "dec")}, budget=ps.Budget(rows=640))
"""


def test_the_allotment_follows_the_formulas(tmp_path: Path) -> None:
    joins: dict[str, ps.Join] = {}
    tables: dict[str, pa.Table] = {}
    for name, curve, seed in (("inc", "INC", 1), ("dec", "DEC", 2)):
        joins[name], own = by_age(name, curve, seed, duration=6 * WINDOW)
        tables |= own
    work = ps.Workload(joins, budget=ps.Budget(rows=640))
    prediction = work.predict(work.measure(tables))
    # Fig. 11 of `srivastava04`, p = 2: 69 % with half of the memory.
    assert prediction.recall == pytest.approx({"inc": 0.69, "dec": 0.69}, abs=0.02)
    assert sum(prediction.allotment.values()) == 640
    assert "recall" in str(prediction)
    total = ps.Workload(joins, budget=ps.Budget(rows=640), objective="total")
    assert sum(total.predict(work.measure(tables)).recall.values(), 0.0) >= 2 * 0.68
    in_bytes = ps.Workload(joins, budget=ps.Budget(memory="200 kB"), weights={"dec": 1.5})
    more = in_bytes.predict(in_bytes.measure(tables))
    assert more.unit == "bytes"
    assert more.recall["dec"] == pytest.approx(1.5 * more.recall["inc"], abs=0.02)
    with pytest.raises(SpecificationError, match="given for each join"):
        work.predict({})


def test_the_command_prints_and_draws_it(tmp_path: Path) -> None:
    given = []
    for name, curve, seed in (("inc", "INC", 1), ("dec", "DEC", 2)):
        for stream, table in by_age(name, curve, seed, duration=6 * WINDOW)[1].items():
            pq.write_table(table, tmp_path / f"{stream}.parquet")
            given += ["--stream", f"{stream}={tmp_path / stream}.parquet"]
    (tmp_path / "work.py").write_text(FILE)
    place = tmp_path / "work.png"
    said = [str(tmp_path / "work.py"), *given, "--output", str(place)]
    said += ["--json", str(tmp_path / "work.json")]
    result = CliRunner().invoke(app, ["explain-workload", *said])
    assert result.exit_code == 0, result.output
    assert "allotted rows" in result.output
    assert place.stat().st_size > 10_000
    figures = json.loads((tmp_path / "work.json").read_text())
    assert figures["recall"]["inc"] == pytest.approx(0.69, abs=0.02)
