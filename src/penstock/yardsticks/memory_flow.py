"""Memory as a flow: which tuples to keep, and until when, if the future is known.

Memory of M rows is M units that flow through time. At the moment in which a tuple comes, one unit
can go from the pool of free memory to the tuple; it stays there from one result to the next, and
after any of them it can go back to the pool:

    pool ---> pool ---> pool ---> pool ---> pool --->        free memory, moment after moment
      |                   ^         ^
      +---> result 1 -----+         |                        one tuple
                +-----> result 2 ---+

A tuple takes at most one unit. Its results are the gain of the way that the unit goes, so the
greatest gain of such a flow is the greatest number of results. It is a linear programme, and as in
every network the corners of what it allows are whole numbers: the best corner says for each tuple
whether it is kept, and until which of its results. (The programme below has one variable for each
way that a unit can go through a tuple, in place of one for each arc: the flow on the arcs follows
from it by sums, and the other way round by differences, so its corners are whole, too.)
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

# HiGHS meets its constraints within 1e-7; a share further than this from 0 and 1 is no corner.
_WHOLE = 1e-6
# Interior point and then crossover to a corner: five times as fast as dual simplex on ten thousand
# tuples, which is left for the case that the crossover gives up.
_METHODS = ("highs-ipm", "highs-ds")


def best_flow(
    arrived: Indices,
    waiting: Indices,
    completed: Indices,
    weights: Floats,
    memory_rows: int,
) -> tuple[Indices, Indices]:
    """Choose the tuples to keep, and until when.

    Parameters
    ----------
    arrived
        For each tuple the moment in which it comes.
    waiting, completed, weights
        For each result the tuple that has to be in memory, until which moment, and for what gain,
        which is above zero.
    memory_rows
        M, tuples in memory after each moment.

    Returns
    -------
    kept, until : array
        The tuples, and for each the moment of the last result for which it is kept.

    Examples
    --------
    >>> arrived, waiting, completed = np.array([0, 1]), np.array([0, 0, 1]), np.array([2, 4, 3])
    >>> best_flow(arrived, waiting, completed, np.ones(3), 1)
    (array([0]), array([4]))
    """
    if not waiting.size or not memory_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Only where a tuple comes that has results can memory run short: the pools are those moments.
    pools = np.unique(arrived[waiting])
    # A unit that is given back waits for the next such moment, and of the results before the same
    # one a tuple may as well have all: together they are one way out of the tuple.
    back = np.searchsorted(pools, completed)
    ways, way_of = np.unique(waiting * (pools.size + 1) + back, return_inverse=True)
    kept, back = np.divmod(ways, pools.size + 1)
    taken = np.searchsorted(pools, arrived[kept])
    until = np.zeros(ways.size, np.int64)
    np.maximum.at(until, way_of, completed)
    # The ways of a tuple stand together, the shortest first; each has the results of those before.
    last = np.append(kept[1:] != kept[:-1], True)
    tuples = np.cumsum(last) - last
    gain: Floats = np.cumsum(np.bincount(way_of, weights), dtype=np.float64)
    gain -= np.concatenate([[0.0], gain[last]])[tuples]

    load = np.bincount(taken[last], minlength=pools.size + 1)
    load -= np.bincount(back[last], minlength=pools.size + 1)
    if load.cumsum().max() <= memory_rows:
        chosen = last
    else:
        chosen = _solve(_Ways(taken, back, tuples, gain), pools.size, memory_rows)
    return kept[chosen], until[chosen]


@dataclass(frozen=True, eq=False)
class _Ways:
    """The ways that a unit of memory can go through tuples."""

    taken: Indices  # the pool that it comes from
    back: Indices  # the pool that it goes to; beyond the last one it is not needed again
    tuples: Indices
    gain: Floats


def _solve(ways: _Ways, pools: int, memory_rows: int) -> npt.NDArray[np.bool_]:
    """Say which ways the best flow takes."""
    count, number = ways.gain.size, np.arange(ways.gain.size)
    returns = np.flatnonzero(ways.back < pools)
    on = np.arange(pools)
    # What leaves a pool is what comes into it: ways, and what is free from one pool to the next.
    out = (np.concatenate([ways.taken, on]), np.arange(count + pools))
    into = (np.concatenate([ways.back[returns], on[1:]]), np.append(returns, count + on[:-1]))
    signs = np.append(np.ones(out[0].size), -np.ones(into[0].size))
    places = (np.append(out[0], into[0]), np.append(out[1], into[1]))
    balance = csc_array((signs, places), shape=(pools, count + pools))
    supply = np.zeros(pools)
    supply[0] = memory_rows
    each_once = csc_array(
        (np.ones(count), (ways.tuples, number)), shape=(int(ways.tuples[-1]) + 1, count + pools)
    )
    message = ""
    for method in _METHODS:
        solution = linprog(
            np.append(-ways.gain, np.zeros(pools)),
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
