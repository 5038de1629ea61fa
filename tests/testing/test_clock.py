from __future__ import annotations

import pytest

from penstock.errors import SpecificationError
from penstock.testing import FakeClock


def test_it_moves_only_when_told() -> None:
    clock = FakeClock(start=10.0)
    assert [clock(), clock()] == [10.0, 10.0]
    clock.advance(0.25)
    clock.advance(0)
    assert clock() == 10.25
    assert repr(clock) == "FakeClock(10.25)"


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_it_never_goes_back(seconds: float) -> None:
    clock = FakeClock()
    with pytest.raises(SpecificationError, match="seconds must be finite and not negative; got"):
        clock.advance(seconds)
    assert clock() == 0.0
