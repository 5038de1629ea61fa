"""Killed with kill -9, restarted with half of the budget, killed, then with four times of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engine import state
from penstock.engine.limits import part_of
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.engine.stream_progress import progress_of_all
from penstock.testing import canonical_rows
from tests.processes import kill_session
from tests.spark.change_driver import HALTED, MOST, SAVED, SHARDS, WINDOW, batches, join_of
from tests.spark.support import make_sources
from tests.spark.test_crash import wait_for

PROGRAM = "tests.spark.change_driver"
BUDGET = 60
# The rows of the budget, from which micro-batch on.
STAGES = ((BUDGET, 0), (BUDGET // 2, 3), (4 * BUDGET, 5))


def changed_runs() -> list[Counter[tuple[str, ...]]]:
    """Return what each micro-batch has to give, by the engine with its state saved and restored."""
    everything = batches()
    schemas = {name: tables[0].schema for name, tables in everything.items()}
    saved: list[dict[str, bytes]] = [{} for _ in range(SHARDS)]
    found = []
    for number in range(len(everything["a"])):
        rows = next(rows for rows, first in reversed(STAGES) if number >= first)
        plan = bind(join_of(rows), schemas)
        tables = {name: each[number] for name, each in everything.items()}
        progress = progress_of_all(plan, tables)
        results = []
        for shard, part in enumerate(route(plan, tables, SHARDS)):
            operator = (
                state.restore(plan, saved[shard], shard=shard, shards=SHARDS, aligned=True)
                if saved[shard]
                else Operator(plan, shard=shard, shards=SHARDS, aligned=True, ordered=True)
            )
            results.append(operator.process(part, progress))
            assert operator.store.held <= part_of(rows, shard, SHARDS)
            assert operator.metrics().held_most <= part_of(rows, shard, SHARDS)
            changes = state.save(operator)
            kept = {n: c for n, c in saved[shard].items() if n not in changes.removed}
            saved[shard] = kept | dict(changes.written)
        found.append(Counter(canonical_rows(pa.concat_tables(results))))
    return found


def exact(first: int = 0) -> Counter[tuple[str, ...]]:
    """Return the results of the exact join from a time on, up to where both streams have come."""
    everything = batches()
    end = min(tables[-1].column("t").to_numpy().max() for tables in everything.values())
    result = join_of(None).replay(everything, ended=False).result
    times = result.column("time").to_numpy()
    return Counter(canonical_rows(result.filter(pa.array((first <= times) & (times < end)))))


def test_the_engine_finds_what_it_must() -> None:
    found = sum(changed_runs(), Counter())
    assert found < exact()
    # A window after the last change all is there: the budget suffices.
    late = exact(5 * 40 + WINDOW + 1)
    assert late
    assert late <= found


@pytest.mark.spark
@pytest.mark.crash
def test_killed_and_restarted_with_other_budgets(tmp_path: Path) -> None:
    make_sources(tmp_path, batches())
    most = []
    before = 0
    for (rows, _), halt in zip(STAGES, (3, 5, -1), strict=True):
        (tmp_path / HALTED).unlink(missing_ok=True)
        driver = subprocess.Popen(  # noqa: S603  # our own program
            [
                sys.executable,
                "-m",
                PROGRAM,
                str(tmp_path),
                str(rows),
                str(halt),
            ],
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
        if halt >= 0:
            wait_for(driver, (tmp_path / HALTED).exists)
            assert driver.poll() is None, (tmp_path / "spark.log").read_text()[-3000:]
            kill_session(driver)
        else:
            driver.wait(timeout=600)
            assert driver.returncode == 0, (tmp_path / "spark.log").read_text()[-3000:]
        most.append(json.loads((tmp_path / MOST).read_text()))
        assert most[-1] <= rows
        if before:  # what the stage before has left: each shard within its own part
            saved = json.loads((tmp_path / SAVED).read_text())
            assert sorted(saved) == [str(shard) for shard in range(SHARDS)]
            for shard, held in saved.items():
                assert 0 < held <= part_of(before, int(shard), SHARDS)
        before = rows
    assert most[1] < most[0] < most[2]  # each stage uses its budget, and the last has room
    expected = changed_runs()
    empty = join_of(None).replay({n: t[0].slice(0, 0) for n, t in batches().items()}).result
    for number, rows_of_batch in enumerate(expected):
        written = pq.read_table(tmp_path / "out" / f"{number}").cast(empty.schema)
        assert Counter(canonical_rows(written)) == rows_of_batch
