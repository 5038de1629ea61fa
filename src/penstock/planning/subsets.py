"""Rates and windows of every set of relations: what is the same for all plans of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.planning.model import Condition, QueryModel

__all__ = ["Subsets", "live_selectivity"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Subsets:
    """Rate and window of the join of each set of relations, without selections.

    A set is a number whose bit i says whether relation i is in it. Both are independent of the
    plan: Observation 1.

    Attributes
    ----------
    newest
        ``newest[s, k]``: results per unit of time of the join of set s whose newest row is of
        relation k. Their sum over k is equation 5.
    windows
        ``windows[s]``: results of which all members are still in their windows, equation 6.
    streams
        ``streams[s]``: whether set s has a stream in it, so that rows arrive.

    References
    ----------
    `ayad04` equations 3 to 6. With two selectivities for a condition, a row that arrives finds
    those of its own direction, and conditions between older rows have a mean of both.

    Examples
    --------
    >>> from penstock.planning import Condition, OperatorCosts, QueryModel, Relation
    >>> subsets = Subsets.of(
    ...     QueryModel(
    ...         relations=(
    ...             Relation(name="A", rate=10, rows=10),
    ...             Relation(name="B", rate=20, rows=10),
    ...         ),
    ...         conditions=(Condition(left="A", right="B", selectivity=0.5),),
    ...         costs=OperatorCosts.per_row(0.001),
    ...     )
    ... )
    >>> subsets.rates.tolist(), subsets.windows.tolist()
    ([0.0, 10.0, 20.0, 150.0], [1.0, 10.0, 10.0, 50.0])
    """

    newest: Floats
    windows: Floats
    streams: Flags

    @property
    def rates(self) -> Floats:
        """``rates[s]``: results per unit of time."""
        rates: Floats = self.newest.sum(axis=1)
        return rates

    @classmethod
    def of(cls, model: QueryModel) -> Subsets:
        """Compute rates and windows of all sets of a query's relations."""
        count = len(model.relations)
        sets = np.arange(1 << count)
        member = (sets[:, None] >> np.arange(count)) & 1 == 1
        sizes = np.array([each.window for each in model.relations])
        rates = np.array([each.rate for each in model.relations])
        used = _counted(model, member)
        live = np.ones(sets.size)
        for condition, counts in used:
            live[counts] *= live_selectivity(model, condition)
        windows = live * np.where(member, sizes, 1.0).prod(axis=1)
        newest = np.zeros((sets.size, count))
        for k in range(count):
            others = member.copy()
            others[:, k] = False
            # lambda_k times the product of the other windows, times the selectivities
            flow = rates[k] * np.where(others, sizes, 1.0).prod(axis=1)
            for condition, counts in used:
                flow[counts] *= _seen_by(model, condition, k)
            newest[:, k] = np.where(member[:, k], flow, 0.0)
        return cls(newest, windows, (member & (rates > 0)).any(axis=1))


def live_selectivity(model: QueryModel, condition: Condition) -> float:
    """Return the share of pairs in the windows that match, whichever of the two came later.

    If a window spans the time T of the stream, ages are uniform in it. So the left row is the
    newer one with chance 1 - T_L / (2 T_R) if T_L <= T_R, and T_R / (2 T_L) otherwise.
    """
    if condition.backward is None:
        return condition.selectivity
    left, right = (model.relations[model.index(name)] for name in (condition.left, condition.right))
    spans = [each.window / each.rate if each.rate else np.inf for each in (left, right)]
    if spans[0] <= spans[1]:
        newer = 1 - spans[0] / (2 * spans[1]) if spans[1] > 0 and spans[0] < np.inf else 0.5
    else:
        newer = spans[1] / (2 * spans[0])
    return float(newer * condition.selectivity + (1 - newer) * condition.backward)


def _seen_by(model: QueryModel, condition: Condition, newest: int) -> float:
    """Return the selectivity of a condition where the newest row is of that relation."""
    if condition.backward is not None and model.names[newest] == condition.right:
        return condition.backward
    if model.names[newest] == condition.left:
        return condition.selectivity
    return live_selectivity(model, condition)


def _counted(model: QueryModel, member: Flags) -> list[tuple[Condition, Flags]]:
    """Return each condition, and for which sets it counts.

    Conditions of one group are an equality of several columns. For a set of relations they count
    as far as they connect its columns, the least selective first: if f = 1 / max(d, d') for
    numbers of values d, this is the usual estimate by containment, min(d) / (product of all d).
    """
    found: list[tuple[Condition, Flags]] = []
    grouped: dict[str, list[Condition]] = {}
    for condition in model.conditions:
        if condition.group is None:
            found.append((condition, _both(model, condition, member)))
        else:
            grouped.setdefault(condition.group, []).append(condition)
    for conditions in grouped.values():
        ends = [end for condition in conditions for end in condition.ends]
        columns = list(dict.fromkeys(ends))
        part = np.tile(np.arange(len(columns)), (member.shape[0], 1))
        conditions.sort(key=lambda each: -live_selectivity(model, each))
        for condition in conditions:
            left, right = (columns.index(end) for end in condition.ends)
            connects = _both(model, condition, member) & (part[:, left] != part[:, right])
            found.append((condition, connects))
            joined = connects[:, None] & (part == part[:, [right]])
            part = np.where(joined, part[:, [left]], part)
    return found


def _both(model: QueryModel, condition: Condition, member: Flags) -> Flags:
    both: Flags = member[:, model.index(condition.left)] & member[:, model.index(condition.right)]
    return both
