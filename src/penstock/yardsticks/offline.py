"""The offline optimum: the best result with a limited memory, if the future is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.yardsticks.matches import Matches, find_matches
from penstock.yardsticks.memory_flow import best_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from penstock.spec import Specification

__all__ = ["OfflineOptimum", "offline_optima", "offline_optimum"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OfflineOptimum:
    """The best result that any strategy can reach with a limited memory, and how.

    Attributes
    ----------
    memory_rows
        M: rows that may be in memory after each moment; a number for each stream if they do not
        share it.
    weight
        Sum of the weights of the results that are found: the maximum.
    results
        Number of these results. If all weights are equal, it is the maximum too.
    exact_weight
        Sum of the weights of all results.
    kept_until
        For each row the moment, of its last result, in which it leaves memory; -1 if it is not
        admitted. Other choices may be as good.
    """

    memory_rows: int | tuple[int, int]
    weight: float
    results: int
    exact_weight: float
    kept_until: Indices

    @property
    def recall(self) -> float:
        """Share of the exact join's weight; 1 if there is none."""
        return self.weight / self.exact_weight if self.exact_weight else 1.0


def offline_optimum(
    matches: Matches,
    memory_rows: int | tuple[int, int],
    weights: npt.ArrayLike | None = None,
) -> OfflineOptimum:
    """Find which rows to keep, and until when, for the largest weight with a limited memory.

    A row that arrives probes first. Then it is admitted to memory or not; others may be evicted
    for it. A row that has left memory does not come back. After each moment at most `memory_rows`
    are in memory. No strategy of the engine can do better, whatever it knows.

    Rows of a stream with the same time arrive in one moment: all of them probe, and then memory is
    made free for them. The engine processes them one after another, so in this case the optimum
    may be a little above what any order of them could reach. Otherwise it is exact.

    Parameters
    ----------
    matches
        The results of the exact join.
    memory_rows
        M, rows in memory, zero or more: of both streams together, or, as a pair, of each.
    weights
        Weight of each result of `matches`, none negative; by default 1.

    Raises
    ------
    SpecificationError
        If the memory is no whole number, or the weights are not one for each result.

    Examples
    --------
    Rows 0, 1 and 2 wait; rows 3, 4, 5 and 6 probe. With memory for one row, it is best to change
    from row 0 to row 1.

    >>> matches = Matches(
    ...     arrived=np.array([0, 2, 3, 1, 4, 5, 6]),
    ...     waiting=np.array([0, 2, 1, 1]),
    ...     probing=np.array([3, 4, 5, 6]),
    ...     first_rows=3,
    ... )
    >>> best = offline_optimum(matches, 1)
    >>> best.results, best.recall, best.kept_until.tolist()
    (3, 0.75, [1, 6, -1, -1, -1, -1, -1])
    >>> offline_optimum(matches, 1, weights=[1, 9, 1, 1]).weight
    10.0

    References
    ----------
    Das, Gehrke and Riedewald, Approximate Join Processing over Data Streams (SIGMOD 2003), also
    compute the offline optimum of such a join as a flow. For the one used here see `memory_flow`.
    """
    _check_rows(memory_rows)
    value = _checked_weights(matches, weights)
    kept_until = np.full(matches.arrived.size, -1, np.int64)
    if isinstance(memory_rows, tuple):
        first = matches.waits_in_first
        parts = list(zip((first, ~first), memory_rows, strict=True))
    else:
        parts = [(np.ones(len(matches), np.bool_), memory_rows)]
    for own, rows in parts:
        positive = np.flatnonzero(own & (value > 0))
        kept, until = best_flow(
            matches.arrived,
            matches.waiting[positive],
            matches.completed[positive],
            value[positive],
            rows,
        )
        kept_until[kept] = until
    found = matches.completed <= kept_until[matches.waiting]
    return OfflineOptimum(
        memory_rows=memory_rows,
        weight=float(value[found].sum()),
        results=int(np.count_nonzero(found)),
        exact_weight=float(value.sum()),
        kept_until=kept_until,
    )


def offline_optima(
    join: Specification,
    tables: Mapping[str, pa.Table],
    memory_rows: Iterable[int | tuple[int, int]],
    weigh: Callable[[Matches], npt.ArrayLike] | None = None,
) -> list[OfflineOptimum]:
    """Compute the offline optimum of a join of two streams for several limits of memory.

    Parameters
    ----------
    join
        A join of two streams on `Equal`; its budget and goal are ignored.
    tables
        The whole of each stream, as for `Join.replay`.
    memory_rows
        The limits, each as in `offline_optimum`.
    weigh
        Returns the weights of the results; `Matches.rows` has the rows of each.

    Examples
    --------
    >>> from penstock.predicates import Equal
    >>> from penstock.spec import Specification, Stream
    >>> from penstock.testing import age_model
    >>> data = age_model(curve="INC", duration=1_000.0, seed=1)
    >>> join = Specification(
    ...     streams={"s1": Stream(time="time", window=500), "s2": Stream(time="time", window=0)},
    ...     on=Equal("id"),
    ... )
    >>> optima = offline_optima(join, {"s1": data.s1, "s2": data.s2}, [40, 160, 400])
    >>> [round(optimum.recall, 2) for optimum in optima]
    [0.39, 0.78, 1.0]
    """
    matches = find_matches(join, tables)
    weights = None if weigh is None else weigh(matches)
    return [offline_optimum(matches, rows, weights) for rows in memory_rows]


def _check_rows(memory_rows: object) -> None:
    parts = memory_rows if isinstance(memory_rows, tuple) else (memory_rows, 0)
    if len(parts) != 2 or not all(map(_is_count, parts)):
        requirement = "a whole number of zero or more, or two of them"
        hint = "give the rows that memory holds, for both streams together or for each"
        raise SpecificationError(must("memory_rows", requirement, memory_rows, hint))


def _is_count(rows: object) -> bool:
    return isinstance(rows, int | np.integer) and not isinstance(rows, bool) and bool(rows >= 0)


def _checked_weights(matches: Matches, weights: npt.ArrayLike | None) -> Floats:
    if weights is None:
        return np.ones(len(matches))
    value = np.asarray(weights, np.float64)
    if value.shape != (len(matches),) or not (np.isfinite(value) & (value >= 0)).all():
        requirement = f"{len(matches)} numbers, one for each result, finite and none negative"
        hint = "see Matches.rows for the rows of each result"
        raise SpecificationError(must("weights", requirement, weights, hint))
    return value
