"""How rows are found: by key, by ranges of values, or among neighbours that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.by_type import by_predicate
from penstock.engine.kernels.index import find
from penstock.engine.kernels.jit import inner, wide
from penstock.engine.kernels.layout import NOTHING, Memory
from penstock.engine.kernels.prefetch import prefetch
from penstock.engine.kernels.probe_equal import Partial, probe_equal
from penstock.engine.kernels.probe_range import Ranges, probe_range
from penstock.engine.kernels.probe_similar import Nearby, probe_similar
from penstock.engine.kernels.results import PREFETCHED
from penstock.engine.retention import dispatch

if TYPE_CHECKING:
    import numpy as np

    from penstock.engine.arrays import Array
    from penstock.engine.kernels.results import Results


@inner
def _prefetch(
    memory: Memory,
    probing: Partial,
    arrivals: Array,
    at: int,
    start: int,
    stop: int,
    results: Results,
) -> None:
    if (at - start) % PREFETCHED == 0:
        prefetch(memory, arrivals, at, min(at + PREFETCHED, stop), results)


@by_predicate({Partial: _prefetch})
def prefetch_next(
    memory: Memory,
    probing: Partial | Ranges | Nearby,
    arrivals: Array,
    at: int,
    start: int,
    stop: int,
    results: Results,
) -> None:
    """Prefetch for some arrivals at a time, from `start` on, where rows are found by key."""


@inner
def _slot(
    memory: Memory,
    probing: Partial,
    arrival: np.void,
    number: int,
    results: Results,
) -> int:
    slot = wide(results.prefetched[number % PREFETCHED])
    return find(memory.of_any_kind, arrival["key_word"], wide(0)) if slot == NOTHING else slot


@by_predicate({Partial: _slot})
def slot_of_key(
    memory: Memory,
    probing: Partial | Ranges | Nearby,
    arrival: np.void,
    number: int,
    results: Results,
) -> int:
    """Return the slot of an arrival's key, where rows are found by key.

    `number` counts the arrivals, as in `prefetch_next`.
    """
    return wide(NOTHING)


@inner
def _probe_equal(
    memory: Memory, probing: Partial, arrival: np.void, slot: int, results: Results
) -> bool:
    return probe_equal(dispatch.noted_in(memory), probing, arrival, slot, results)


@inner
def _probe_range(
    memory: Memory, probing: Ranges, arrival: np.void, slot: int, results: Results
) -> bool:
    return probe_range(dispatch.noted_in(memory), probing, arrival, slot, results)


@inner
def _probe_similar(
    memory: Memory, probing: Nearby, arrival: np.void, slot: int, results: Results
) -> bool:
    return probe_similar(dispatch.noted_in(memory), probing, arrival, slot, results)


@by_predicate({Partial: _probe_equal, Ranges: _probe_range, Nearby: _probe_similar})
def probe(
    memory: Memory,
    probing: Partial | Ranges | Nearby,
    arrival: np.void,
    slot: int,
    results: Results,
) -> bool:
    """Emit the results of an arrival; return False if there is no room for them."""
    return True
