"""Memory as a flow: which rows to keep, and until when, if the future is known.

Memory of M rows is M units that flow through time. In the moment in which a row arrives, one unit
can flow from the pool of free memory to the row. It stays there from one result to the next, and
after any of them it can flow back to the pool:

    pool ---> pool ---> pool ---> pool ---> pool --->        free memory, moment after moment
      |                   ^         ^
      +---> result 1 -----+         |                        one row
                +-----> result 2 ---+

A row takes at most one unit. The gain of a path is the number of results on it, so the flow with
the largest gain finds the most results. It is a linear programme. As in every network flow, the
vertices of its feasible region are whole numbers: the best vertex has for each row whether it is
kept, and until which of its results. (The programme below has one variable for each path of a unit
through a row, in place of one for each arc. The flow on the arcs is a sum of these, and these are
differences of the flow on the arcs, so the vertices are whole numbers, too.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csc_array

__all__ = ["best_flow"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# HiGHS meets its constraints within 1e-7; a share further than this from 0 and 1 is no vertex.
_WHOLE = 1e-6
# Interior point and then crossover to a vertex is five times as fast as dual simplex on ten
# thousand rows. Dual simplex is tried if the crossover fails.
_METHODS = ("highs-ipm", "highs-ds")


def best_flow(
    arrived: Indices,
    waiting: Indices,
    completed: Indices,
    weights: Floats,
    memory_rows: int,
) -> tuple[Indices, Indices]:
    """Choose the rows to keep, and until when.

    Parameters
    ----------
    arrived
        For each row the moment in which it arrives.
    waiting, completed, weights
        For each result the row that has to be in memory, until which moment, and the weight of the
        result, which is above zero.
    memory_rows
        M, rows in memory after each moment.

    Returns
    -------
    kept, until : array
        The rows, and for each the moment of the last result for which it is kept.

    Examples
    --------
    >>> arrived, waiting, completed = np.array([0, 1]), np.array([0, 0, 1]), np.array([2, 4, 3])
    >>> best_flow(arrived, waiting, completed, np.ones(3), 1)
    (array([0]), array([4]))
    """
    if not waiting.size or not memory_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Memory can be full only when a row with results arrives: these moments are the pools.
    pools = np.unique(arrived[waiting])
    # A unit that flows back waits for the next such moment. So a row can as well have all results
    # before the same moment: together they are one path through the row.
    back = np.searchsorted(pools, completed)
    paths, path_of = np.unique(waiting * (pools.size + 1) + back, return_inverse=True)
    kept, back = np.divmod(paths, pools.size + 1)
    taken = np.searchsorted(pools, arrived[kept])
    until = np.zeros(paths.size, np.int64)
    np.maximum.at(until, path_of, completed)
    # The paths of a row stand together, the shortest first; each has the results of those before.
    last = np.append(kept[1:] != kept[:-1], True)
    rows = np.cumsum(last) - last
    gain: Floats = np.cumsum(np.bincount(path_of, weights), dtype=np.float64)
    gain -= np.concatenate([[0.0], gain[last]])[rows]

    load = np.bincount(taken[last], minlength=pools.size + 1)
    load -= np.bincount(back[last], minlength=pools.size + 1)
    if load.cumsum().max() <= memory_rows:
        chosen = last
    else:
        chosen = _solve(_Paths(taken, back, rows, gain), pools.size, memory_rows)
    return kept[chosen], until[chosen]


@dataclass(frozen=True, eq=False)
class _Paths:
    """The paths that a unit of memory can take through rows."""

    taken: Indices  # the pool at which it starts
    back: Indices  # the pool at which it ends; after the last pool it is not needed again
    rows: Indices
    gain: Floats


def _solve(paths: _Paths, pools: int, memory_rows: int) -> npt.NDArray[np.bool_]:
    """Return which paths the best flow takes."""
    count, number = paths.gain.size, np.arange(paths.gain.size)
    returns = np.flatnonzero(paths.back < pools)
    on = np.arange(pools)
    # As much leaves a pool as enters it: by paths, and as free memory from one pool to the next.
    out = (np.concatenate([paths.taken, on]), np.arange(count + pools))
    into = (np.concatenate([paths.back[returns], on[1:]]), np.append(returns, count + on[:-1]))
    signs = np.append(np.ones(out[0].size), -np.ones(into[0].size))
    places = (np.append(out[0], into[0]), np.append(out[1], into[1]))
    balance = csc_array((signs, places), shape=(pools, count + pools))
    supply = np.zeros(pools)
    supply[0] = memory_rows
    each_once = csc_array(
        (np.ones(count), (paths.rows, number)), shape=(int(paths.rows[-1]) + 1, count + pools)
    )
    message = ""
    for method in _METHODS:
        solution = linprog(
            np.append(-paths.gain, np.zeros(pools)),
            A_eq=balance,
            b_eq=supply,
            A_ub=each_once,
            b_ub=np.ones(each_once.shape[0]),
            method=method,
        )
        message = solution.message
        if solution.status == 0:
            shares = solution.x[:count]
            chosen: npt.NDArray[np.bool_] = shares > 0.5
            if np.abs(shares - chosen).max() <= _WHOLE:
                return chosen
    raise RuntimeError(f"HiGHS found no whole solution for {count} choices: {message}")
