"""IJOIN in the engine: the same victims as by the book, which computes every priority anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

import penstock as ps
from penstock.engine.kernels.residence import SMALLEST_AGE
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
from penstock.testing import canonical_rows, cut
from tests.conformance.checks import run
from tests.engine.support import choices, examples
from tests.engine.test_importance import EVENING, MORNING, importance_of, join, make_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.studies.by_the_book.recomputation import Recomputation
    from tests.engine.support import Pick

# So long that nobody expires: the engine lets a row go when no tuple can come that joins it, a step
# later than the book does. A power of two, so that ages in windows are exact in both.
WINDOW = 4096
SCHEMES = ("successive", "k-successive", "adaptive")


def by_the_book(
    goal: ps.MaxImportance, tables: dict[str, pa.Table], memory: int, when: int
) -> Outcome:
    """Simulate the same join, with times in windows."""
    recomputations: dict[str, Recomputation] = {
        "successive": Successive(),
        "k-successive": EveryFew(goal.every),
        "adaptive": Adaptive(goal.tolerance),
    }
    scheme = Ijoin(
        maturity=goal.maturity,
        unproductivity=goal.unproductivity,
        penalty=goal.penalty,
        decay=goal.decay,
        recomputation=recomputations[goal.recompute],
        smallest_age=SMALLEST_AGE,
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
        redefinitions=[Redefinition(when / WINDOW, (evening[0], evening[1]))],
    )


@pytest.mark.parametrize("recompute", SCHEMES)
@given(pick=choices())
@examples(25)
def test_those_leave_who_leave_by_the_book(recompute: str, pick: Pick) -> None:
    """With importance redefined on the way, whatever the cut into batches, saved or not."""
    rows, memory = pick(20, 250), 2 * pick(1, 12)
    tables = make_tables(rows, seed=pick(0, 10**6), keys=pick(1, 30))
    when = pick(0, 2 * rows)
    goal = ps.MaxImportance(
        of=[(None, MORNING), (when, EVENING)],
        strategy="ijoin",
        recompute=recompute,
        maturity=pick(0, 2 * memory) / WINDOW,
        unproductivity=pick(0, 4 * memory) / WINDOW,
        penalty=float(pick(0, 3)) * 10 ** pick(0, 6),
        decay=float(pick(0, 3) * 50),
    )
    if recompute == "k-successive":
        goal = replace(goal, every=pick(1, 20))
    if recompute == "adaptive":
        goal = replace(goal, tolerance=pick(0, 10) / 10)
    expected = by_the_book(goal, tables, memory, when)
    made = join(goal, rows=memory, monitor=0, window=WINDOW)
    replay = made.replay(tables)
    assert replay.metrics.emitted == expected.size
    assert replay.metrics.importance == pytest.approx(expected.total_importance)
    assert replay.metrics.recomputations == expected.recomputations
    found = replay.result.select(["r", "s"]).to_pylist()
    pairs = {(row["r"]["t"] // 2, (row["s"]["t"] - 1) // 2) for row in found}
    assert pairs == expected.pairs
    times = sorted({pick(0, 2 * rows) for _ in range(3)})
    saved = run(made, cut(made, tables, times), saving=True)
    assert saved.rows == canonical_rows(replay.result)
    assert saved.metrics.recomputations == replay.metrics.recomputations
