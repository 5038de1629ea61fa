"""How the demonstration runs: the exact join first, whose memory the others get a part of."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from penstock.demo import scenario
from penstock.demo.figures import Demonstration, Run
from penstock.demo.streaming import SHARDS, on_spark
from penstock.errors import SpecificationError, must
from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from penstock.demo.figures import Floats
    from penstock.demo.streaming import Runner, Streamed
    from penstock.join import Join
    from penstock.report.progress import Step

__all__ = ["demonstrate"]

_SHED_BY = ("fifo", "random", "best")
# Few, as most of the cost of each is Spark's own; enough to see progress.
_BATCHES = 8


def demonstrate(
    *,
    auctions: int = 20_000,
    memory: str = "10%",
    seed: int = 0,
    step: Step = silent_step,
    clock: Callable[[], float] = time.perf_counter,
    runner: Callable[..., AbstractContextManager[Runner]] = on_spark,
) -> Demonstration:
    """Join a market on Spark: exactly, then with each strategy and a part of the memory.

    Parameters
    ----------
    auctions
        How many; at least 100. About 20 bids come in for each.
    memory
        Budget of the joins with a strategy, in percent of the rows that the exact join held at
        most.
    seed
        Of the market and of the joins.
    step
        Reports progress; see `penstock.report.progress`.
    clock
        Tells the time in seconds.
    runner
        Returns the context that runs joins over a market; see `on_spark`.

    Returns
    -------
    Demonstration
        The figures of all joins.

    Raises
    ------
    SpecificationError
        If there are too few auctions, or too little memory, to show anything.
    SessionError
        If Spark cannot be started, or fails.

    Examples
    --------
    >>> found = demonstrate(auctions=200, memory="100%")  # doctest: +SKIP
    >>> [(run.strategy, run.recall) for run in found.runs]  # doctest: +SKIP
    [('exact', 1.0), ('fifo', 1.0), ('random', 1.0), ('best', 1.0)]
    """
    share = _share(memory)
    if auctions < scenario.FEWEST:
        requirement = f"at least {scenario.FEWEST}"
        raise SpecificationError(must("auctions", requirement, auctions, "fewer show nothing"))
    join = scenario.join(seed=seed)
    with step("Opening the auctions and placing the bids ..."):
        rows_of = {name: len(table) for name, table in scenario.tables(auctions, seed).items()}
    with step("Compiling the kernels (first run only) ..."):
        _compile()

    arrivals = sum(rows_of.values())
    with ExitStack() as open_:
        with step("Starting Spark ..."):
            run = open_.enter_context(
                runner(auctions=auctions, seed=seed, rows_per_batch=-(-arrivals // _BATCHES))
            )

        def timed(words: str, join: Join) -> tuple[Streamed, float]:
            with step(words) as tell:
                tell(_how_far(0, 0))
                began = clock()
                return run(
                    join, lambda batches, rows: tell(_how_far(batches, rows))
                ), clock() - began

        exact, seconds = timed("Exact join ...", join)
        runs = [_run("exact", exact, seconds, exact)]
        held = exact.metrics.held_most
        rows = int(share * held)
        least = SHARDS * len(rows_of)
        if rows < least:
            requirement = f"at least {least} of the {held} rows that the exact join holds"
            raise SpecificationError(must("memory", requirement, memory, "give it more"))
        for name in _SHED_BY:
            join = scenario.join(seed=seed, strategy=name, rows=rows)
            shed, seconds = timed(f"Join with {name} in {rows:,} rows ...", join)
            runs.append(_run(name, shed, seconds, exact))
    return Demonstration(
        auctions=auctions,
        bids=rows_of["bids"],
        seed=seed,
        memory=memory.replace(" ", ""),
        budget_rows=rows,
        edges_days=scenario.day_edges(),
        runs=tuple(runs),
    )


def _how_far(batches: int, rows: int) -> str:
    """Return words on how far a join is.

    >>> _how_far(3, 120_000)
    'batch 4 of 8, 120,000 rows done'
    """
    return f"batch {min(batches + 1, _BATCHES)} of {_BATCHES}, {rows:,} rows done"


def _share(memory: str) -> float:
    """Read a share of the memory.

    >>> _share("10%")
    0.1
    """
    percent = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,15})?)\s*%\s*", memory)
    share = float(percent[1]) / 100 if percent else 0.0
    if not 0 < share <= 1:
        requirement = "a percentage above 0% and at most 100%"
        hint = "write 10% for a tenth of what the exact join holds"
        raise SpecificationError(must("memory", requirement, memory, hint))
    return share


def _compile() -> None:
    """Compile all that the joins use, so that Spark's workers find it on disk."""
    tables = scenario.tables(scenario.FEWEST, seed=0)
    # In two micro-batches, as the second one uses more kernels than the first.
    halves = {
        name: [table.slice(0, len(table) // 2), table.slice(len(table) // 2)]
        for name, table in tables.items()
    }
    scenario.join(seed=0).replay(halves)
    for name in _SHED_BY:
        scenario.join(seed=0, strategy=name, rows=10).replay(halves)


def _run(name: str, streamed: Streamed, seconds: float, exact: Streamed) -> Run:
    """Compare a join with the exact one, and return its figures."""
    metrics = streamed.metrics
    counts, all_counts = _in_bins(streamed.counts), _in_bins(exact.counts)
    recall = np.full(len(counts), np.nan)
    np.divide(counts, all_counts, out=recall, where=all_counts > 0)
    return Run(
        strategy=name,
        results=metrics.emitted,
        recall=metrics.emitted / exact.metrics.emitted,
        rows_most=metrics.held_most,
        state_bytes=metrics.state_bytes,
        evicted=sum(stream.evicted for stream in metrics.streams.values()),
        dropped=sum(stream.dropped for stream in metrics.streams.values()),
        seconds=seconds,
        batch_rows=streamed.batch_rows,
        batch_seconds=streamed.batch_seconds,
        recall_in_bins=recall,
        estimate=metrics.recall,
        choice=metrics.choice,
        summary=metrics.summary(),
    )


def _in_bins(counts: Mapping[int, int]) -> Floats:
    bins = len(scenario.day_edges()) - 1
    return np.array([counts.get(number, 0) for number in range(bins)], np.float64)
