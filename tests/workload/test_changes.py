"""A workload that is restored with another budget goes on with its windows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.workload.restarting import Restarted
from tests.workload.test_goals import GOALS, ROWS, cut, make_tables, make_workload


@pytest.mark.parametrize("name", ["best", "fifo", "ijoin"])
def test_half_of_the_budget_and_then_four_times_the_first(name: str) -> None:
    work, tables = make_workload(GOALS[name]), make_tables()
    restarted = Restarted(list(work.joins))
    shares = []
    for rows, batch in zip((900, 450, 3_600), cut(tables, 1_000, 2_000), strict=True):
        changed = replace(work, budget=ps.Budget(rows=rows))
        amounts = restarted.run(changed, batch).amounts["memory"]
        assert sum(amounts.values()) == rows
        shares.append(amounts["a"] / rows)
    assert all(share > 0.5 for share in shares)  # what was learned goes on
    for join, own in work.joins.items():
        exact = replace(own, budget=None).replay({n: tables[n] for n in own.names}).result
        mine = restarted.found[join]
        assert set(canonical_rows(mine)) <= set(canonical_rows(exact))
        # All rows that are alive fit from then on, and a window later none is missing.
        # (The last rows wait for what may still come.)
        late = [
            canonical_rows(each.filter(pa.array((times > 2_600) & (times < 2_990))))
            for each, times in ((t, t["time"].to_numpy()) for t in (mine, exact))
        ]
        assert late[0] == late[1]


def test_other_weights_and_another_objective_hold_from_the_next_division_on() -> None:
    tables = make_tables()
    first, *later = cut(tables, 1_000, 2_000)
    shares = {}
    for name, changed in {
        "same": make_workload(GOALS["best"]),
        "weights": make_workload(GOALS["best"], weights={"b": 3}),
        "total": make_workload(GOALS["best"], objective="total"),
    }.items():
        restarted = Restarted(["a", "b"])
        restarted.run(make_workload(GOALS["best"]), first)
        *_, joint = [restarted.run(changed, batch) for batch in later]
        shares[name] = joint.amounts["memory"]["b"] / 300
    # The second join is the easier one: it gives more for a row, and has more to gain by weight.
    assert shares["weights"] > 1.3 * shares["same"]
    assert shares["total"] != shares["same"]


@pytest.mark.parametrize(("before", "after"), [(100, 400), (400, 100)])
def test_with_another_interval_it_is_divided_at_the_new_ones(before: int, after: int) -> None:
    """As with the new interval from the beginning, but for what was decided before."""
    tables = make_tables()
    restarted = Restarted(["a", "b"])
    first, *later = cut(tables, 1_050, *range(1_100, ROWS, 100))
    joint = restarted.run(make_workload(GOALS["best"], every=before), first)
    assert joint.mark is not None
    assert joint.mark * before == (1_100 if before == 100 else 1_200)
    marks = []
    for batch in later:
        joint = restarted.run(make_workload(GOALS["best"], every=after), batch)
        assert joint.mark is not None
        marks.append(joint.mark * after)
    # Each batch ends just before a multiple of 100, which the next division is at or after.
    expected = [-(-(now + 1) // after) * after for now in range(1_050, ROWS, 100)]
    assert marks[1:] == expected[1:]


def test_from_rows_to_bytes_and_back_the_proportions_stay() -> None:
    tables = make_tables()
    parts = cut(tables, 1_000, 1_010, 1_020)
    restarted = Restarted(["a", "b"])
    shares = []
    for budget, batch in zip(
        (ps.Budget(rows=300), ps.Budget(memory="30 kB"), ps.Budget(rows=300)), parts, strict=False
    ):
        work = replace(make_workload(GOALS["best"]), budget=budget)
        amounts = restarted.run(work, batch).amounts["memory"]
        shares.append(amounts["a"] / sum(amounts.values()))
    assert shares[0] > 0.55  # other than the equal parts at the beginning
    assert shares[1:] == pytest.approx([shares[0]] * 2, abs=0.02)
