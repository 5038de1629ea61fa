"""Tell rows that have stayed where their payload now is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import REF_BITS, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Indices, Integers


@kernel
def settle(
    memory: Memory, stayed: Indices, number: int, arrival_numbers: Integers, likeliness: Floats
) -> None:
    """Refer rows to their places in a sub-window, and note what is saved with them.

    One pass: the rows lie in main memory, and each would be fetched again for each of the three.
    """
    rows = memory.rows
    for at in range(stayed.size):
        row = stayed[at]
        rows[row]["ref"] = (number << REF_BITS) | at
        arrival_numbers[at] = rows[row]["arrival_number"]
        likeliness[at] = rows[row]["likeliness"]
