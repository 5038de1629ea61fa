"""Operators kept at hand between micro-batches, in the memory of a Python worker.

A worker that joins the same shard in two micro-batches in a row need not read its state again.
Spark gives shards to workers as it likes, so what is at hand may be old: only what the state's own
head says is the last one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.engine.operator import Operator

# Of which operators are kept, those that ran last.
_MOST_JOINS = 4

_kept: dict[tuple[str, int], Kept] = {}


@dataclass(frozen=True)
class Kept:
    """An operator, the head under which it was saved, and in which micro-batch."""

    operator: Operator
    head: bytes
    batch: int


def take(join: str, shard: int, head: bytes) -> Operator | None:
    """Give the operator that was saved under a head, if it is at hand.

    It is no longer kept then: if the micro-batch fails, what is left of it must not be used.
    """
    kept = _kept.pop((join, shard), None)
    return kept.operator if kept is not None and kept.head == head else None


def keep(join: str, shard: int, kept: Kept) -> None:
    """Keep an operator; let go of those that other workers have surely overtaken."""
    for key, other in list(_kept.items()):
        if key[0] == join and other.batch < kept.batch - 1:
            del _kept[key]
    _kept.pop((join, shard), None)  # so that it comes last
    _kept[join, shard] = kept
    # The operators of queries that have ended are overtaken by nobody.
    joins = list(dict.fromkeys(key[0] for key in reversed(_kept)))
    for key in [key for key in _kept if key[0] not in joins[:_MOST_JOINS]]:
        del _kept[key]
