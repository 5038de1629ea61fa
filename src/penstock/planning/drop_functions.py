"""Results, cost and memory of plans as functions of what drop boxes keep of each stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.planning.estimate import Estimator
from penstock.planning.geometric import Posynomial
from penstock.planning.tree import Single, nodes_of, streams_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.planning.estimate import PlanEstimate
    from penstock.planning.model import QueryModel

__all__ = ["Functions", "Kept", "SharedCost", "is_uneven", "posynomial", "project_of"]

Floats = npt.NDArray[np.float64]
Plans: TypeAlias = "Sequence[tuple[PlanEstimate, QueryModel]]"
SharedCost: TypeAlias = "Callable[[Plans, tuple[str, ...]], Posynomial]"

# What a stream is taken to keep at least where amounts are divided by it.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Functions:
    """Results, cost and memory of plans as functions of what is kept of each stream.

    A stream has a window by time, by rows, or both of them in several queries.
    """

    names: tuple[str, ...]
    by_time: npt.NDArray[np.bool_]
    by_rows: npt.NDArray[np.bool_]
    output: Posynomial
    cost: Posynomial
    memory: Posynomial


class Kept:
    """The functions of some plans over the same streams, and how they change with the shares.

    They are sums of products of the shares, with two exceptions. Which of two rows came later
    depends on how long windows are, and a window by rows behind a drop box lasts longer: so a
    condition with two selectivities has another mean of both for each choice of shares. And one
    operator over all streams probes them in an order that depends on their rates.

    Parameters
    ----------
    plans
        With nothing dropped.
    shared_cost
        Returns the cost of plans that share operators; None for the sum of the costs.
    """

    def __init__(self, plans: Plans, shared_cost: SharedCost | None = None) -> None:
        self._plans, self._shared_cost = plans, shared_cost
        streams: dict[str, set[bool]] = {}
        for _, model in plans:
            for each in model.relations:
                if not each.is_table:
                    streams.setdefault(each.name, set()).add(each.duration is not None)
        self.names = tuple(streams)
        self._by_time = np.array([True in kinds for kinds in streams.values()])
        self._by_rows = np.array([False in kinds for kinds in streams.values()])
        self.full = self._functions(plans)
        self.change = any(_changes(plan, model) for plan, model in plans)
        self._last: tuple[Floats, Functions] | None = None

    def at(self, kept: Floats) -> Functions:
        """Return the functions that are exact for these shares."""
        if not self.change:
            return self.full
        if self._last is not None and np.array_equal(self._last[0], kept):
            return self._last[1]
        floor = np.maximum(kept, _LEAST_SHARE)
        shares = dict(zip(self.names, floor.tolist(), strict=True))
        thinner = []
        for plan, model in self._plans:
            less = model.kept(shares)
            thinner.append((Estimator(less).estimate(plan.root.tree), less))
        now = self._functions(thinner)
        output, cost, memory = (
            Posynomial(each.coefficients / np.prod(floor**each.exponents, axis=1), each.exponents)
            for each in (now.output, now.cost, now.memory)
        )
        found = Functions(self.names, self._by_time, self._by_rows, output, cost, memory)
        self._last = kept.copy(), found
        return found

    def _functions(self, plans: Plans) -> Functions:
        names = self.names
        outputs = [
            posynomial([(streams_below(plan.root.tree), plan.root.newest)], model, names)
            for plan, model in plans
        ]
        if self._shared_cost is None:
            cost = reduce(Posynomial.plus, [cost_of(plan, model, names) for plan, model in plans])
        else:
            cost = self._shared_cost(plans, names)
        return Functions(
            names,
            self._by_time,
            self._by_rows,
            reduce(Posynomial.plus, outputs),
            cost,
            reduce(Posynomial.plus, [memory_of(plan, model, names) for plan, model in plans]),
        )


def is_uneven(model: QueryModel) -> bool:
    """Return whether a condition's selectivity depends on what is kept of streams.

    That is where it has two, and one of its windows is by rows. It matters if rows of a third
    relation find pairs, or pairs have to be kept.
    """
    by_rows = {each.name for each in model.relations if each.duration is None and each.rate}
    return len(model.relations) > 2 and any(
        each.backward not in (None, each.selectivity) and bool(by_rows & {each.left, each.right})
        for each in model.conditions
    )


def _changes(plan: PlanEstimate, model: QueryModel) -> bool:
    """Return whether coefficients of a plan depend on what is kept."""
    by_time = any(each.duration is not None for each in model.relations)
    in_order = any(
        isinstance(node, Single) and len(node.inputs) > 2 for node in nodes_of(plan.root.tree)
    )
    return is_uneven(model) or (in_order and by_time)


def cost_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the cost of a plan as a function of what is kept of each stream: equation 28."""
    work = posynomial([term for node in plan.nodes for term in node.work], model, names)
    return work.plus(project_of(plan, model, names))


def project_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the cost of the projection at the end of a plan, in the same way."""
    root = plan.root
    each = model.costs.project * model.project
    return posynomial([(streams_below(root.tree), each * root.newest)], model, names)


def memory_of(plan: PlanEstimate, model: QueryModel, names: tuple[str, ...]) -> Posynomial:
    """Return the rows that a plan keeps as a function of what is kept of each stream."""
    stored = [each for node in plan.nodes for each in node.stored if each[1] > 0]
    exponents = np.zeros((len(stored), len(names)))
    for at, (sets, _) in enumerate(stored):
        for i, relation in enumerate(model.relations):
            if sets >> i & 1 and relation.duration is not None:
                exponents[at, names.index(relation.name)] = 1.0
    return Posynomial(np.array([rows for _, rows in stored]), exponents)


def posynomial(
    work: Iterable[tuple[int, Floats]], model: QueryModel, names: tuple[str, ...]
) -> Posynomial:
    """Return sums by set and newest member as a function of what is kept of each stream.

    A row of relation k comes x_k times as often. It finds as many others as before in a window by
    rows, and x_i times as many in a window by time.
    """
    coefficients, exponents = [], []
    for sets, amounts in work:
        for k, amount in enumerate(amounts):
            if amount <= 0:
                continue
            powers = np.zeros(len(names))
            for i, relation in enumerate(model.relations):
                if i == k or (sets >> i & 1 and relation.duration is not None):
                    powers[names.index(relation.name)] = 1.0
            coefficients.append(float(amount))
            exponents.append(powers)
    return Posynomial(
        np.array(coefficients), np.array(exponents).reshape(len(coefficients), len(names))
    )
