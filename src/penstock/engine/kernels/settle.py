"""Tell rows that have stayed where their payload now is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import kernel
from penstock.engine.kernels.layout import REF_BITS, Memory

if TYPE_CHECKING:
    from penstock.engine.arrays import Floats, Indices, Integers


@kernel
def settle(
    memory: Memory, stayed: Indices, number: int, births: Integers, priorities: Floats
) -> None:
    """Refer rows to their places in a sub-window, and note their births and priorities.

    One pass: the rows lie in main memory, and each would be fetched anew for each of the three.
    """
    rows = memory.rows
    for at in range(stayed.size):
        row = stayed[at]
        rows[row]["ref"] = (number << REF_BITS) | at
        births[at] = rows[row]["birth"]
        priorities[at] = rows[row]["priority"]
