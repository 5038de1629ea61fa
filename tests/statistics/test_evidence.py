"""Evidence: the model that predicts better is followed, not at once and not back and forth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.statistics.evidence import Evidence


def poisson(rate: float, came: float) -> float:
    """Compute the log-likelihood, without the terms that are the same for all models."""
    return came * math.log(rate) - rate


def test_scores_are_likelihoods() -> None:
    evidence = Evidence(["one", "two"])
    came, weights = np.array([0.0, 3.0, 1.0]), np.array([2.0, 0.5, 0.5])
    one, two = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.5, 0.5])
    evidence.add([one, two], came, weights, fade=1.0)
    scores = [
        sum(w * poisson(rate, c) for rate, c, w in zip(rates, came, weights, strict=True))
        for rates in (one, two)
    ]
    leads = [max(scores) - score for score in scores]
    assert max(leads) > 0
    assert evidence.leads() == pytest.approx(leads)
    evidence.add([one, two], came, weights, fade=0.5)
    assert evidence.leads() == pytest.approx([1.5 * lead for lead in leads])


def test_no_row_is_expected_to_match_nothing() -> None:
    """A model that expects nothing of a row that matches is wrong, not impossible."""
    evidence = Evidence(["none", "some"])
    evidence.add([np.zeros(2), np.ones(2)], np.array([1.0, 1.0]), np.ones(2), fade=1.0)
    assert evidence.leads() == pytest.approx([2 * (poisson(1, 1) - poisson(0.02, 1)), 0])
    evidence.add([np.zeros(2), np.ones(2)], np.zeros(2), np.ones(2), fade=0.0)
    assert np.isfinite(evidence.leads()).all()


def decided() -> Evidence:
    """Return evidence of a thousand matches, by which the first two models are equal."""
    evidence = Evidence(["one", "two", "wrong"])
    right, wrong = np.full(10, 100.0), np.full(10, 10.0)
    evidence.add([right, right, wrong], right, np.ones(10), fade=1.0)
    return evidence


def test_a_few_matches_decide_nothing() -> None:
    evidence = Evidence(["one", "two", "wrong"])
    came = np.full(4, 2.0)
    assert not evidence.add([np.full(4, 0.2), came, np.ones(4)], came, np.ones(4), fade=1.0)
    assert evidence.leads()[0] > 5
    assert evidence.followed == 0


def test_a_few_matches_decide_what_is_beyond_doubt() -> None:
    evidence = Evidence(["one", "two", "wrong"])
    came = np.full(4, 4.0)
    assert evidence.add([np.full(4, 0.1), came, np.ones(4)], came, np.ones(4), fade=1.0)
    assert evidence.followed == 1


def test_the_first_is_followed_until_another_is_clearly_better() -> None:
    evidence = decided()
    assert evidence.followed == 0
    # A row without matches, of which the models expect e and 1: evidence for the second.
    step = math.e - 1
    predicted = [np.array([math.e]), np.array([1.0]), np.array([9.0])]
    changes = [evidence.add(predicted, np.zeros(1), np.ones(1), fade=1.0) for _ in range(9)]
    # Odds of e**5 to 1 are needed.
    first = next(n for n in range(9) if (n + 1) * step > 5)
    assert changes == [n == first for n in range(9)]
    assert evidence.followed == 1


def test_equals_seldom_take_turns() -> None:
    evidence = decided()
    generator = np.random.default_rng(0)
    changes = turns = 0
    leader = 0
    for _ in range(2000):
        came = generator.poisson(2.0, 20).astype(np.float64)
        noise = generator.uniform(0.9, 1.1, 20)
        predicted = [2.0 * noise, 2.0 / noise, np.full(20, 9.0)]
        changes += evidence.add(predicted, came, np.ones(20), fade=0.97)
        turns += leader != evidence.leads().argmin()
        leader = int(evidence.leads().argmin())
    # The lead changes all the time; the followed model does not.
    assert turns > 100
    assert changes < turns / 10


def test_old_evidence_is_outweighed() -> None:
    evidence = Evidence(["one", "two"])
    right, wrong = np.full(50, 2.0), np.full(50, 4.0)
    came = np.random.default_rng(1).poisson(2.0, 50).astype(np.float64)
    for _ in range(100):
        evidence.add([wrong, right], came, np.ones(50), fade=0.9)
    assert evidence.followed == 1
    rounds = 0
    while evidence.followed == 1:
        evidence.add([right, wrong], came, np.ones(50), fade=0.9)
        rounds += 1
    # 0.9**k < 1/2 after 7 rounds: then the new evidence weighs as much as all of the old.
    assert 5 <= rounds <= 8


def test_names_are_reported_once_with_their_best_model() -> None:
    evidence = Evidence(["age", "expected", "expected"])
    came = np.array([4.0])
    evidence.add([np.array([4.0]), np.array([1.0]), np.array([3.0])], came, np.ones(1), fade=1.0)
    follows, behind = evidence.by_name()
    assert follows == {"age": 1, "expected": 0}
    assert behind == pytest.approx({"age": 0, "expected": poisson(4, 4) - poisson(3, 4)})
    assert Evidence(["expected", "expected"]).by_name() == ({}, {})


def test_saved_and_restored_is_uninterrupted() -> None:
    generator = np.random.default_rng(2)
    whole, resumed = Evidence(["one", "two"]), Evidence(["one", "two"])
    for _ in range(40):
        came = generator.poisson(3.0, 5).astype(np.float64)
        predicted = [generator.uniform(0, 6, 5), generator.uniform(1, 6, 5)]
        changed = [e.add(predicted, came, np.ones(5), fade=0.9) for e in (whole, resumed)]
        assert changed[0] == changed[1]
        after = Evidence(["one", "two"])
        after.restore(resumed.save())
        resumed = after
        assert (resumed.followed, resumed.by_name()) == (whole.followed, whole.by_name())
