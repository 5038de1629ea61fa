"""A decision that was turned into arrays and back is the same decision."""

from __future__ import annotations

import io
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from penstock.engine.decision_state import from_arrays, to_arrays
from penstock.engine.retention.table import _RETENTIONS
from penstock.strategies import (
    GRADES,
    Admit,
    Decision,
    Emit,
    Insert,
    LowestRating,
    LowestScore,
    Oldest,
    Order,
    Probe,
    ResidencePriority,
    Retain,
    SampleThreshold,
)

ORDERS: dict[str, Order] = {
    "oldest": Oldest(),
    "rating": LowestRating(),
    "rating, held first": LowestRating(favours_held=True),
    "score": LowestScore((np.array([1.0, 0.5, 0.25]), np.array([0.1, 0.3]))),
    "score by grades": LowestScore((np.ones(1), np.zeros(5)), 3, rates_again=True),
    "score of equal lives": LowestScore((np.ones(4), np.arange(4.0)), 1),
    "sample": SampleThreshold(),
    "sample by match": SampleThreshold(0.25, by_match=True),
    "sample by size": SampleThreshold(0.125, by_size=True),
    "residence priority": ResidencePriority(0.1, 0.5, 2.0, 0.7, "k-successive", 5, 0.01),
    "initial priority": ResidencePriority(
        0.1, 0.5, 2.0, 0.7, "adaptive-below", 5, 0.01, has_initial=True
    ),
}
CHANCES: dict[str, float | np.ndarray] = {
    "certain": 1.0,
    "never": 0.0,
    "for all": 0.3,
    "by stream": np.array([0.25, 1.0]),
    "by grade": np.linspace(0, 1, 2 * GRADES).reshape(2, GRADES),
}


def saved_and_read(decision: Decision) -> Decision:
    """Return a decision that went through arrays and a file, as a saved state does."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **to_arrays(decision))
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return from_arrays({name: arrays[name] for name in arrays.files})


def assert_same(one: Any, other: Any) -> None:  # noqa: ANN401  # decisions and all that they hold
    """Check that two values are of the same type and equal, also arrays inside of them."""
    assert type(one) is type(other)
    if is_dataclass(one):
        for each in fields(one):
            assert_same(getattr(one, each.name), getattr(other, each.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tolist() == other.tolist()
    else:
        assert one == other


def test_there_is_an_example_of_each_kind_of_order() -> None:
    assert {type(order) for order in ORDERS.values()} == set(_RETENTIONS)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("shares", [None, (0.25, 0.75)])
def test_every_order_is_read_back(order: Order, shares: tuple[float, ...] | None) -> None:
    decision = Decision(retain=Retain(order, shares))
    assert_same(saved_and_read(decision), decision)


@pytest.mark.parametrize("chances", CHANCES.values(), ids=CHANCES)
def test_chances_are_read_back_at_every_step(chances: float | np.ndarray) -> None:
    for decision in (
        Decision(admit=Admit(chances)),
        Decision(probe=Probe(chances)),
        Decision(insert=Insert(chances)),
        Decision(Admit(chances), Probe(chances), insert=Insert(chances)),
    ):
        found = saved_and_read(decision)
        assert_same(found, decision)
        assert found.sheds_arrivals == decision.sheds_arrivals


def test_sub_windows_and_what_is_emitted_are_read_back() -> None:
    probed = np.random.default_rng(0).integers(0, 2, (2, 2, 4)).astype(bool)
    decision = Decision(probe=Probe(0.5, probed), emit=Emit(only_drawn=True))
    assert_same(saved_and_read(decision), decision)
    assert_same(saved_and_read(Decision()), Decision())
