from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.studies.importance_streams import ImportanceStreams


def test_rates_and_domains_are_those_of_table_5() -> None:
    made = ImportanceStreams().make()
    for stream in made[:2]:
        per_second = np.bincount(stream.times.astype(int), minlength=100)
        assert per_second.size == 100
        assert ((per_second >= 100) & (per_second <= 200)).all()
        assert per_second.std() > 20
        assert set(np.unique(stream.values)) == set(range(1, 101))
        assert 1 <= stream.importance.min() < 5
        assert 95 < stream.importance.max() <= 100


def test_slow_streams_keep_their_rate_on_average() -> None:
    made = ImportanceStreams(rates=(0.2, 0.4), duration=4000).make()
    assert len(made.first) / 4000 == pytest.approx(0.3, rel=0.1)


def test_the_same_seed_gives_the_same_streams() -> None:
    one, same, other = (ImportanceStreams(seed=seed).make() for seed in (1, 1, 2))
    assert (one.first.times == same.first.times).all()
    assert (one.second.importance == same.second.importance).all()
    assert one.first.times[0] != other.first.times[0]
    assert one.first.times[0] != one.second.times[0]


def test_only_importance_differs_where_only_importance_is_asked_to() -> None:
    drawn, valued = (ImportanceStreams(importance=how).make() for how in ("drawn", "by value"))
    assert (drawn.first.times == valued.first.times).all()
    assert (drawn.first.values == valued.first.values).all()
    assert (drawn.first.importance != valued.first.importance).any()


def test_drawn_importance_is_independent_of_the_value() -> None:
    first = ImportanceStreams(duration=50).make().first
    assert abs(np.corrcoef(first.values, first.importance)[0, 1]) < 0.05
    assert np.unique(first.importance[first.values == 7]).size > 20


def test_importance_by_value_is_one_for_each_value_and_the_same_in_both_streams() -> None:
    made = ImportanceStreams(importance="by value").make()
    for value in range(1, 101):
        found = {
            each
            for stream in made[:2]
            for each in stream.importance[stream.values == value].tolist()
        }
        assert len(found) == 1


@pytest.mark.parametrize(("how", "sign"), [("with frequency", 1), ("against frequency", -1)])
def test_importance_goes_with_or_against_frequency(
    how: Literal["with frequency", "against frequency"], sign: int
) -> None:
    first = ImportanceStreams(zipf=1.0, importance=how).make().first
    assert np.bincount(first.values).argmax() == 1
    importance = [first.importance[first.values == value][0] for value in range(1, 101)]
    assert (sign * np.diff(importance) <= 0).all()


@pytest.mark.parametrize("zipf", [0, 1, 0.5])  # a whole number is as good as any
def test_values_follow_zipf_s_law(zipf: float) -> None:
    first = ImportanceStreams(zipf=zipf, domain=10).make().first
    counts = np.bincount(first.values)
    assert counts[1] / counts[8] == pytest.approx(8**zipf, rel=0.2)


def test_equal_importance() -> None:
    assert set(ImportanceStreams(importance="equal").make().first.importance) == {1.0}


def test_importance_is_redefined_evenly_spread() -> None:
    made = ImportanceStreams(redefined=2, duration=90, importance="by value").make()
    assert [each.time for each in made.redefinitions] == [30, 60]
    for redefinition in made.redefinitions:
        assert redefinition.importance[0].shape == made.first.times.shape
        assert (redefinition.importance[0] != made.first.importance).all()


def test_times_come_in_steps() -> None:
    fine, coarse = (ImportanceStreams(step=step).make().first.times for step in (None, 0.5))
    assert set(np.unique(coarse)) == set(np.arange(1, 201) / 2)
    assert ((coarse - fine >= 0) & (coarse - fine < 0.5)).all()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(SpecificationError, match="rates must be above 0, the lower one first"):
        ImportanceStreams(rates=(2, 1))
    with pytest.raises(SpecificationError, match="redefined must be 0, 1 or 2"):
        ImportanceStreams(redefined=3)
