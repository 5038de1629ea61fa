"""The cheapest plan of a query: dynamic programming over sets of relations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.planning.estimate import Estimator
from penstock.planning.tree import Filter, Pair, Read, Single, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.planning.model import QueryModel

__all__ = [
    "Search",
    "cheapest",
    "plans_by_split",
    "pushed_and_placed",
    "select_in_order",
    "single_plans",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Selections that may be anywhere double the work each: so many of them, and fewer for many
# relations, where ways to divide all sets, times sets of selections, would be more than this.
_MOST_PLACED = 5
_MOST_WORK = 1 << 23
# Ways to divide sets, times sets of selections, that are compared at once.
_AT_ONCE = 1 << 20
# Stored tables that a single operator is joined with in every order.
_MOST_TABLES = 4
# Where a selection can be in a plan with a single operator.
_AT_ITS_STREAM, _ABOVE_STREAMS, _ON_TOP = range(3)


@dataclass(frozen=True)
class Search:
    """Finds the plan with the least cost, or the least of cost and memory with a price.

    Plans are all binary trees over the relations, deep and bushy, with products. A selection can
    be at any place above its relation. One that costs no more than it saves at the first join is
    always best at its relation, and is put there at once.

    Parameters
    ----------
    model
        The query and its numbers.
    memory_price
        What keeping one row counts for, in the unit of cost.
    cost_weight
        What a unit of cost counts for; 0 to look only at memory.

    References
    ----------
    `ayad04` 4, equations 14 to 17; "Complexity of Optimization" suggests dynamic programming.

    Examples
    --------
    >>> from penstock.planning.examples import example_1
    >>> from penstock.planning.tree import short
    >>> short(cheapest(example_1(0.0005)), ("A", "B", "C"))
    '(A ⋈ B) ⋈ C'
    >>> short(Search(example_1(0.0005), memory_price=1.0, cost_weight=0.0).best(), ("A", "B", "C"))
    'A ⋈ (B ⋈ C)'
    """

    model: QueryModel
    memory_price: float = 0.0
    cost_weight: float = 1.0

    def best(self) -> Tree:
        """Return the best plan with joins of two inputs.

        If streams that have to be joined last rule out all of these, the single operator is left.
        """
        table = _Table(self)
        if not table.has_plans:
            return single_plans(self.model)[0]
        return table.plan(table.everything, table.placed_all)

    def by_split(self) -> list[Tree]:
        """Return the best plan for each way to divide the relations between the last two inputs.

        Selections are applied below the last join or above it, as is best.
        """
        table = _Table(self)
        if len(self.model.relations) == 1:
            return [self.best()]
        parts = table.parts(np.array([table.everything]))[0]
        return [table.plan_of_split(part) for part in map(int, parts) if table.has_split(part)]


def cheapest(model: QueryModel) -> Tree:
    """Return the plan with the least cost, also among those with a single operator."""
    estimator = Estimator(model)
    plans = [Search(model).best(), *single_plans(model)]
    return min(plans, key=lambda plan: estimator.estimate(plan).cost)


def plans_by_split(model: QueryModel) -> list[Tree]:
    """Return a plan for each way to divide the relations at the end, cheapest first.

    For two and three relations these are all plans, for more of them the best of each kind.
    """
    estimator = Estimator(model)
    plans = [*Search(model).by_split(), *single_plans(model)]
    return sorted(plans, key=lambda plan: estimator.estimate(plan).cost)


def single_plans(model: QueryModel) -> list[Tree]:
    """Return the plans that join all streams in one operator: none if there cannot be one.

    Stored tables are joined with what it gives, in every order. Cheap selections are at their
    relations. Of the others any may be above the operator, or above all joins.
    """
    numbers = range(len(model.relations))
    streams = [at for at in numbers if not model.relations[at].is_table]
    tables = [at for at in numbers if at not in streams]
    if not model.single or len(streams) < 2:
        return []
    pushed, placed = pushed_and_placed(model)
    places = (_AT_ITS_STREAM, _ABOVE_STREAMS, *([_ON_TOP] if tables else []))
    plans: list[Tree] = []
    for chosen in product(places, repeat=len(placed)):

        def placed_at(where: int, chosen: tuple[int, ...] = chosen) -> list[int]:
            return [each for each, place in zip(placed, chosen, strict=True) if place == where]

        below = [*pushed, *placed_at(_AT_ITS_STREAM)]
        read = [
            select_in_order(model, Read(at), [each for each in below if _at(model, each) == at])
            for at in numbers
        ]
        single: Tree = Single(tuple(read[at] for at in streams))
        single = select_in_order(model, single, placed_at(_ABOVE_STREAMS))
        for order in _orders(tables):
            tree = reduce(Pair, (read[at] for at in order), single)
            plans.append(select_in_order(model, tree, placed_at(_ON_TOP)))
    return plans


def _orders(tables: list[int]) -> Iterable[Sequence[int]]:
    """Return the orders in which tables are joined; that of the query if there are many."""
    return permutations(tables) if len(tables) <= _MOST_TABLES else [tables]


class _Table:
    """Best values for every set of relations and every set of selections applied to it."""

    def __init__(self, search: Search) -> None:
        model = search.model
        self._search, self._model = search, model
        self._estimator = Estimator(model)
        self._pushed, self._placed = pushed_and_placed(model)
        count = len(model.relations)
        self.everything = (1 << count) - 1
        self.placed_all = (1 << len(self._placed)) - 1
        self._applied = np.arange(1 << len(self._placed))
        # own[s]: the placed selections that are of relations in s
        self._own = np.zeros(1 << count, np.int64)
        for bit, selection in enumerate(self._placed):
            has = np.arange(1 << count) >> _at(model, selection) & 1
            self._own |= has << bit
        self._fill()

    def parts(self, sets: Integers) -> Integers:
        """Return, for sets of the same size, one half of each way to divide them.

        It is the half with the first relation; the other half is the rest of the set.
        """
        size = int(sets[0]).bit_count()
        bits = np.zeros((sets.size, size), np.int64)
        rest = sets.copy()
        for place in range(size):
            bits[:, place] = rest & -rest
            rest ^= bits[:, place]
        chosen = np.arange((1 << size - 1) - 1)[:, None] >> np.arange(size - 1) & 1
        return bits[:, :1] + bits[:, 1:] @ chosen.T

    def _fill(self) -> None:
        model, subsets = self._model, self._estimator.subsets
        states = (self._own.size, self._applied.size)
        pushed = np.ones(self._own.size)
        for selection in self._pushed:
            has = np.arange(self._own.size) >> _at(model, selection) & 1 == 1
            pushed[has] *= model.selections[selection].selectivity
        placed = np.array(
            [
                self._estimator.selected([s for b, s in enumerate(self._placed) if a >> b & 1])
                for a in self._applied
            ]
        )
        self._rates = (subsets.rates * pushed)[:, None] * placed
        self._windows = (subsets.windows * pushed)[:, None] * placed
        self._best = np.full(states, np.inf)
        self._part = np.zeros(states, np.int64)
        self._last = np.full(states, -1)
        sets = np.arange(1, self._own.size)
        sizes = np.bitwise_count(sets)
        for relation in range(len(model.relations)):
            self._best[1 << relation, 0] = self._read_cost(relation)
        self._select(sets[sizes == 1])
        for size in range(2, len(model.relations) + 1):
            level = sets[sizes == size]
            at_once = max(1, (_AT_ONCE >> size - 1) // self._applied.size)
            for begin in range(0, level.size, at_once):
                self._join(level[begin : begin + at_once])
            self._select(level)

    def _join(self, sets: Integers) -> None:
        """Find the best two inputs of each of some sets of the same size."""
        parts = self.parts(sets)
        values = self._values(sets, parts)
        at = values.argmin(axis=1)
        best = np.take_along_axis(values, at[:, None], 1)[:, 0]
        possible = self._applied & ~self._own[sets][:, None] == 0
        if self._model.joined_last:
            possible &= np.array([[self._model.may_join(each)] for each in sets.tolist()])
        self._best[sets] = np.where(possible, best, np.inf)
        self._part[sets] = np.take_along_axis(parts, at, 1)

    def _values(self, sets: Integers, parts: Integers) -> Floats:
        """Return values by set, part that is joined with the rest, and selections applied."""
        costs, streams = self._model.costs, self._estimator.subsets.streams
        cost = costs.result * self._rates[sets][:, None]
        rest = sets[:, None] ^ parts
        value: Floats = np.zeros(1)
        for one, other in ((parts, rest), (rest, parts)):
            state = one[:, :, None], self._own[one][:, :, None] & self._applied
            live = streams[other][:, :, None] & (self._windows[state] > 0)
            cost = cost + self._rates[state] * (costs.probe + costs.store * live)
            value = value + self._best[state]
            if self._search.memory_price:
                value = value + self._search.memory_price * self._windows[state] * live
        total: Floats = value + self._search.cost_weight * cost
        return total

    def _select(self, sets: Integers) -> None:
        """Apply further selections on top of sets, in the best order."""
        for applied in range(self._applied.size):
            for bit, selection in enumerate(self._placed):
                more = applied | 1 << bit
                if more == applied:
                    continue
                cost = self._model.select_cost(self._model.selections[selection])
                value = (
                    self._best[sets, applied]
                    + self._search.cost_weight * cost * self._rates[sets, applied]
                )
                better = sets[(self._own[sets] >> bit & 1 == 1) & (value < self._best[sets, more])]
                self._best[better, more] = (
                    self._best[better, applied]
                    + self._search.cost_weight * cost * self._rates[better, applied]
                )
                self._last[better, more] = bit

    def _read_cost(self, relation: int) -> float:
        own = [each for each in self._pushed if _at(self._model, each) == relation]
        tree = select_in_order(self._model, Read(relation), own)
        return self._search.cost_weight * self._estimator.estimate(tree).cost

    def plan(self, sets: int, applied: int) -> Tree:
        """Return the best plan of a set to which some selections have been applied."""
        bit = int(self._last[sets, applied])
        if bit >= 0:
            return Filter(self._placed[bit], self.plan(sets, applied & ~(1 << bit)))
        if sets & (sets - 1) == 0:
            relation = sets.bit_length() - 1
            own = [each for each in self._pushed if _at(self._model, each) == relation]
            return select_in_order(self._model, Read(relation), own)
        part = int(self._part[sets, applied])
        return self._joined(part, sets ^ part, applied)

    def _joined(self, left: int, right: int, applied: int) -> Tree:
        return Pair(
            self.plan(left, applied & int(self._own[left])),
            self.plan(right, applied & int(self._own[right])),
        )

    @property
    def has_plans(self) -> bool:
        """Whether there is a plan."""
        return bool(np.isfinite(self._best[self.everything, self.placed_all]))

    def has_split(self, part: int) -> bool:
        """Return whether there is a plan whose last join is of that part and the rest."""
        both = (part, self.everything ^ part)
        return all(np.isfinite(self._best[each]).any() for each in both)

    def plan_of_split(self, part: int) -> Tree:
        """Return the best plan whose last join is of that part and the rest."""
        estimator = self._estimator
        plans = []
        for applied in range(self._applied.size):
            above = [s for bit, s in enumerate(self._placed) if not applied >> bit & 1]
            tree = self._joined(part, self.everything ^ part, applied)
            plans.append(select_in_order(self._model, tree, above))
        return min(plans, key=lambda plan: estimator.estimate(plan).cost)


def _at(model: QueryModel, selection: int) -> int:
    return model.index(model.selections[selection].relation)


def _rank(model: QueryModel, selection: int) -> float:
    """Return cost per row dropped: consecutive selections are best in ascending order of it."""
    each = model.selections[selection]
    dropped = 1 - each.selectivity
    return model.select_cost(each) / dropped if dropped else np.inf


def select_in_order(model: QueryModel, tree: Tree, selections: list[int]) -> Tree:
    """Return a tree with selections on top of it, in the best order."""
    for each in sorted(selections, key=lambda each: (_rank(model, each), each)):
        tree = Filter(each, tree)
    return tree


def pushed_and_placed(model: QueryModel) -> tuple[list[int], list[int]]:
    """Return the selections that are best at their relation, and those that may be anywhere.

    A selection at its relation costs C_sigma for each row. The first join above it costs at least
    C_P for each row, of which it saves the rows that it drops. So if
    C_sigma <= (1 - sigma) * C_P it has paid for itself, and all later operators are cheaper.
    """
    pushed: list[int] = []
    placed: list[int] = []
    for number in range(len(model.selections)):
        is_cheap = _rank(model, number) <= model.costs.probe
        is_of_table = model.relations[_at(model, number)].is_table
        (pushed if is_cheap or is_of_table else placed).append(number)
    placed.sort(key=lambda each: -_rank(model, each))
    most = min(_MOST_PLACED, max(0, (_MOST_WORK // 3 ** len(model.relations)).bit_length() - 1))
    return sorted(pushed + placed[most:]), sorted(placed[:most])
