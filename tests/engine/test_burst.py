"""A burst on a machine that is known: costs are measured, and the clock is that of a model.

What `penstock bench burst` does on Spark in real time, without Spark and without a clock: whatever
this machine does meanwhile, micro-batches take as long as the model says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine import state
from penstock.engine.operator import Operator
from penstock.engine.plan import bind

if TYPE_CHECKING:
    import numpy.typing as npt

BEFORE, BURST, AFTER = 12, 12, 8
SECONDS = BEFORE + BURST + AFTER
RATE, KEYS, FACTOR = 200, 10, 5  # rows per second of each stream, which find 40 rows each
CPU = 0.55

# Seconds: of a micro-batch, of packing a row, of handing a result over, and of the loop's steps:
# an arrival, an insertion, a comparison, a result.
FIXED, PACKING, HANDING = 0.2, 2e-5, 2.4e-5
LOOP_FIXED, LOOP = 0.02, np.array([2e-5, 5e-6, 3e-7, 3e-6])
# Times vary from one micro-batch to the next by this factor, one standard deviation.
NOISE = 0.08


@dataclass(frozen=True)
class Batch:
    """A micro-batch: when it began by the clock, what it took, its seconds, and its results."""

    began: float
    took: float
    first: int
    end: int
    results: int


def rows(second: int, draw: np.random.Generator) -> pa.Table:
    factor = FACTOR if BEFORE <= second < BEFORE + BURST else 1
    count = RATE * factor
    at = second * 1_000_000 + np.arange(count) * 1_000_000 // count
    keys = draw.integers(KEYS * factor, size=count)
    return pa.table({"at": pa.array(at, pa.timestamp("us", "UTC")), "k": keys})


def streams() -> dict[str, list[pa.Table]]:
    draw = np.random.default_rng(1)
    return {name: [rows(second, draw) for second in range(SECONDS)] for name in ("a", "b")}


def join(budget: ps.Budget | None) -> ps.Join:
    each = ps.Stream(time="at", window="2 seconds")
    return ps.Join(streams={"a": each, "b": each}, on=ps.Equal("k"), budget=budget, align=0)


def run(
    budget: ps.Budget | None, seconds: dict[str, list[pa.Table]], *, crashes: bool = False
) -> list[Batch]:
    """Join all rows that are there when a micro-batch begins, as Spark does; a trigger is 1 s.

    With `crashes` the operator is lost in the middle of every third micro-batch, which has taken
    another time until then, and the micro-batch is run again from the state.
    """
    draw = np.random.default_rng(2)
    operator = Operator(
        bind(join(budget), {name: tables[0].schema for name, tables in seconds.items()}),
        shard=0,
        shards=1,
        aligned=True,
    )
    batches: list[Batch] = []
    saved: dict[str, bytes] = {}
    now, done, before, handed = 1.0, 0, np.zeros(4), (0, 0.0)
    while done < SECONDS:
        end = min(int(now), SECONDS)
        given = {name: pa.concat_tables(tables[done:end]) for name, tables in seconds.items()}
        if crashes and len(batches) % 3 == 2:
            changes = state.save(operator)
            saved |= changes.written
            saved = {name: data for name, data in saved.items() if name not in changes.removed}
            lost = sum(piece.num_rows for piece in operator.pieces(given))
            assert operator.work is not None
            operator.work.ledger.measure(10.0, (lost, 10.0))
            operator = state.restore(operator.plan, saved, shard=0, shards=1, aligned=True)
        results = sum(piece.num_rows for piece in operator.pieces(given))
        metrics = operator.metrics()
        arrived = sum(each.arrived for each in metrics.streams.values())
        counted = np.array([arrived, metrics.inserted, metrics.compared, metrics.emitted])
        steps, before = counted - before, counted
        loop = (LOOP_FIXED + float(steps @ LOOP)) * np.exp(draw.normal(0, NOISE))
        handing = results * HANDING * np.exp(draw.normal(0, NOISE))
        if operator.work is not None:
            # How long results took to be handed over is known in the next micro-batch.
            operator.work.ledger.measure(loop, handed)
        handed = (results, handing)
        took = FIXED + PACKING * float(steps[0]) + loop + handing
        batches.append(Batch(now, took, done, end, results))
        done = end
        now = max(now + took, done + 1.0)
    return batches


@cache
def limited_run() -> list[Batch]:
    """Join the streams within the share."""
    return run(ps.Budget(cpu=CPU), streams())


def recall(batches: list[Batch], true: npt.NDArray[np.int64], first: int, end: int) -> float:
    """Return the recall of the micro-batches within some seconds."""
    inside = [batch for batch in batches if first <= batch.first and batch.end <= end]
    found = sum(batch.results for batch in inside)
    return found / sum(int(true[batch.first : batch.end].sum()) for batch in inside)


def test_with_measured_costs_a_join_keeps_up_in_a_burst_and_is_whole_before_and_after() -> None:
    seconds = streams()
    totals: list[int] = []
    join(None).replay(seconds, ended=False, callback=lambda now: totals.append(now.emitted))
    true = np.diff([0, *totals])

    exact = run(None, seconds)
    late = next(batch for batch in exact if batch.end >= BEFORE + BURST)
    assert late.began + late.took - late.end > 10

    limited = limited_run()
    assert max(batch.took for batch in limited) < 2
    assert max(batch.began - batch.end for batch in limited) < 2
    assert recall(limited, true, 0, BEFORE) == pytest.approx(1, abs=0.01)
    assert recall(limited, true, BEFORE + BURST + 3, SECONDS) == pytest.approx(1, abs=0.01)
    # What is allowed, less what arrivals take, is as many results as can be had. Measured costs
    # leave in doubt what an arrival takes and what a result does.
    arrivals = 2 * RATE * FACTOR * float(LOOP[0])
    in_burst = slice(BEFORE + 2, BEFORE + BURST)
    fits = (CPU - arrivals) / (float(true[in_burst].mean()) * (HANDING + float(LOOP[3])))
    found = recall(limited, true, in_burst.start, in_burst.stop)
    assert 0.8 * fits < found < 1.2 * fits
    # As many rows as fit would have their square.
    need = max(batch.took / (batch.end - batch.first) for batch in exact)
    assert found > 3 * (CPU / need) ** 2


def test_a_micro_batch_that_is_run_again_decides_by_the_costs_that_the_state_holds() -> None:
    seconds = streams()
    assert run(ps.Budget(cpu=CPU), seconds, crashes=True) == limited_run()
