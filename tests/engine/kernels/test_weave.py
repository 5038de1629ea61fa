from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.kernels.weave import weave
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
