"""Figures 10 and 11 of `srivastava04`: the formulas, and what is measured beside them."""

from __future__ import annotations

import pytest

from penstock.statistics.allotment import allot_least
from penstock.studies.shared_budget import Kind, curve_of
from penstock.studies.srivastava04_fig10 import STUDY as FIG_10
from penstock.studies.srivastava04_fig11 import STUDY as FIG_11

# Expected least recall with ALLOC and with proportional memory, from the formulas of the paper.
BY_SKEW = {
    0.0: (0.20, 0.20),
    0.5: (0.40, 0.38),
    1.0: (0.55, 0.54),
    1.5: (0.56, 0.39),
    2.0: (0.53, 0.30),
    2.5: (0.51, 0.26),
}
BY_EXPONENT = {
    0.0: (0.50, 0.50),
    1.0: (0.62, 0.50),
    2.0: (0.69, 0.50),
    3.0: (0.73, 0.50),
    4.0: (0.76, 0.50),
    5.0: (0.78, 0.50),
}


@pytest.mark.parametrize(
    ("names", "memory", "expected"),
    [(("DC", "IC"), 0.2, BY_SKEW), (("INC", "DEC"), 0.5, BY_EXPONENT)],
)
def test_the_formulas_give_the_least_recalls_of_the_figures(
    names: tuple[str, ...], memory: float, expected: dict[float, tuple[float, float]]
) -> None:
    for parameter, least in expected.items():
        kinds = [Kind(name, parameter, windows=1.0) for name in names]
        curves = [curve_of(kind) for kind in kinds]
        total = round(memory * sum(kind.full_rows for kind in kinds))
        found = min(allot_least(total, curves).quality)
        in_proportion = min(
            curve.at(memory * kind.full_rows) for curve, kind in zip(curves, kinds, strict=True)
        )
        assert (found, in_proportion) == pytest.approx(least, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("study", [FIG_10, FIG_11], ids=lambda study: study.id)
def test_what_is_measured_is_near_the_formula(study: object) -> None:
    (row,) = [study.run(point) for point in study.quick_grid]  # type: ignore[attr-defined]
    assert row.measured == pytest.approx(row.formula, abs=0.02)
    assert row.measured_proportional == pytest.approx(row.proportional, abs=0.02)
