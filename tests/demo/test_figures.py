from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.demo import Run
from penstock.statistics.recall import Estimate

RUN = Run(
    strategy="fifo",
    results=12_345,
    recall=0.0834,
    rows_most=511,
    state_bytes=21_600,
    evicted=1,
    dropped=2,
    seconds=30.0,
    batch_rows=(100_000, 90_000, 60_000),
    batch_seconds=(20.0, 1.0, 2.0),
    recall_in_bins=np.array([1.0, np.nan, 0.5]),
    estimate=Estimate(0.081, 0.0722, 0.0954),
)


def test_cells_of_the_table() -> None:
    assert RUN.cells() == (
        "fifo",
        "12,345",
        "8.3",
        "8.1 (7.2 to 9.5)",
        "511",
        "22",
        "50",
    )


def test_what_cannot_be_estimated_or_needs_no_estimate() -> None:
    assert replace(RUN, estimate=None).cells()[3] == "?"
    assert replace(RUN, estimate=Estimate(1.0, 1.0, 1.0)).cells()[3] == "100"


@pytest.mark.parametrize(("rows", "shown"), [(30_000, "10"), (25_500, "8.5"), (120, "0.0")])
def test_a_low_speed_has_a_decimal(rows: int, shown: str) -> None:
    slow = replace(RUN, batch_rows=(100_000, rows, 0))
    assert slow.cells()[-1] == shown


def test_json_has_no_nan_and_all_micro_batches() -> None:
    found = RUN.as_json()
    assert found["recall_in_bins"] == [1.0, None, 0.5]
    assert found["batch_seconds"] == (20.0, 1.0, 2.0)
    assert found["thousand_rows_per_second"] == 50.0
    assert found["state_bytes"] == 21_600
