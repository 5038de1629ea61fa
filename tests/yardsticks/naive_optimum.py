"""The offline optimum by brute force: after each moment, every set of rows that fits."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Held = frozenset[int]


def naive_optimum(
    arrived: Sequence[int],
    results: Sequence[tuple[int, int, float]],
    limits: Sequence[tuple[frozenset[int], int]],
) -> float:
    """Compute the largest weight of results, moment by moment.

    Parameters
    ----------
    arrived
        For each row the moment in which it arrives.
    results
        For each result the row that waits, the row that probes, and the weight.
    limits
        Sets of tuples, and how many of each memory holds.
    """
    best: dict[Held, float] = {frozenset(): 0.0}
    for moment in sorted(set(arrived)):
        coming = {number for number, at in enumerate(arrived) if at == moment}
        after: dict[Held, float] = {}
        for held, so_far in best.items():
            found = sum(
                weight
                for waiting, probing, weight in results
                if probing in coming and waiting in held
            )
            for kept in _subsets(held | coming):
                if all(len(kept & those) <= rows for those, rows in limits):
                    after[kept] = max(after.get(kept, 0.0), so_far + found)
        best = after
    return max(best.values())


def _subsets(members: Held) -> Iterator[Held]:
    sizes = range(len(members) + 1)
    return map(frozenset, chain.from_iterable(combinations(members, size) for size in sizes))
