"""Merges several streams, each in time order, into one sequence of arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import kernel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from penstock.engine.arrays import Array, Integers


@kernel
def weave(
    times: Array,
    starts: Integers,
    at: Integers,
    out: Integers,
    streams: npt.NDArray[np.int16],
) -> None:
    """Merge runs of one array; among equal times the earlier run comes first.

    `times[starts[s]:starts[s + 1]]` is run s. `at` is scratch space: a copy of the starts.
    Writes each arrival's index in `times` to `out`, and its run to `streams`.
    """
    runs = at.size
    for i in range(out.size):
        first = -1
        for run in range(runs):
            if at[run] < starts[run + 1] and (first < 0 or times[at[run]] < times[at[first]]):
                first = run
        out[i] = at[first]
        streams[i] = first
        at[first] += 1
