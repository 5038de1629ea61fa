"""IJOIN in the engine: it evicts the same rows as by the book, where every priority is computed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock import strategies
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.retention.residence_priority import SMALLEST_AGE
from penstock.studies.by_the_book import (
    Adaptive,
    Arrivals,
    EveryFew,
    Ijoin,
    Outcome,
    Redefinition,
    Successive,
    simulate,
)
from penstock.studies.by_the_book.outcome import Fate, fairness_index
from penstock.testing import canonical_rows, cut
from tests.conformance.checks import run
from tests.engine.soundness import assert_sound
from tests.engine.support import choices, examples
from tests.engine.test_importance import EVENING, MORNING, importance_of, join, make_tables

if TYPE_CHECKING:
    from penstock.studies.by_the_book.recomputation import Recomputation
    from tests.engine.support import Pick

# So long that no row expires: the engine removes a row when no row can come that joins it, a step
# later than the book does. A power of two, so that ages in windows are exact in both.
WINDOW = 4096
pytestmark = pytest.mark.nojit

SCHEMES = ("successive", "k-successive", "adaptive", "adaptive-below")
# The paper's join conditions.
CONDITIONS = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def by_the_book(
    strategy: strategies.Ijoin,
    tables: dict[str, pa.Table],
    memory: int,
    when: int,
    condition: str = "=",
) -> Outcome:
    """Simulate the same join, with times in windows."""
    recomputations: dict[str, Recomputation] = {
        "successive": Successive(),
        "k-successive": EveryFew(strategy.every),
        "adaptive": Adaptive(strategy.tolerance),
        "adaptive-below": Adaptive(strategy.tolerance, when="below"),
    }
    initial = [t["begin"].to_numpy() for t in tables.values() if strategy.initial is not None]
    scheme = Ijoin(
        maturity=strategy.maturity,
        unproductivity=strategy.unproductivity,
        penalty=strategy.penalty,
        decay=strategy.decay,
        recomputation=recomputations[strategy.recompute],
        smallest_age=SMALLEST_AGE,
        initial=(initial[0], initial[1]) if initial else "importance",
    )
    first, second = (
        Arrivals(t["t"].to_numpy() / WINDOW, t["k"].to_numpy(), importance_of(t, MORNING))
        for t in tables.values()
    )
    evening = tuple(importance_of(table, EVENING) for table in tables.values())
    return simulate(
        first,
        second,
        scheme,
        window=1,
        memory=memory,
        order="probe first",
        reading="closed",
        predicate=CONDITIONS[condition],
        redefinitions=[Redefinition(when / WINDOW, (evening[0], evening[1]))],
    )


def fairness_of_rows_that_left(outcome: Outcome) -> float | None:
    """Return eq. 4 of the rows that are in memory no more: the metrics know nothing of the rest."""
    lived = np.concatenate(
        [
            (left - stream.times)[fates != Fate.HELD]
            for stream, left, fates in zip(
                outcome.streams, outcome.left, outcome.fates, strict=True
            )
        ]
    )
    index = fairness_index(lived)
    return None if np.isnan(index) else index


@pytest.mark.parametrize("recompute", SCHEMES)
@given(pick=choices())
@examples(15)
def test_the_same_rows_leave_as_by_the_book(recompute: str, pick: Pick) -> None:
    """By any condition, with importance redefined, whatever the cut into batches, saved or not."""
    rows, memory = pick(20, 250), 2 * pick(1, 12)
    tables = make_tables(rows, seed=pick(0, 10**6), keys=pick(1, 30))
    when = pick(0, 2 * rows)
    strategy = strategies.Ijoin(
        recompute=recompute,
        maturity=pick(0, 2 * memory) / WINDOW,
        unproductivity=pick(0, 4 * memory) / WINDOW,
        penalty=float(pick(0, 3)) * 10 ** pick(0, 6),
        decay=float(pick(0, 3) * 50),
    )
    if recompute == "k-successive":
        strategy = replace(strategy, every=pick(1, 20))
    if recompute.startswith("adaptive"):
        strategy = replace(strategy, tolerance=pick(0, 10) / 10)
    if recompute != "successive" and pick(0, 1):
        strategy = replace(strategy, initial="begin")
        draw = np.random.default_rng(rows)
        tables = {
            name: table.append_column("begin", pa.array(draw.pareto(1.0, len(table))))
            for name, table in tables.items()
        }
    goal = ps.MaxImportance(of=[(None, MORNING), (when, EVENING)], strategy=strategy)
    condition = list(CONDITIONS)[pick(0, 5)] if pick(0, 1) else "="
    expected = by_the_book(strategy, tables, memory, when, condition)
    made = join(goal, rows=memory, monitor=0, window=WINDOW)
    if condition != "=":
        made = replace(made, on=ps.Compare(condition, r="k", s="k"))
    replay = made.replay(tables)
    assert replay.metrics.emitted == expected.size
    assert replay.metrics.importance == pytest.approx(expected.total_importance)
    assert replay.metrics.recomputations == expected.recomputations
    assert replay.metrics.fairness == pytest.approx(fairness_of_rows_that_left(expected))
    found = replay.result.select(["r", "s"]).to_pylist()
    pairs = {(row["r"]["t"] // 2, (row["s"]["t"] - 1) // 2) for row in found}
    assert pairs == expected.pairs
    times = sorted({pick(0, 2 * rows) for _ in range(3)})
    saved = run(made, cut(made, tables, times), saving=True)
    assert saved.rows == canonical_rows(replay.result)
    assert saved.metrics.recomputations == replay.metrics.recomputations


@pytest.mark.parametrize("recompute", SCHEMES)
@given(pick=choices())
@examples(10)
def test_all_structures_hold_the_same_rows(recompute: str, pick: Pick) -> None:
    """With rows that are monitored, that expire, and with batches of one stream at a time."""
    tables = make_tables(pick(20, 120), seed=pick(0, 10**6), keys=pick(1, 12))
    goal = ps.MaxImportance(
        of=[(None, MORNING), (pick(0, 100), EVENING)],
        strategy=strategies.Ijoin(recompute=recompute),
    )
    made = join(goal, rows=pick(3, 20), monitor=0.2, window=pick(5, 60))
    operator = Operator(bind(made, {name: table.schema for name, table in tables.items()}))
    for start in range(0, 120, 30):
        for name, table in tables.items():
            operator.process({name: table.slice(start, 30)})
            assert_sound(operator)


# --- What the paper leaves open


def kept(
    stay: list[tuple[int, int, float]], probes: list[tuple[int, int]], **parameters: float
) -> set[int]:
    """Return the keys that are left of rows of r, (time, key, importance), with room for two.

    The rows of s probe, by (time, key). They have room of their own, and two fill it from the
    beginning.
    """
    made = ps.Join(
        streams={name: ps.Stream(time="t", window=1000) for name in ("r", "s")},
        on=ps.Equal("k"),
        goal=ps.MaxImportance(
            of={"r": "score", "s": 1000},
            strategy=strategies.Ijoin(**parameters),  # type: ignore[arg-type]
        ),
        budget=ps.Budget(rows=4, monitor=0),
    )
    last = max(time for time, *_ in (*stay, *probes))
    asking = [(-2, -2), (-2, -1), *probes, *((last + 1, key) for _, key, _ in stay)]
    tables = {
        "r": pa.Table.from_pylist([{"t": t, "k": k, "score": i} for t, k, i in stay]),
        "s": pa.Table.from_pylist([{"t": t, "k": k} for t, k in asking]),
    }
    found = made.replay(tables).result.to_pylist()
    return {row["r"]["k"] for row in found if row["s"]["t"] > last}


def test_if_no_row_is_mature_the_lowest_of_all_leaves_and_not_the_arriving_one() -> None:
    stay = [(0, 1, 5.0), (1, 2, 5.0), (10, 3, 1.0)]
    # 2 has matched, 1 has not.
    assert kept(stay, [(5, 2)], maturity=1.0) == {2, 3}
    # 1 has matched, so 2 goes, though it is the younger.
    assert kept(stay, [(5, 1)], maturity=1.0) == {1, 3}


def test_a_row_that_is_not_mature_stays_if_another_is() -> None:
    stay = [(0, 1, 99.0), (500, 2, 1.0), (510, 3, 1.0)]
    # 1 alone is older than 0.08 windows of 1000, and leaves although it matched and matters more.
    assert kept(stay, [(5, 1)]) == {2, 3}
    assert kept(stay, [(5, 1)], maturity=0.0, penalty=0.0) == {1, 3}


def test_a_row_that_never_matched_is_idle_since_it_came() -> None:
    # At 1000, 2 is worth 7 * exp(-2.5 * 0.5) / 0.9 = 2.2, less 10 * 0.5 as it had no match for half
    # a window: -2.8. 1 never had one: -10.
    stay = [(0, 1, 7.0), (100, 2, 7.0), (1000, 3, 1.0)]
    assert kept(stay, [(500, 2)], penalty=10.0) == {2, 3}
    # It came later and is not yet unproductive: 0.
    stay = [(100, 2, 7.0), (850, 1, 7.0), (1000, 3, 1.0)]
    assert kept(stay, [(500, 2)], penalty=10.0, unproductivity=0.2) == {1, 3}


def test_a_row_of_no_age_has_a_priority() -> None:
    """All come in one moment: ages are zero, and count as a thousandth of a window."""
    stay = [(0, 1, 2.0), (0, 2, 3.0), (0, 3, 1.0)]
    # Which comes first follows from what they hold. A row that finds a match when it comes stays.
    for number in (1, 2, 3):
        left = kept(stay, [(-1, number)])
        assert len(left) == 2
        assert number in left


def test_rows_come_with_the_priority_that_they_were_given() -> None:
    """Computed at the first decision, and not again: then a row's first priority counts."""

    def left(initial: str | float | None, given: list[float | None]) -> set[int]:
        made = ps.Join(
            streams={name: ps.Stream(time="t", window=1000) for name in ("r", "s")},
            on=ps.Equal("k"),
            goal=ps.MaxImportance(
                of="score",
                strategy=strategies.Ijoin(
                    recompute="k-successive", every=1_000, maturity=0.0, initial=initial
                ),
            ),
            budget=ps.Budget(rows=4, monitor=0),
        )
        # The third row needs room: priorities are computed, and 1 leaves. The fourth needs some,
        # too: 2 has its priority of then, 3 the one that it came with. Neither has matched.
        r = [
            {"t": k, "k": k, "score": float(k), "urgency": urgency}
            for k, urgency in enumerate(given, 1)
        ]
        s = [{"t": 0, "k": -k, "score": 1.0, "urgency": 1.0} for k in (1, 2)]
        s += [{"t": 9, "k": k, "score": 1.0, "urgency": 1.0} for k in range(1, len(r) + 1)]
        tables = {"r": pa.Table.from_pylist(r), "s": pa.Table.from_pylist(s)}
        return {row["r"]["k"] for row in made.replay(tables).result.to_pylist()}

    # Of rows 3, 4 and 5, when 6 comes, the one with the lowest first priority leaves.
    assert left(None, [1.0] * 6) == {5, 6}
    assert left("urgency", [1.0, 1.0, 9.0, 8.0, 7.0, 1.0]) == {3, 6}
    assert left("urgency", [1.0, 1.0, None, 8.0, 2.0, 1.0]) == {4, 6}
    with pytest.raises(ps.SchemaError, match=r'with a column of numbers "haste", for initial of'):
        left("haste", [1.0] * 6)


def test_parameters_are_given_to_ijoin_and_not_to_the_goal() -> None:
    """Whether they make sense is tested in tests/importance/test_goal.py."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'maturity'"):
        ps.MaxImportance(of="score", strategy="ijoin", maturity=0.5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'maturity'"):
        strategies.Greedy(maturity=0.5)  # type: ignore[call-arg]
    goal = ps.MaxImportance(of="score", strategy=strategies.Ijoin(maturity=0.5))
    assert join(goal, rows=10).goal == goal
