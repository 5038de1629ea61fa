"""The running sums of what results stand for against plain sums over all pairs of results."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from penstock.engine.kernels import layout
from penstock.engine.kernels.results import make_results
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_metering import Chances, NaiveMeter

if TYPE_CHECKING:
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("kernels.metering")

ROWS = 12
GAUGES = ("total", "variance", "fourth")


def run(pick: Pick, streams: int, *, by_lot: bool) -> tuple[dict[str, float], NaiveMeter]:
    """Take rows of a few streams through draws, probes and insertions.

    Returns
    -------
    What the kernel has added up, and its naive twin.
    """
    store = make_store()
    memory = store.memory._replace(shed=np.zeros(ROWS, layout.SHED))
    arrivals = np.zeros(1, layout.arrival_type(np.dtype("i8"), np.dtype("i8")))
    results = make_results(streams, np.dtype("i8"), has_weights=False, has_witnesses=False)
    rule, naive = memory.rule[0], NaiveMeter()
    waiting: list[list[int]] = [[] for _ in range(streams)]
    for row in range(ROWS):
        stream = pick(0, streams - 1)
        admit, probe, insert = ((0.25, 0.5, 1.0)[pick(0, 2)] for _ in range(3))
        chances = Chances(admit, 1.0, 1.0) if by_lot else Chances(admit, probe, insert)
        naive.chances[row] = chances
        rule["admit_chance"] = chances.admit
        rule["probe_chance"], rule["probe_weight"] = chances.probes, 1 / chances.probes
        rule["insert_chance"], rule["insert_weight"] = chances.inserted, 1 / chances.inserted
        rule["stands_for"] = 0.0
        if pick(0, 3):
            others = [waiting[s] for s in range(streams) if s != stream]
            found = [each for each in product(*others) if pick(0, 2)]
            for at, members in enumerate(found):
                results.members[at] = members
                naive.results.append((row, members))
            fast.meter(memory, arrivals[0], results, 0, len(found))
        if pick(0, 3):
            fast.begin_metering(memory, row)
            waiting[stream].append(row)
    return {name: float(memory.gauges[name].sum()) for name in GAUGES}, naive


@given(pick=choices())
@examples(50)
def test_of_two_streams_the_variance_is_that_of_all_pairs_of_results(pick: Pick) -> None:
    sums, naive = run(pick, 2, by_lot=False)
    assert sums["total"] == pytest.approx(naive.total)
    assert sums["variance"] == pytest.approx(naive.variance(by_rows=False), abs=1e-6)


@given(pick=choices())
@examples(50)
def test_of_three_streams_pairs_count_once_for_each_common_row(pick: Pick) -> None:
    sums, naive = run(pick, 3, by_lot=False)
    assert sums["total"] == pytest.approx(naive.total)
    assert sums["variance"] == pytest.approx(naive.variance(by_rows=True), abs=1e-6)
    assert sums["variance"] >= naive.variance(by_rows=False) - 1e-6


@given(pick=choices())
@examples(50)
def test_rows_parts_are_squared(pick: Pick) -> None:
    sums, naive = run(pick, 2, by_lot=True)
    assert sums["fourth"] == pytest.approx(naive.fourth, abs=1e-6)
