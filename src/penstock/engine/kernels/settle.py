"""Where the payload of rows in memory is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import REF_BITS, REF_MASK, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Indices, Integers, Mask


@kernel
def settle(
    memory: Memory,
    stayed: Indices,
    number: int,
    before: Integers,
    arrival_numbers: Integers,
    likeliness: Floats,
) -> None:
    """Refer rows to their places in a row group, and note what is saved with them.

    Notes also their places `before`. One pass: the rows lie in main memory, and each would be
    fetched again for each of these.
    """
    rows = memory.rows
    for at in range(stayed.size):
        row = stayed[at]
        before[at] = rows[row]["ref"] & REF_MASK
        rows[row]["ref"] = (number << REF_BITS) | at
        arrival_numbers[at] = rows[row]["arrival_number"]
        likeliness[at] = rows[row]["likeliness"]


@kernel
def find_live(memory: Memory, of_window: Indices, number: int, stream: int, into: Mask) -> None:
    """Find which rows of a row group are still in memory.

    A row's place may have been reused since, also by a row of another stream.
    """
    rows = memory.rows
    for at in range(of_window.size):
        row = of_window[at]
        is_here = rows[row]["ref"] == (number << REF_BITS) | at
        into[at] = is_here and rows[row]["stream"] == stream
