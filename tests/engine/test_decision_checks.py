"""Decisions of a user's own strategy that do not fit the join are refused, not acted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.strategies import (
    Age,
    Decision,
    Emit,
    LowestRating,
    Needs,
    Oldest,
    Prob,
    Retain,
    SampleThreshold,
    Strategy,
)

if TYPE_CHECKING:
    from penstock.strategies import Rows, View
    from penstock.strategies.base import Floats

TABLES = {
    name: pa.table({"t": np.arange(60), "k": np.arange(60) % 3}) for name in ("left", "right")
}
DRAWN = Emit(only_drawn=True)


@dataclass(frozen=True)
class Fixed(Strategy):
    """Decide the same, whatever the view."""

    name: ClassVar[str] = "fixed"
    decision: Decision

    def decide(self, view: View) -> Decision:
        return view.previous or self.decision

    def rate(self, view: View, rows: Rows) -> Floats:
        del view
        return np.zeros(rows.ages.size)


def metrics_of(goal: ps.MaxSubset | ps.Sample) -> ps.Metrics:
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=30) for name in TABLES},
        on=ps.Equal("k"),
        goal=goal,
        budget=ps.Budget(rows=20),
    )
    return join.replay(TABLES).metrics


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(retain=Retain(LowestRating())), "Emit.only_drawn.* must be True"),
        (Decision(emit=DRAWN, retain=Retain(LowestRating())), "order .* must be SampleThreshold;"),
    ],
)
def test_a_sample_must_draw_its_matches(decision: Decision, said: str) -> None:
    with pytest.raises(ps.SpecificationError, match=f'"fixed".*{said}|{said}'):
        metrics_of(ps.Sample(strategy=Fixed(decision)))


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(emit=DRAWN), "Emit.only_drawn.* must be False, as the goal is MaxSubset"),
        (Decision(emit=DRAWN, retain=Retain(SampleThreshold())), "must be False"),
        (Decision(retain=Retain(SampleThreshold())), "must be any other, as matches are not"),
    ],
)
def test_other_goals_have_every_match(decision: Decision, said: str) -> None:
    with pytest.raises(ps.SpecificationError, match=said):
        metrics_of(ps.MaxSubset(strategy=Fixed(decision)))


def test_a_sample_of_ones_own_has_weights() -> None:
    drawn = Decision(emit=DRAWN, retain=Retain(SampleThreshold(fraction=1.0)))
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=30) for name in TABLES},
        on=ps.Equal("k"),
        goal=ps.Sample(strategy=Fixed(drawn)),
        budget=ps.Budget(rows=20),
    )
    weights = join.replay(TABLES).result["weight"].to_numpy()
    assert weights.size
    assert np.all(weights >= 1)


@dataclass(frozen=True)
class Trying(Strategy):
    """Have models tried, although rows leave by age whatever comes of it."""

    name: ClassVar[str] = "trying"
    needs: ClassVar[Needs] = Needs(rates=True, frequencies=True, tried=(Age(), Prob()))

    def decide(self, view: View) -> Decision:
        return view.previous or Decision(retain=Retain(Oldest()))


class TryingOthers(Trying):
    """Have something tried that scores no rows."""

    needs: ClassVar[Needs] = Needs(rates=True, frequencies=True, tried=(Trying(),))  # type: ignore[arg-type]  # it is refused


def test_models_are_tried_for_any_strategy() -> None:
    assert set(metrics_of(ps.MaxSubset(strategy=Trying())).tried) == {"age", "prob"}


def test_what_is_tried_must_score_rows() -> None:
    said = 'Needs.tried of "trying" must be models that score rows; got Trying'
    with pytest.raises(ps.SpecificationError, match=said):
        metrics_of(ps.MaxSubset(strategy=TryingOthers()))
