"""What was found in rows outweighs what was predicted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from penstock.engine.measured_fits import MeasuredFits, class_of, noted
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.testing import lagged_streams

if TYPE_CHECKING:
    import pyarrow as pa

WINDOW = 10.0
LAG = 4.0


def tables(seed: int, seconds: float) -> dict[str, pa.Table]:
    """Return streams whose values rise; a row of `a` comes some time after its partners in `b`."""
    made = lagged_streams(
        rate=30.0, duration=seconds, lags=(0.0, LAG), deviations=(2.0, 2.0), seed=seed
    )
    return dict(zip("ab", made.tables.values(), strict=True))


def join(strategy: str | None, budget: ps.Budget | None = None) -> ps.Join:
    return ps.Join(
        streams={name: ps.Stream(time="time", window=WINDOW) for name in "ab"},
        on=ps.Within(2, a="value", b="value"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=budget,
    )


def budget_for(rows: dict[str, pa.Table], seconds: float, share: float) -> ps.Budget:
    exact = join(None).replay(rows).metrics
    costs = ps.Costs(insert=1.0, result=0.05)
    work = costs.of(arrivals=0, inserted=exact.arrived, compared=0, results=exact.emitted)
    return ps.Budget(cpu=share, costs=costs.times(seconds / work), burst=1.0)


def test_classes_are_octaves_and_a_row_of_which_something_is_said_is_noted() -> None:
    assert class_of(np.array([1.0, 0.51, 0.5, 0.25, 0.2, 1e-30])).tolist() == [0, 0, 1, 2, 2, 31]
    assert np.all(noted(np.array([0.0, np.nan, 0.3])) > 0)


def test_few_rows_change_little_and_many_decide() -> None:
    operator = Operator(
        bind(join(None, ps.Budget(cpu=0.5, costs=ps.Costs(insert=1.0))), _schemas())
    )
    rates = np.zeros((2, 3))
    rates[:] = 10.0
    predicted = np.array([[0.3, 0.01, 0.0]] * 2)
    for rows, low, high in ((1.0, 0.28, 0.3), (1000.0, 0.0, 0.01)):
        fits = MeasuredFits(operator.store, np.array([WINDOW, WINDOW]))
        seen = np.zeros((2, 32, 4))
        # Of the first class nothing was found, of the last as much as was predicted of the first.
        seen[:, 1] = rows, rows * 100, 0.0, rows
        seen[:, 31] = rows, rows * 100, rows * 30.0, rows
        fits.restore({"counted_to": [0.0, 0.0], "seen": seen.tolist()})
        measured = fits.fits(rates, predicted)
        assert np.all((measured[:, 0] >= low) & (measured[:, 0] <= high))
        assert measured[0, 1] == predicted[0, 1]
        assert fits.is_tried(predicted).tolist() == [[rows > 24, False, rows > 24]] * 2
        assert measured[0, 2] == pytest.approx(0.3 * rows / (rows + 24))


def _schemas() -> dict[str, pa.Schema]:
    return {name: table.schema for name, table in tables(0, 1.0).items()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_values_that_do_not_come_again_are_shed_as_by_lot(seed: int) -> None:
    rows = tables(seed, 100.0)
    budget = budget_for(rows, 100.0, 0.3)
    found = {
        name: np.count_nonzero(
            join(name, budget).replay(rows).result["time"].to_numpy() > 4 * WINDOW
        )
        for name in (None, "probe-no-insert")
    }
    # By frequencies alone it was a fiftieth.
    assert found[None] >= 0.97 * found["probe-no-insert"]
