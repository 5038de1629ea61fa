"""The offline optimum under a limit of work: which rows and results are worth their cost.

The results of a join of two streams are a graph: rows are nodes, results are edges. A row that
takes part costs `insert`, a result costs `result`, and all together may cost no more than a
limit. To find the most results is NP-hard (Theorem 1 of `ayad05`): `best_subset` solves it exactly
for small graphs, `greedy_subset` is the paper's heuristic for any.

A row that only looks for results need not be inserted, and then costs nothing by the paper's own
section 3.3. If only rows that wait pay, the optimum is easy to find: `best_insertions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from penstock.yardsticks.matches import Matches

__all__ = ["WorkOptimum", "best_insertions", "best_subset", "greedy_subset"]

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Of what a limit may be exceeded by rounding.
_SLACK = 1e-9
# A proof of optimality takes seconds up to here, and may take hours above.
_MOST_RESULTS = 2_000


@dataclass(frozen=True, eq=False)
class WorkOptimum:
    """The results that are found with a limited amount of work.

    Attributes
    ----------
    limit
        K: the work that may be done.
    work
        That is done.
    found
        For each result whether it is found.
    takes_part
        For each row, those of the first stream first, whether it takes part.
    """

    limit: float
    work: float
    found: Mask
    takes_part: Mask

    @property
    def results(self) -> int:
        """Number of results that are found."""
        return int(self.found.sum())

    @property
    def recall(self) -> float:
        """Share of all results; 1 if there are none."""
        return self.results / self.found.size if self.found.size else 1.0


def best_subset(
    matches: Matches, limit: float, *, insert: float, result: float, induced: bool = False
) -> WorkOptimum:
    """Find the most results for a limited amount of work, exactly.

    Parameters
    ----------
    matches
        All results of the join, as `find_matches` finds them; up to 2,000.
    limit
        K: the work that may be done.
    insert, result
        C_u and C_p: what a row that takes part costs, and a result.
    induced
        Whether all results of rows that take part must be found (Definition 6); otherwise some of
        them may be left out (Definition 5).

    Raises
    ------
    SpecificationError
        If there are too many results, or a cost or the limit is below 0.
    """
    _check(limit, insert, result)
    edges = len(matches)
    if edges > _MOST_RESULTS:
        raise SpecificationError(
            must(
                "results of the join",
                f"{_MOST_RESULTS:,} at most, as the problem is NP-hard",
                f"{edges:,}",
                "use greedy_subset, or fewer rows",
            )
        )
    if not edges:
        return _outcome(matches, limit, np.zeros(0, np.bool_), insert, result)
    used, codes = np.unique(np.concatenate([matches.waiting, matches.probing]), return_inverse=True)
    ends = codes.reshape(2, edges)
    # Variables: whether each row takes part, then whether each result is found.
    places = used.size + np.arange(edges)
    minus_ones, ones = np.full(edges, -1.0), np.ones(edges)
    constraints = [
        # A result needs both of its rows.
        LinearConstraint(_lines(edges, used.size, [(places, ones), (ends[0], minus_ones)]), ub=0),
        LinearConstraint(_lines(edges, used.size, [(places, ones), (ends[1], minus_ones)]), ub=0),
    ]
    if induced:
        both = [(ends[0], ones), (ends[1], ones), (places, minus_ones)]
        constraints.append(LinearConstraint(_lines(edges, used.size, both), ub=1))
    cost = np.concatenate([np.full(used.size, insert), np.full(edges, result)])
    constraints.append(LinearConstraint(cost[None, :], ub=limit * (1 + _SLACK)))
    gain = np.concatenate([np.zeros(used.size), -ones])
    solved = milp(
        gain, constraints=constraints, integrality=np.ones(cost.size), bounds=Bounds(0, 1)
    )
    found = np.asarray(solved.x)[used.size :] > 0.5  # 0 or 1, as floats
    return _outcome(matches, limit, found, insert, result)


def greedy_subset(matches: Matches, limit: float, *, insert: float, result: float) -> WorkOptimum:
    """Find many results for a limited amount of work: Greedy Max-Subset, Fig. 1.

    Connected components are taken whole, those with the most results for their cost first. Of the
    first that does not fit, results are taken as long as they fit, those whose rows have most
    results first (ascending C(e) of eq. 3; the figure says descending, which is a misprint).

    Parameters
    ----------
    matches, limit, insert, result
        As for `best_subset`; any number of results.
    """
    _check(limit, insert, result)
    edges, rows = len(matches), matches.arrived.size
    found = np.zeros(edges, np.bool_)
    if not edges:
        return _outcome(matches, limit, found, insert, result)
    graph = csr_array((np.ones(edges), (matches.waiting, matches.probing)), shape=(rows, rows))
    _, component = connected_components(graph, directed=False)
    of_edge = component[matches.waiting]
    sizes = np.bincount(of_edge, minlength=rows)
    nodes = np.bincount(component, minlength=rows)
    costs = nodes * insert + sizes * result
    worth = np.divide(sizes, costs, out=np.full(rows, np.inf), where=costs > 0)
    left = limit * (1 + _SLACK)
    for each in np.argsort(-worth, kind="stable"):
        if not sizes[each]:
            continue
        if costs[each] <= left:
            found[of_edge == each] = True
            left -= float(costs[each])
            continue
        _take_some(matches, np.flatnonzero(of_edge == each), left, insert, result, found)
        break
    return _outcome(matches, limit, found, insert, result)


def best_insertions(matches: Matches, limit: float, *, insert: float, result: float) -> WorkOptimum:
    """Find the most results if only rows that wait for a result are inserted, and pay for that.

    All results cost the same, so for a number of insertions those rows are best that have most
    results while they wait. This is an upper bound for every way to shed work, those of
    `ayad05` 3.3 included; `best_subset` is not.

    Parameters
    ----------
    matches, limit, insert, result
        As for `best_subset`; any number of results.

    Returns
    -------
    WorkOptimum
        `takes_part` is for rows that are inserted.
    """
    _check(limit, insert, result)
    rows, room = matches.arrived.size, limit * (1 + _SLACK)
    waits = np.bincount(matches.waiting, minlength=rows)
    order = np.argsort(-waits, kind="stable")
    # With 0, 1, 2, ... insertions: the results of these rows, and those for which there is work.
    there = np.concatenate([[0], np.cumsum(waits[order])])
    left = room - insert * np.arange(rows + 1)
    paid = np.floor(left / result) if result > 0 else np.full(rows + 1, np.inf)
    most = np.where(left >= 0, np.minimum(there, paid), -1.0)
    inserted = int(most.argmax())
    # Results by the place of their waiting row; those of the last row may be too many.
    place = np.empty(rows, np.int64)
    place[order] = np.arange(rows)
    first = np.argsort(place[matches.waiting], kind="stable")[: int(most[inserted])]
    found = np.zeros(len(matches), np.bool_)
    found[first] = True
    takes_part = np.zeros(rows, np.bool_)
    takes_part[matches.waiting[found]] = True
    work = float(takes_part.sum()) * insert + float(found.sum()) * result
    return WorkOptimum(limit, work, found, takes_part)


def _take_some(
    matches: Matches, own: Indices, left: float, insert: float, result: float, found: Mask
) -> None:
    """Take results of a component that does not fit, up to the first for which nothing is left."""
    waiting, probing = matches.waiting[own], matches.probing[own]
    degrees = np.bincount(np.concatenate([waiting, probing]))
    # C(e) = C_p + C_u (1/u + 1/v)
    order = np.argsort(1.0 / degrees[waiting] + 1.0 / degrees[probing], kind="stable")
    included: set[int] = set()
    for edge in own[order]:
        ends = {int(matches.waiting[edge]), int(matches.probing[edge])}
        cost = result + insert * len(ends - included)
        if cost > left:
            break
        left -= cost
        included |= ends
        found[edge] = True


def _lines(
    edges: int, rows: int, parts: list[tuple[Indices, npt.NDArray[np.float64]]]
) -> csr_array:
    """Return a sparse matrix with a line for each result, of (columns, values)."""
    columns = np.concatenate([column for column, _ in parts])
    values = np.concatenate([value for _, value in parts])
    lines = np.tile(np.arange(edges), len(parts))
    return csr_array((values, (lines, columns)), shape=(edges, rows + edges))


def _outcome(
    matches: Matches, limit: float, found: Mask, insert: float, result: float
) -> WorkOptimum:
    takes_part = np.zeros(matches.arrived.size, np.bool_)
    takes_part[matches.waiting[found]] = True
    takes_part[matches.probing[found]] = True
    work = float(takes_part.sum()) * insert + float(found.sum()) * result
    return WorkOptimum(limit, work, found, takes_part)


def _check(limit: float, insert: float, result: float) -> None:
    for name, value in (("limit", limit), ("insert", insert), ("result", result)):
        if not value >= 0:
            raise SpecificationError(
                must(name, "0 or more", value, "give it in units of work, such as seconds")
            )
