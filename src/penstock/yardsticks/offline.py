"""The offline optimum: what one who knows the future would make of a limited memory."""

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
    """The best that any strategy can do with so much memory, and how.

    Attributes
    ----------
    memory_rows
        M: tuples that may be in memory after each moment; a number for each stream if they do not
        share it.
    weight
        Sum of the weights of the results that it finds: the greatest there is.
    results
        How many these are. Of equal weights, this is the greatest number.
    exact_weight
        Sum of the weights of all results.
    kept_until
        For each tuple the moment, of its last result, in which it leaves memory; -1 if it is not
        taken in. Other choices may be as good.
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
    """Find which tuples to keep, and until when, to get the most out of a limited memory.

    A tuple that comes probes first and then is taken into memory or not; others may leave for it.
    What has left does not come back. After each moment at most `memory_rows` are in memory. No
    strategy of the engine can do better, whatever it knows.

    Where several tuples of a stream have one time they count as one moment, and room is made for
    them when all have probed. The engine takes them one after another, so there the optimum may be
    a little above what it could reach in any order of them; otherwise it is exact.

    Parameters
    ----------
    matches
        The results of the exact join.
    memory_rows
        M, tuples in memory, zero or more: of both streams together, or, as a pair, of each.
    weights
        What each result of `matches` is worth, none negative; 1 each if left out.

    Raises
    ------
    SpecificationError
        If the memory is no whole number, or the weights are not one for each result.

    Examples
    --------
    Three tuples wait; the tuples 3, 4, 5 and 6 probe. With room for one, it is best to change from
    the first to the second.

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
    Das, Gehrke and Riedewald, Approximate Join Processing over Data Streams (SIGMOD 2003), have
    the offline optimum of such a join as a flow, too. How it is found here: `memory_flow`.
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
        of_worth = np.flatnonzero(own & (value > 0))
        kept, until = best_flow(
            matches.arrived,
            matches.waiting[of_worth],
            matches.completed[of_worth],
            value[of_worth],
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
    """Give the offline optimum of a join of two streams for several limits of memory.

    Parameters
    ----------
    join
        A join of two streams on `Equal`; its budget and goal are not looked at.
    tables
        The whole of each stream, as for `Join.replay`.
    memory_rows
        The limits, each as in `offline_optimum`.
    weigh
        Gives the weights of the results; `Matches.rows` says of which rows each is made.

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
        hint = "give the tuples that memory holds, for both streams together or for each"
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
