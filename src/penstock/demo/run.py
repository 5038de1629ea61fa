"""How the demonstration runs: the exact join first, which says how much memory there is to cut."""

from __future__ import annotations

import re
import time
from contextlib import nullcontext
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.demo import scenario
from penstock.demo.figures import Demonstration, Run
from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from penstock.engine.replay import Replay
    from penstock.join import Join

__all__ = ["demonstrate"]

_SHED_BY = ("fifo", "random")
# The first join over a market is half as fast as the next: it is the first to touch the memory.
_REPEATS = 3


def _silently(words: str) -> AbstractContextManager[None]:
    del words
    return nullcontext()


def demonstrate(
    *,
    auctions: int = 20_000,
    memory: str = "10%",
    seed: int = 0,
    step: Callable[[str], AbstractContextManager[None]] = _silently,
    clock: Callable[[], float] = time.perf_counter,
) -> Demonstration:
    """Join a market exactly, then with each strategy and a part of the memory.

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
        Called with words on each step that is about to run; gives what to run it in.
    clock
        Tells the time in seconds.

    Returns
    -------
    Demonstration
        The figures of all joins.

    Raises
    ------
    SpecificationError
        If there are too few auctions, or too little memory, to show anything.

    Examples
    --------
    >>> found = demonstrate(auctions=200, memory="100%")
    >>> [(run.strategy, run.recall) for run in found.runs]
    [('exact', 1.0), ('fifo', 1.0), ('random', 1.0)]
    """
    share = _share(memory)
    if auctions < scenario.FEWEST:
        requirement = f"at least {scenario.FEWEST}"
        raise SpecificationError(must("auctions", requirement, auctions, "fewer show nothing"))
    join = scenario.join(seed=seed)
    with step("Compiling the kernels (first run only) ..."):
        _warm_up()
    with step("Opening the auctions and placing the bids ..."):
        tables = scenario.tables(auctions, seed)

    runs: list[Run] = []
    with step("Joining exactly ..."):
        exact, seconds = _timed(join, tables, clock)
    counts = scenario.day_counts(exact.result)
    runs.append(_run("exact", exact, seconds, counts))

    held = exact.metrics.held_most
    rows = int(share * held)
    if rows < len(tables):
        requirement = f"at least {len(tables)} of the {held} rows that the exact join holds"
        raise SpecificationError(must("memory", requirement, memory, "give it more"))
    for name in _SHED_BY:
        with step(f"Joining with {name} in {rows:,} rows ..."):
            join = scenario.join(seed=seed, strategy=name, rows=rows)
            shed, seconds = _timed(join, tables, clock)
        runs.append(_run(name, shed, seconds, counts))
    return Demonstration(
        auctions=auctions,
        bids=tables["bids"].num_rows,
        seed=seed,
        memory=memory.replace(" ", ""),
        budget_rows=rows,
        edges_days=scenario.day_edges(),
        runs=tuple(runs),
    )


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


def _warm_up() -> None:
    """Compile whatever the joins use, so that no run's time has compilation in it."""
    tables = scenario.tables(scenario.FEWEST, seed=0)
    scenario.join(seed=0).replay(tables)
    for name in _SHED_BY:
        scenario.join(seed=0, strategy=name, rows=10).replay(tables)


def _timed(
    join: Join, tables: Mapping[str, pa.Table], clock: Callable[[], float]
) -> tuple[Replay, float]:
    """Run a join a few times, and give what it gave and the least time that it took."""

    def once() -> tuple[Replay, float]:
        began = clock()
        return join.replay(tables), clock() - began

    return min((once() for _ in range(_REPEATS)), key=itemgetter(1))


def _run(name: str, replay: Replay, seconds: float, exact: npt.NDArray[np.int64]) -> Run:
    """Put the figures of a join together, given the exact join's results in each bin of time."""
    metrics = replay.metrics
    counts = scenario.day_counts(replay.result)
    in_bins = np.full(len(exact), np.nan)
    np.divide(counts, exact, out=in_bins, where=exact > 0)
    return Run(
        strategy=name,
        results=metrics.emitted,
        recall=metrics.emitted / int(exact.sum()),
        rows_most=metrics.held_most,
        bytes_most=metrics.bytes_most,
        evicted=sum(stream.evicted for stream in metrics.streams.values()),
        dropped=sum(stream.dropped for stream in metrics.streams.values()),
        arrivals=metrics.arrived,
        seconds=seconds,
        recall_in_bins=in_bins,
    )
