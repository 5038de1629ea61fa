"""Distances of vectors by their definition: in float64, number by number, in the order of the list.

What a distance is must not depend on the block that a row was compared in, nor on the machine. So
the fast product of blocks (`engine.neighbours`) only proposes pairs, and these kernels decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penstock.engine.kernels.jit import inner, kernel
from penstock.engine.kernels.layout import NOTHING

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Indices, Integers

# Products that are looked at together.
_TOGETHER = 64


class Vectors(NamedTuple):
    """Vectors by place in the queue, and which of them are near each other."""

    vectors: Array
    lengths: Floats
    settings: Floats  # whether directions are compared; the limit: of 1 - cosine, or of the square


class Block(NamedTuple):
    """Products of arriving rows and a part of a window.

    A pair may be near if its product is at least `least[i] + reduction[j]`, up to rounding, for
    which these allow.
    """

    products: Array
    least: Array
    reduction: Array
    places: Integers  # of the arriving rows


@kernel
def lengths_of(vectors: Array, lengths: Floats) -> None:
    """Compute the length of each vector."""
    for row in range(vectors.shape[0]):
        total = 0.0
        for k in range(vectors.shape[1]):
            value = np.float64(vectors[row, k])
            total += value * value
        lengths[row] = np.sqrt(total)


@inner
def is_near(known: Vectors, x: int, y: int) -> bool:
    """Return whether the vectors of two places are within the limit."""
    vectors = known.vectors
    total = 0.0
    if known.settings[0] != 0.0:
        # 1 - cosine is half the square of the distance of the directions. So it has all its digits
        # where it is small, and is 0 for equal vectors.
        by_x = 1.0 / known.lengths[x]
        by_y = 1.0 / known.lengths[y]
        for k in range(vectors.shape[1]):
            difference = np.float64(vectors[x, k]) * by_x - np.float64(vectors[y, k]) * by_y
            total += difference * difference
        return 0.5 * total <= known.settings[1]
    for k in range(vectors.shape[1]):
        difference = np.float64(vectors[x, k]) - np.float64(vectors[y, k])
        total += difference * difference
    return total <= known.settings[1]


@inner
def _may_be_near(products: Array, reduction: Array, least: float) -> bool:
    """Return whether one of _TOGETHER products is large enough.

    Without a branch, so that it is done for many numbers at a time. Not "at least": a product of
    huge numbers may be no number.
    """
    some = np.uint8(0)
    for k in range(_TOGETHER):
        some |= np.uint8(0) if products[k] - reduction[k] < least else np.uint8(1)
    return some != 0


@kernel
def collect(
    known: Vectors,
    block: Block,
    queue: Indices,
    corner: tuple[int, int],
    found: Integers,
    start: int,
) -> int:
    """Note the pairs of a block that are near; return how many are noted now, -1 for no room.

    Parameters
    ----------
    known
        All vectors.
    block
        Arriving rows, and a part of a window.
    queue
        The window: NOTHING where no row is.
    corner
        Number of the first arriving row, and place of the first row of the window's part.
    found
        Pairs: number of the arriving row, place of the other. `start` of them are noted.
    """
    top, first = corner
    products = block.products
    reduction = block.reduction
    columns = products.shape[1]
    for i in range(products.shape[0]):
        least = block.least[i]
        for j in range(0, columns, _TOGETHER):
            stop = min(j + _TOGETHER, columns)
            if stop - j == _TOGETHER and not _may_be_near(
                products[i, j:stop], reduction[j:stop], least
            ):
                continue
            for k in range(j, stop):
                if products[i, k] - reduction[k] < least or queue[first + k] == NOTHING:
                    continue
                if is_near(known, block.places[i], first + k):
                    if start == found.shape[0]:
                        return -1
                    found[start, 0] = top + i
                    found[start, 1] = first + k
                    start += 1
    return start
