from __future__ import annotations

import numpy as np
import pytest

from penstock.bench.burst_load import WINDOW, Load, Phases
from penstock.errors import SpecificationError


def test_phases_follow_each_other() -> None:
    phases = Phases(warm_up=3, before=4, burst=5, after=6)
    assert (phases.burst_begins, phases.burst_ends, phases.seconds) == (7, 12, 18)


@pytest.mark.parametrize("seconds", [3, 0, -1])
def test_a_burst_in_which_windows_do_not_fill_up_is_refused(seconds: int) -> None:
    words = f"^seconds must be 4 or more; got {seconds}; make it longer$"
    with pytest.raises(SpecificationError, match=words):
        Phases.of(seconds)


@pytest.mark.parametrize("name", ["warm_up", "before", "burst", "after"])
def test_each_phase_has_a_second_at_least(name: str) -> None:
    lengths = {"warm_up": 1, "before": 1, "burst": 1, "after": 1} | {name: 0}
    with pytest.raises(SpecificationError, match=f"^seconds of {name} must be 1 or more; got 0"):
        Phases(**lengths)


def test_keys_are_as_many_as_the_results_for_a_row_need() -> None:
    load = Load(1_000, Phases.of(10), results_per_row=40.0)
    assert load.rate * WINDOW / load.keys == 40
    assert Load(1, Phases.of(10)).keys == 1


def test_rows_are_counted_by_phase() -> None:
    load = Load(100, Phases(warm_up=1, before=2, burst=3, after=4))
    # By the condition in words: every number in the burst, and every fifth of the others.
    numbers = np.arange(load.numbers)
    in_burst = (numbers >= 3 * 500) & (numbers < 6 * 500)
    assert load.rows == np.count_nonzero(in_burst | (numbers % 5 == 0)) == 700 + 1_500
    assert "value BETWEEN 1500 AND 2999" in load.is_row()
