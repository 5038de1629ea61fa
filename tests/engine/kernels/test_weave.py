from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.kernels.layout import NO_KEY, TICK, arrival_type
from penstock.engine.kernels.weave import RowColumns, weave, write_arrivals
from tests.engine.support import examples
from tests.oracles import naive_structures as naive

pytestmark = pytest.mark.nojit


@given(runs=st.lists(st.lists(st.integers(0, 9), max_size=8).map(sorted), min_size=1, max_size=4))
@examples(100)
def test_runs_are_merged_in_order_of_time_then_of_stream(runs: list[list[float]]) -> None:
    starts = np.cumsum([0, *map(len, runs)])
    times = np.array([time for run in runs for time in run], np.int64)
    out = np.empty(times.size, np.int64)
    streams = np.empty(times.size, np.int16)
    weave(times, starts, starts[:-1].copy(), out, streams)
    numbers = out - starts[streams]
    assert list(zip(streams.tolist(), numbers.tolist(), strict=True)) == naive.weave(runs)


def test_records_of_rows_and_ticks_are_written_in_that_order() -> None:
    arrivals = np.zeros(5, arrival_type(np.dtype("i8"), np.dtype("f8")))
    times = np.array([4, 1, 5, 3, 6])  # a tick of stream 1, rows of stream 0, rows of stream 1
    order = np.array([1, 3, 0, 2, 4])
    runs = np.array([2, 3, 1, 2, 3], np.int16)
    rows = RowColumns(
        np.array([11, 12, 13, 14]),
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.array([7, 8, 0, 1]),
        np.array([20, 21, 22, 23], np.int32),
        np.array([True, False, True, True]),
    )
    write_arrivals(arrivals, 2, order, runs, times, rows)
    fields = ["time", "stream", "blank", "key_word", "value", "ref", "place"]
    assert arrivals[fields].tolist() == [
        (1, 0, 0, 11, 0.1, 7, 20),
        (3, 1, 0, 13, 0.3, 0, 22),
        (4, 1, TICK, 0, 0.0, 0, 0),
        (5, 0, NO_KEY, 12, 0.2, 8, 21),
        (6, 1, 0, 14, 0.4, 1, 23),
    ]
