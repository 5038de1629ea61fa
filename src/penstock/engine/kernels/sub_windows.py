"""Parts of windows that are probed: which rows an arriving one looks at, by their age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.kernels.jit import inner, wide

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory


@inner
def _place(memory: Memory, other: int, age: float) -> float:
    """Return where a row of an age is in its window, in parts; one that is newer at the begin."""
    window = memory.streams[other]["window"]
    if age <= 0 or window <= 0:
        return 0.0
    return age / window * memory.probed.shape[2]


@inner
def is_probed(memory: Memory, stream: int, other: int, age: float) -> bool:
    """Return whether an arriving row probes what a row of an age is in.

    Of a part that is not probed whole, the newest rows are.
    """
    place = _place(memory, other, age)
    part = min(int(place), memory.probed.shape[2] - 1)
    share = memory.probed[stream, other, part]
    return share >= 1.0 or place - part < share


@inner
def is_reached(memory: Memory, stream: int, other: int, youngest: float, oldest: float) -> bool:
    """Return whether an arriving row probes anything that may hold rows of these ages."""
    last = memory.probed.shape[2] - 1
    first = min(int(_place(memory, other, youngest)), last)
    for part in range(first, min(int(_place(memory, other, oldest)), last) + 1):
        if memory.probed[stream, other, part] > 0.0:
            return True
    return False


@inner
def rows_probed(memory: Memory, stream: int, other: int) -> int:
    """Return how many rows of a window an arriving row is compared with, as far as is counted.

    Of parts of a window, as many as it would have of an even stream.
    """
    held = memory.streams[other]["held"]
    if memory.rule[0]["sub_windows"] == 0:
        return held
    share = 0.0
    for part in range(memory.probed.shape[2]):
        share += memory.probed[stream, other, part]
    return wide(held * share / memory.probed.shape[2])
