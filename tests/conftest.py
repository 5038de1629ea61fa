"""What holds for all tests: settings of Hypothesis, and of a run with the JIT off."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}

# The same examples on every machine and in every run. No deadline: the first example may have to
# compile kernels.
settings.register_profile("penstock", deadline=None, derandomize=True)
settings.load_profile("penstock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; with the JIT off, let hashes overflow.

    Tests with Spark come first, so that one of two workers has them and the other all the rest, and
    nobody waits at the end for one that takes a minute.

    Hashes are meant to wrap around 64 bits. Compiled code does so silently; NumPy's scalars, which
    take its place when the JIT is off, do the same but warn.
    """
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    items.sort(key=lambda item: "test_crash" not in item.nodeid)
    if JIT_IS_OFF:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered"))
