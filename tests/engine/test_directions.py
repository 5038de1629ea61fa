"""What is counted of each direction is what a look at all pairs of rows says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine import directions
from penstock.engine.operator import Operator
from penstock.engine.plan import bind

ROWS, WINDOW, EPSILON, PARTS = 120, 30.0, 4.0, 20


@pytest.mark.parametrize("share", [100.0, 0.3])
def test_lags_and_selectivities_are_those_of_all_pairs(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """With enough work exactly, and with little in the mean of what results stand for."""
    monkeypatch.setattr(directions, "_FADES", 0.0)
    monkeypatch.setattr(directions, "_FADES_IN_GROWTH", 0.0)
    draw = np.random.default_rng(5)
    rows = ROWS if share > 1 else 20 * ROWS
    times = {name: np.sort(draw.uniform(0, 2.0 * rows, rows)) for name in "ab"}
    values = {"a": times["a"] % 97, "b": (times["b"] + 11.0) % 97}  # of b comes 11 before a
    tables = {
        name: pa.table({"t": times[name], "v": pa.FixedSizeListArray.from_arrays(values[name], 1)})
        for name in "ab"
    }
    lags, faced, found = np.zeros((2, 2, PARTS)), np.zeros((2, 2)), np.zeros((2, 2))
    for s, (own, other) in enumerate((("a", "b"), ("b", "a"))):
        ages = times[own][:, None] - times[other][None, :]
        fits = np.abs(values[own][:, None] - values[other][None, :]) <= EPSILON
        there = (ages >= 0) & (ages <= WINDOW)
        faced[s, 1 - s], found[s, 1 - s] = there.sum(), (there & fits).sum()
        parts = np.minimum((ages[there & fits] / WINDOW * PARTS).astype(int), PARTS - 1)
        lags[s, 1 - s] = np.bincount(parts, minlength=PARTS)
    work = faced.sum() / (2.0 * rows)
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=WINDOW) for name in "ab"},
        on=ps.Similar(EPSILON, a="v", b="v"),
        goal=ps.MaxSubset(strategy="grub"),
        budget=ps.Budget(cpu=1.0, costs=ps.Costs(compare=1 / (share * work)), burst=WINDOW),
    )
    operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
    operator.process(tables)
    assert operator.work is not None
    assert operator.metrics().work == pytest.approx(operator.metrics().compared / (share * work))
    known = operator.work._directions
    assert known is not None
    counted = known._lags + operator.store.memory.lags[0]
    pairs = operator.store.memory.pairs
    if share > 1:
        assert counted.tolist() == lags.tolist()
        assert pairs["found"].tolist() == found.tolist()
        # Rows are held a little longer than they can match.
        assert np.all(pairs["faced"] >= faced)
        assert pairs["faced"].sum() < 1.1 * faced.sum()
    else:
        assert operator.metrics().lost > 0
        # Windows of 15 rows: what rows would have found that the account keeps from probing is not
        # in it.
        assert counted.sum() == pytest.approx(lags.sum(), rel=0.2)
        assert counted[0, 1].argmax() == lags[0, 1].argmax()
        assert (pairs["found"] / np.maximum(pairs["faced"], 1))[0, 1] == pytest.approx(
            found[0, 1] / faced[0, 1], rel=0.3
        )
