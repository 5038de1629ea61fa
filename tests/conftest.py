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
    """With the JIT off, let hashes overflow.

    They are meant to wrap around 64 bits. Compiled code does so silently; NumPy's scalars, which
    take its place when the JIT is off, do the same but warn.
    """
    if JIT_IS_OFF:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered"))
