"""How memory is divided by weight and age, and the formulas of which it is the general case."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.frequency_output import frequency_output
from penstock.statistics.score_output import score_output

ROWS = np.linspace(0, 60, 25)


@pytest.mark.parametrize("curve", [[1, 1, 2, 1], [4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 2, 2]])
def test_rows_of_equal_weight_stay_as_by_age(curve: list[float]) -> None:
    expected = AgeCurve(curve).output(ROWS, rate=10.0, window=4.0)
    found = score_output(ROWS, matches=curve, weights=[1.0], shares=[1.0], rate=10.0)
    np.testing.assert_allclose(found, expected)


def test_rows_of_all_ages_alike_stay_as_by_frequency() -> None:
    own, partner = np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.6, 0.3])
    expected = frequency_output(
        ROWS, own=own, partner=partner, rate=10.0, partner_rate=2.0, window=4.0
    )
    found = score_output(ROWS, matches=[2.0] * 4, weights=partner, shares=own, rate=10.0)
    np.testing.assert_allclose(found, expected)


def test_a_heavy_row_past_its_best_is_kept_before_a_light_one_at_it() -> None:
    made = score_output(
        [10, 20, 30, 40], matches=[4.0, 2.0], weights=[3.0, 1.0], shares=[0.5, 0.5], rate=20.0
    )
    np.testing.assert_allclose(np.diff(made, prepend=0.0), [120.0, 60.0, 40.0, 20.0])
