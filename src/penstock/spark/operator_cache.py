"""A cache of operators between micro-batches, in the memory of a Python worker.

A worker that joins the same shard in two consecutive micro-batches need not read its state again.
Spark assigns shards to workers freely, so a cached operator may be outdated. It is used only if the
head of the saved state is the one that it was saved under.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.engine.joint_shard import JointShard
    from penstock.engine.operator import Operator

# Operators of the joins that ran last are cached, of this many joins at most.
_MAX_JOINS = 4

_cache: dict[tuple[str, int], CachedOperator] = {}


@dataclass(frozen=True)
class CachedOperator:
    """An operator, the head that it was saved under, and the number of that micro-batch."""

    operator: Operator | JointShard
    head: bytes
    batch: int


def take(join_id: str, shard: int, head: bytes) -> Operator | JointShard | None:
    """Remove a shard's operator from the cache, and return it if it was saved under this head.

    It is removed because a micro-batch that fails leaves it in a state that must not be used.
    """
    cached = _cache.pop((join_id, shard), None)
    return cached.operator if cached is not None and cached.head == head else None


def put(join_id: str, shard: int, cached: CachedOperator) -> None:
    """Cache an operator; evict those that are outdated because other workers have their shards."""
    for key, other in list(_cache.items()):
        if key[0] == join_id and other.batch < cached.batch - 1:
            del _cache[key]
    _cache.pop((join_id, shard), None)  # so that it comes last
    _cache[join_id, shard] = cached
    # A query that has ended puts nothing more, so its operators do not become outdated.
    joins = list(dict.fromkeys(key[0] for key in reversed(_cache)))
    for key in [key for key in _cache if key[0] not in joins[:_MAX_JOINS]]:
        del _cache[key]
