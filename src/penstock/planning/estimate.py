"""What a plan needs: rates, windows, cost and memory of each of its operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.planning.subsets import Subsets
from penstock.planning.tree import (
    Filter,
    Pair,
    Read,
    Single,
    Tree,
    inputs_of,
    nodes_of,
    selections_below,
    streams_below,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.planning.model import QueryModel
    from penstock.planning.operator_costs import OperatorCosts

__all__ = ["Estimator", "Node", "PlanEstimate", "join_cost"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Node:
    """One operator of a plan, as the model sees it.

    Attributes
    ----------
    tree
        The operator and all below it.
    newest
        Rows that it gives per unit of time, by the relation of their newest member.
    window
        Rows of its output that are still valid: the window of its consumer.
    arrivals
        Rows that it takes per unit of time.
    work
        Time that it needs per unit of time, for each kind of rows that cause it: the set of
        relations that these rows are made of, and the time by the relation of their newest member.
    stored
        Rows that it has to keep: the set of relations that they are made of, and how many.
    """

    tree: Tree
    newest: Floats
    window: float
    arrivals: float
    work: tuple[tuple[int, Floats], ...]
    stored: tuple[tuple[int, float], ...] = ()

    @property
    def rate(self) -> float:
        """Rows that it gives per unit of time."""
        return float(self.newest.sum())

    @property
    def cost(self) -> float:
        """Time that it needs per unit of time."""
        return float(sum(time.sum() for _, time in self.work))

    @property
    def memory(self) -> float:
        """Rows that it has to keep."""
        return sum(rows for _, rows in self.stored)


@dataclass(frozen=True, eq=False)
class PlanEstimate:
    """Rates, cost and memory of a whole plan.

    Attributes
    ----------
    nodes
        Its operators, inputs before what they feed.
    project
        What the projection at its end costs per unit of time.
    """

    nodes: tuple[Node, ...]
    project: float = 0.0

    @property
    def root(self) -> Node:
        """The last operator."""
        return self.nodes[-1]

    @property
    def rate(self) -> float:
        """Results per unit of time."""
        return self.root.rate

    @property
    def cost(self) -> float:
        """Time that the plan needs per unit of time: equation 12."""
        return sum(node.cost for node in self.nodes) + self.project

    @property
    def memory(self) -> float:
        """Rows that the plan keeps: equation 13."""
        return sum(node.memory for node in self.nodes)

    def shares(self) -> tuple[float, ...]:
        """Return the share of the processor that a scheduler should give to each operator.

        In proportion to cost: section 4, "The Relation to Scheduling".
        """
        total = sum(node.cost for node in self.nodes)
        return tuple(node.cost / total if total else 0.0 for node in self.nodes)


class Estimator:
    """Computes estimates of the plans of one query.

    Parameters
    ----------
    model
        The query and its numbers.

    Examples
    --------
    Plan (a) of Example 1 of `ayad04`:

    >>> from penstock.planning.examples import example_1
    >>> plan = Estimator(example_1(0.0005)).estimate(Pair(Pair(Read(0), Read(1)), Read(2)))
    >>> plan.rate, plan.cost, plan.memory
    (1000.0, 0.125, 80.0)
    """

    def __init__(self, model: QueryModel) -> None:
        self.model = model
        self.subsets = Subsets.of(model)
        self._selectivities = np.array([each.selectivity for each in model.selections])

    def selected(self, selections: Sequence[int]) -> float:
        """Return the share of rows for which some selections all hold."""
        return float(self._selectivities[list(selections)].prod())

    def estimate(self, tree: Tree) -> PlanEstimate:
        """Return rates, windows, costs and memory of a plan."""
        nodes = tuple(self.node(each) for each in nodes_of(tree))
        return PlanEstimate(nodes, self.model.costs.project * nodes[-1].rate * self.model.project)

    def estimate_kept(self, tree: Tree, shares: Mapping[str, float]) -> PlanEstimate:
        """Return the same behind drop boxes that keep these shares of the streams."""
        return Estimator(self.model.kept(shares)).estimate(tree)

    def node(self, tree: Tree) -> Node:
        """Return rates, window, cost and memory of the operator on top of a tree."""
        newest, window = self._output(tree)
        below = inputs_of(tree)
        given = [self._output(each) for each in below]
        sets = [streams_below(each) for each in below]
        costs = self.model.costs
        stored: list[tuple[int, float]] = []
        work: list[tuple[int, Floats]] = []
        match tree:
            case Read():
                return Node(tree, newest, window, float(newest.sum()), ())
            case Filter(selection=selection):
                # Equations 1, 2 and 7.
                each = self.model.select_cost(self.model.selections[selection])
                work = [(sets[0], each * given[0][0])]
            case Pair():
                # Equations 3, 4, 9 and 11; a row is stored only if it has a window, and rows
                # arrive on the other side.
                for own, other in ((0, 1), (1, 0)):
                    rows, size = given[own]
                    live = bool(self.subsets.streams[sets[other]]) and size > 0
                    work.append((sets[own], rows * (costs.probe + costs.store * live)))
                    if live:
                        stored.append((sets[own], size))
            case Single(inputs=inputs):
                work = self._single_work(inputs)
                stored = [(one, size) for one, (_, size) in zip(sets, given, strict=True)]
        if not isinstance(tree, Filter):
            work.append((streams_below(tree), costs.result * newest))
        arrivals = float(sum(rows.sum() for rows, _ in given))
        return Node(tree, newest, window, arrivals, tuple(work), tuple(stored))

    def _single_work(self, inputs: tuple[Tree, ...]) -> list[tuple[int, Floats]]:
        """Return what insertions and probes of an operator cost that joins all inputs at once.

        A row is inserted once. It probes one window after the other, and each partial result
        probes the next: first the windows where the fewest partial results are to be expected.
        """
        costs = self.model.costs
        work: list[tuple[int, Floats]] = []
        sets = [streams_below(each) for each in inputs]
        chosen = [self.selected(selections_below(each)) for each in inputs]
        for first, own in enumerate(sets):
            relation = own.bit_length() - 1
            held, share = own, chosen[first]
            one = np.arange(len(self.model.relations)) == relation
            each = costs.store + costs.probe
            rest = [at for at in range(len(inputs)) if at != first]
            while rest:
                work.append((held, one * self.subsets.newest[held, relation] * share * each))
                expected = [
                    self.subsets.newest[held | sets[at], relation] * chosen[at] for at in rest
                ]
                nearest = rest.pop(int(np.argmin(expected)))
                held, share, each = held | sets[nearest], share * chosen[nearest], costs.probe
        return work

    def _output(self, tree: Tree) -> tuple[Floats, float]:
        """Return the rates and the window of what a tree gives."""
        sets = streams_below(tree)
        share = self.selected(selections_below(tree))
        return self.subsets.newest[sets] * share, float(self.subsets.windows[sets] * share)


def join_cost(
    left_rate: float, right_rate: float, left: OperatorCosts, right: OperatorCosts
) -> float:
    """Return the cost of a join whose two sides are kept in different ways.

    Parameters
    ----------
    left_rate, right_rate
        Rows that arrive on each side.
    left, right
        Costs of the left and of the right window: of a hash table and of a list, for instance.

    References
    ----------
    `ayad04` equation 8, where insertion and invalidation are printed with the sides exchanged: a
    row that arrives from the left is inserted into the left window and probes the right one.

    Examples
    --------
    >>> from penstock.planning.operator_costs import OperatorCosts
    >>> table = OperatorCosts(insert=2.0, invalidate=1.0, probe=1.0)
    >>> listed = OperatorCosts(insert=0.5, invalidate=0.5, probe=9.0)
    >>> join_cost(10.0, 1.0, table, listed)
    122.0
    """
    of_left = right_rate * left.probe + left_rate * left.store
    of_right = left_rate * right.probe + right_rate * right.store
    return of_left + of_right
