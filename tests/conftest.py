"""What holds for all tests: which of them every run has, Hypothesis, and a run with the JIT off."""

from __future__ import annotations

import os
from fnmatch import fnmatch

import pytest
from hypothesis import settings

JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}

# The same examples on every machine and in every run. No deadline: the first example may have to
# compile kernels.
settings.register_profile("penstock", deadline=None, derandomize=True)
settings.load_profile("penstock")

# A query of Spark takes seconds, so `make test` has a handful of them: the operator against Spark's
# own join and against a replay, with a budget, over restarts, with damage. `make slow` has all.
SPARK_IN_EVERY_RUN = (
    "tests/spark/test_against_spark.py::test_same_rows_as_sparks_join[0]",
    "tests/spark/test_batch.py::test_every_predicate*",
    "tests/spark/test_damaged_checkpoint.py::test_a_missing_file",
    "tests/spark/test_equals_replay.py::test_within_a_budget[[]equal*",
    "tests/spark/test_estimate.py::test_equals_the_formulas_by_group_and_window",
    "tests/spark/test_frames.py::*",
    "tests/spark/test_own_strategy.py::*",
    "tests/spark/test_restart.py::test_another_number_of_shards_is_refused*",
    "tests/spark/test_values.py::test_payload",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out most tests with Spark and begin with the rest; with the JIT off, let hashes wrap.

    Tests with Spark come first, so that one of two workers has them and the other all the rest, and
    no worker waits at the end for one that takes a minute.

    Hashes are meant to wrap around 64 bits. Compiled code does so silently; NumPy's scalars, which
    take its place when the JIT is off, do the same but warn.
    """
    for item in items:
        if item.get_closest_marker("spark") is not None and not any(
            fnmatch(item.nodeid, pattern) for pattern in SPARK_IN_EVERY_RUN
        ):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    items.sort(key=lambda item: "test_crash" not in item.nodeid)
    if JIT_IS_OFF:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered"))
