"""A stream that falls silent for thousands of half-lives: nothing is divided by 0, nothing is NaN.

What was learned of it fades until it is too small a number to compute with. A short half-life makes
a long silence of a few windows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.statistics.fading import FAINT, fade_together, faded
from penstock.strategies import STRATEGIES

if TYPE_CHECKING:
    from penstock.goals import Goal
    from penstock.predicates import Predicate

WINDOW, PER_WINDOW = 10, 8
# In windows: 12.5 half-lives go by in one, 3 in a part of it, so that fading sums also come by the
# few numbers that are too small to be divided and are not yet 0.
HALF_LIFE, PARTS = 0.08, 4
BEFORE, SILENT, AFTER = 12, 100, 12  # windows
STREAMS = ("a", "b", "c")


def make_tables(streams: int) -> dict[str, pa.Table]:
    """Make streams of which the first falls silent, for 1,250 half-lives, and comes back."""
    draw = np.random.default_rng(4)
    times = np.arange((BEFORE + SILENT + AFTER) * PER_WINDOW) * (WINDOW / PER_WINDOW)
    window = times // WINDOW
    speaks = (window < BEFORE) | (window >= BEFORE + SILENT)
    tables = {}
    for place, name in enumerate(STREAMS[:streams]):
        own = (times if place else times[speaks]) + 0.2 * place
        tables[name] = pa.table(
            {
                "t": own,
                "k": draw.integers(0, 6, own.size),
                "score": draw.integers(1, 6, own.size),
            }
        )
    return tables


def join_of(goal: Goal, on: str, streams: int) -> ps.Join:
    names = STREAMS[:streams]
    columns = dict.fromkeys(names, "k")
    predicates: dict[str, Predicate] = {
        "equal": ps.Equal("k"),
        "compare =": ps.Compare("=", **columns),
        "within": ps.Within(1, **columns),
        "compare <=": ps.Compare("<=", **columns),
    }
    return ps.Join(
        streams={name: ps.Stream(time="t", window=WINDOW) for name in names},
        on=predicates[on],
        goal=goal,
        # Some rows must be monitored: what is learned of them is what fades. Clusters need none.
        budget=ps.Budget(rows=16, monitor=None if "cluster" in str(goal.strategy) else 0.2),
    )


def goals_of(strategy: str) -> list[Goal]:
    """Return the goals that a strategy serves."""
    served = STRATEGIES[strategy]().serves
    known = {"strategy": strategy, "parts": PARTS, "half_life": HALF_LIFE}
    goals: list[Goal] = []
    if issubclass(ps.MaxSubset, served):
        goals.append(ps.MaxSubset(**known))  # type: ignore[arg-type]
    if issubclass(ps.MaxImportance, served):
        goals.append(ps.MaxImportance(of="score", **known))  # type: ignore[arg-type]
    if issubclass(ps.Sample, served):
        goals.append(ps.Sample(**known))  # type: ignore[arg-type]
    return goals


CASES = [
    (strategy, on, streams)
    for strategy in STRATEGIES
    for on, streams in (
        ("equal", 2),
        ("equal", 3),
        ("within", 2),
        ("compare <=", 2),
    )
    if streams == 2 or ps.Sample not in STRATEGIES[strategy]().serves
]
_AT_ONCE = {("best", "equal", 2), ("worth", "equal", 3), ("age", "within", 2)}


@pytest.mark.parametrize(
    ("strategy", "on", "streams"),
    [pytest.param(*c, marks=() if c in _AT_ONCE else pytest.mark.slow) for c in CASES],
)
def test_a_stream_may_be_silent_for_thousands_of_half_lives(
    strategy: str, on: str, streams: int
) -> None:
    tables = make_tables(streams)
    for goal in goals_of(strategy):
        join = join_of(goal, on, streams)
        with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
            warnings.simplefilter("error")
            replay = join.replay(tables)
        assert replay.metrics.lost
        times = replay.result["time"].to_numpy()
        assert np.count_nonzero(times < BEFORE * WINDOW) > 20
        assert np.count_nonzero(times >= (BEFORE + SILENT) * WINDOW) > 20


def test_what_is_faint_does_not_fade_further_and_keeps_its_ratio() -> None:
    assert faded(np.array([1.0, 0.0]), 1e-300).tolist() == [FAINT, 0.0]
    assert faded(np.array([FAINT, FAINT / 2]), 0.5).tolist() == [FAINT, FAINT / 2]
    for factor in (0.0, 1e-100, 0.5):
        parts, whole = np.array([3.0, 1.0]), np.array([10.0, 40.0])
        for _ in range(2_000):
            fade_together(parts, whole, factor)
        assert (parts / whole).tolist() == pytest.approx([0.3, 0.025])
        assert whole.max() == pytest.approx(FAINT)


def test_parts_to_which_nothing_is_added_become_as_good_as_nothing() -> None:
    parts, whole = np.array([3.0, 0.0]), np.array([10.0, 40.0])
    for _ in range(2_000):
        fade_together(parts, whole, 0.5)
        whole += 1.0
    assert parts.tolist() == pytest.approx([FAINT**2, 0.0])
    assert whole.tolist() == pytest.approx([1.0 + 1.0, 2.0])


def test_nothing_stays_nothing() -> None:
    parts, whole = np.zeros(3), np.zeros(3)
    fade_together(parts, whole, 0.5)
    assert not parts.any()
    assert not whole.any()
    fade_together(np.zeros(0), np.zeros(0), 0.5)
