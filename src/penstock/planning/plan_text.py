"""A plan as lines of text: a tree with what each operator needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.planning.tree import Filter, Pair, Read, Tree, inputs_of, streams_below
from penstock.wording import about, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.planning.estimate import Node, PlanEstimate
    from penstock.planning.model import QueryModel
    from penstock.planning.parsed import Parsed

__all__ = ["node_words", "plan_lines", "processor_words", "time_words"]

# A geometric programme comes near its bounds, and does not reach them.
_NOTHING, _ALL = 1e-6, 1 - 1e-4


# Costs of operators below this are shown with two digits, and below the second not at all.
_LITTLE, _NEXT_TO_NOTHING = 0.0005, 1e-6


def plan_lines(
    parsed: Parsed, model: QueryModel, estimate: PlanEstimate, kept: Mapping[str, float]
) -> list[str]:
    """Return a plan as a tree, the last operator first.

    Parameters
    ----------
    parsed, model
        The query and its numbers.
    estimate
        What the operators need, behind drop boxes.
    kept
        What these keep of each stream.
    """
    by_tree = {node.tree: node for node in estimate.nodes}
    lines = list(_lines(estimate.root.tree, parsed, model, by_tree, kept, "", ""))
    if parsed.output:
        columns = ", ".join(name for name, _ in parsed.output)
        lines = [f"project {columns}", *(_below(lines))]
    return lines


def _below(lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield ("└─ " if number == 0 else "   ") + line


def _lines(
    tree: Tree,
    parsed: Parsed,
    model: QueryModel,
    nodes: Mapping[Tree, Node],
    kept: Mapping[str, float],
    first: str,
    rest: str,
) -> Iterator[str]:
    words, figures = node_words(tree, parsed, model, nodes[tree], kept)
    yield f"{first}{words}  {figures}"
    below = inputs_of(tree)
    for number, each in enumerate(below):
        is_last = number == len(below) - 1
        yield from _lines(
            each,
            parsed,
            model,
            nodes,
            kept,
            rest + ("└─ " if is_last else "├─ "),
            rest + ("   " if is_last else "│  "),
        )


def node_words(
    tree: Tree, parsed: Parsed, model: QueryModel, node: Node, kept: Mapping[str, float]
) -> tuple[str, str]:
    """Return what an operator does, and its figures."""
    figures = [f"{about(node.rate)}/s"]
    match tree:
        case Read(relation=relation):
            source = parsed.sources[relation]
            named = (
                source.name if source.name == source.origin else f"{source.name}: {source.origin}"
            )
            words = f"{named} {source.window}"
            if source.is_table:
                figures = [f"table of {about(node.window)} rows"]
            elif node.window:
                figures.append(f"window of {about(node.window)} rows")
            share = kept.get(source.name, 1.0)
            if share < _NOTHING:
                empty = ", so that its window stays empty" if source.rows is not None else ""
                figures = [f"drop box keeps nothing{empty}"]
            elif share < _ALL:
                figures.append(f"drop box keeps {percent(share)}")
                if source.rows is not None and node.rate:
                    figures.append(f"full after {about(source.rows / node.rate)} s")
            return words, ", ".join(figures)
        case Filter(selection=selection):
            words = f"select {model.selections[selection].text}"
        case Pair(left=left, right=right):
            words = _on(model, streams_below(left), streams_below(right))
        case _:
            words = f"join all at once on {_inside(model, streams_below(tree))}"
    figures.append(f"cost {processor_words(node.cost)}")
    if node.memory:
        figures.append(f"keeps {about(node.memory)} rows")
    return words, ", ".join(figures)


def _inside(model: QueryModel, sets: int) -> str:
    """Return the conditions between the relations of a set, without those that follow."""
    same: dict[tuple[str, str], int] = {}
    among = [
        each
        for each in model.conditions
        if sets >> model.index(each.left) & 1 and sets >> model.index(each.right) & 1
    ]
    found = [each.text for each in among if each.group is None or _unite(same, *each.ends)]
    return " AND ".join(found)


def _on(model: QueryModel, left: int, right: int) -> str:
    """Return the conditions between two sides, without those that follow from others."""
    # Columns that are known to be equal have one number, also those on one side.
    same: dict[tuple[str, str], int] = {}
    across = []
    for each in model.conditions:
        one, other = 1 << model.index(each.left), 1 << model.index(each.right)
        if (one & left and other & right) or (one & right and other & left):
            across.append(each)
        elif each.group is not None and not ((one | other) & ~left and (one | other) & ~right):
            _unite(same, *each.ends)
    found = [each.text for each in across if each.group is None or _unite(same, *each.ends)]
    return f"join on {' AND '.join(found)}" if found else "product"


def _unite(same: dict[tuple[str, str], int], one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Note that two columns are equal; return whether that is new."""
    numbers = [same.setdefault(each, len(same)) for each in (one, other)]
    if numbers[0] == numbers[1]:
        return False
    for column, number in same.items():
        if number == numbers[1]:
            same[column] = numbers[0]
    return True


def processor_words(cost: float) -> str:
    """Return a cost as a part of a processor's time, or as a number of processors.

    >>> processor_words(0.125), processor_words(1.5), processor_words(106.3)
    ('12.5%', '150%', '106 processors')
    >>> processor_words(0.000187), processor_words(2e-9)
    ('0.019%', 'under 0.0001%')
    """
    if cost >= 10:
        return f"{about(cost)} processors"
    if not 0 < cost < _LITTLE:
        return percent(cost)
    return f"{100 * cost:.2g}%" if cost >= _NEXT_TO_NOTHING else "under 0.0001%"


def time_words(seconds: float) -> str:
    """Return a time in a unit that fits.

    >>> time_words(0.00231), time_words(2.0), time_words(4.1e-6)
    ('2.31 milliseconds', '2 seconds', '4.1 microseconds')
    """
    for unit, size in (("seconds", 1.0), ("milliseconds", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} microseconds"
