"""Plans as trees: what is read, selected and joined, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Filter", "Pair", "Read", "Single", "Tree", "nodes_of", "short", "streams_below"]


@dataclass(frozen=True)
class Read:
    """Reads the relation of that number."""

    relation: int


@dataclass(frozen=True)
class Filter:
    """Tests rows by the selection of that number."""

    selection: int
    below: Tree


@dataclass(frozen=True)
class Pair:
    """Joins two inputs, or multiplies them if no condition connects them."""

    left: Tree
    right: Tree


@dataclass(frozen=True)
class Single:
    """Joins all inputs in one operator, which keeps no intermediate results."""

    inputs: tuple[Tree, ...]


Tree: TypeAlias = Read | Filter | Pair | Single


def inputs_of(tree: Tree) -> tuple[Tree, ...]:
    """Return the trees directly below."""
    match tree:
        case Read():
            return ()
        case Filter(below=below):
            return (below,)
        case Pair(left=left, right=right):
            return (left, right)
        case Single(inputs=inputs):
            return inputs


def nodes_of(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes, inputs before what they feed."""
    for each in inputs_of(tree):
        yield from nodes_of(each)
    yield tree


def streams_below(tree: Tree) -> int:
    """Return the set of relations that a tree reads, as bits.

    >>> streams_below(Pair(Read(0), Read(2)))
    5
    """
    found = 0
    for node in nodes_of(tree):
        if isinstance(node, Read):
            found |= 1 << node.relation
    return found


def selections_below(tree: Tree) -> tuple[int, ...]:
    """Return the selections of a tree, in order."""
    return tuple(sorted(node.selection for node in nodes_of(tree) if isinstance(node, Filter)))


def short(tree: Tree, names: tuple[str, ...]) -> str:
    """Return a tree in one line, selections by a word.

    >>> short(Pair(Pair(Filter(0, Read(0)), Read(1)), Read(2)), ("a", "b", "c"))
    '(select(a) ⋈ b) ⋈ c'
    """
    text = _short(tree, names)
    return text[1:-1] if isinstance(tree, Pair) else text


def _short(tree: Tree, names: tuple[str, ...]) -> str:
    match tree:
        case Read(relation=relation):
            return names[relation]
        case Filter(below=below):
            return f"select({_short(below, names)})"
        case Pair(left=left, right=right):
            return f"({_short(left, names)} ⋈ {_short(right, names)})"
        case Single(inputs=inputs):
            return f"all at once ({', '.join(_short(each, names) for each in inputs)})"
