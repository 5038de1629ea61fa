"""A workload that is restored with another budget goes on with its windows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import canonical_rows
from tests.workload.restarting import Restarted
from tests.workload.test_goals import GOALS, cut, make_tables, make_workload


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
