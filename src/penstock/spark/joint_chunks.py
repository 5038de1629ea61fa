"""Names of chunks in the state of a workload: that of the join, and that of its chunk."""

from __future__ import annotations


def joint_name(join: str, chunk: str) -> str:
    """Return the name under which a join's chunk is kept.

    >>> joint_name("a/b", "rows/s/1")
    '3/a/b/rows/s/1'
    """
    return f"{len(join)}/{join}/{chunk}"


def join_and_chunk(name: str) -> tuple[str, str]:
    """Return the join and the chunk that a name is of.

    >>> join_and_chunk("3/a/b/rows/s/1")
    ('a/b', 'rows/s/1')

    Raises
    ------
    ValueError
        If it is not such a name.
    """
    size, _, rest = name.partition("/")
    join, chunk = rest[: int(size)], rest[int(size) :]
    if not chunk.startswith("/"):
        raise ValueError(name)
    return join, chunk[1:]
