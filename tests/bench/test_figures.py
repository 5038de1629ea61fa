from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.bench import Figures, Measured
from penstock.bench.figures import Target

EXACT = Measured(
    name="Penstock, exact",
    rows_per_batch=2_000,
    seconds=(1.0, 4.0, 1.0, 2.0),
    results_per_left_row=5.004,
    state_bytes=4_000_000,
)


def at(rows_per_second: float, **changes: object) -> Measured:
    """A query of that speed, in two micro-batches."""
    seconds = (EXACT.rows_per_batch / rows_per_second,) * 2
    return replace(EXACT, seconds=seconds, **changes)  # type: ignore[arg-type]


QUICK = {
    "floor": at(2_000, name="floor", results_per_left_row=0.0, state_bytes=0),
    "exact": at(1_600),
    "long": at(800),
    "fifo": at(2_400, state_bytes=600_000),
}
SPARKS = {"spark": at(640), "rocksdb": at(400)}


def test_speed_is_of_all_micro_batches() -> None:
    assert EXACT.rows_per_second == 4 * 2_000 / 8


def test_cells_of_the_table() -> None:
    found = Figures({"floor": QUICK["floor"], "exact": EXACT})
    floor, exact = found.rows()
    assert exact == ("Penstock, exact", "1", "0.50", "5.00", "4.0", "1.50 (1.00 to 4.00)")
    # What joins nothing has neither results nor state.
    assert floor == ("floor", "2", "1.00", "", "", "1.00 (1.00 to 1.00)")


def test_every_row_has_a_cell_for_every_heading() -> None:
    found = Figures(QUICK | SPARKS)
    assert len(found.rows()) == 6
    assert {len(row) for row in found.rows()} == {len(found.headings)}


def test_ratios_that_are_to_be_reached() -> None:
    found = {target.words: target for target in Figures(QUICK | SPARKS).targets()}
    assert {words: target.ratio for words, target in found.items()} == pytest.approx(
        {
            "exact / Spark, default": 2.5,
            "exact / Spark, RocksDB": 4.0,
            "exact / floor": 0.8,
            "exact, window ten times longer / exact": 0.5,
            "fifo, a tenth of the memory / exact": 1.5,
            "state bytes, fifo / exact": 0.15,
        }
    )
    missed = [words for words, target in found.items() if not target.reached]
    assert missed == ["exact / Spark, RocksDB", "exact, window ten times longer / exact"]


def test_without_sparks_own_joins_there_are_no_ratios_of_them() -> None:
    words = [target.words for target in Figures(QUICK).targets()]
    assert len(words) == 4
    assert not any("Spark" in each for each in words)


@pytest.mark.parametrize(
    ("target", "cells"),
    [
        (Target("a / b", 0.8, least=0.8), ("a / b", "0.80", "at least 0.8", "reached")),
        (Target("a / b", 0.794, least=0.8), ("a / b", "0.79", "at least 0.8", "missed")),
        (Target("a / b", 0.15, most=0.15), ("a / b", "0.15", "at most 0.15", "reached")),
        (
            Target("a / b", 1.1, least=0.95, most=1.05),
            ("a / b", "1.10", "0.95 to 1.05", "missed"),
        ),
        (Target("a / b", 0.2, most=0.15), ("a / b", "0.20", "at most 0.15", "missed")),
    ],
)
def test_a_target_says_whether_it_is_reached(target: Target, cells: tuple[str, ...]) -> None:
    assert target.cells() == cells


def test_json_has_every_query_and_target() -> None:
    found = json.loads(json.dumps(Figures(QUICK).as_json()))
    assert list(found) == ["queries", "targets"]
    assert list(found["queries"]) == ["floor", "exact", "long", "fifo"]
    assert found["queries"]["fifo"] == {
        "name": "Penstock, exact",
        "rows_per_batch": 2_000,
        "seconds": list(QUICK["fifo"].seconds),
        "results_per_left_row": 5.004,
        "state_bytes": 600_000,
        "rows_per_second": pytest.approx(2_400),
    }
    assert found["targets"][-1] == {
        "words": "state bytes, fifo / exact",
        "ratio": pytest.approx(0.15),
        "least": None,
        "most": 0.15,
        "reached": True,
    }
