"""The recall and the importance of the offline optimum: upper bounds for all strategies."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.errors import SessionError
from penstock.studies.workload import workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from penstock.join import Join
    from penstock.studies.workload import Scenario
    from penstock.yardsticks import Matches

__all__ = ["needs_scipy", "optimal_importance", "optimal_recall"]


@contextmanager
def needs_scipy() -> Iterator[None]:
    """Import the yardsticks in here: they are slow to load, and most points do not need them.

    Raises
    ------
    SessionError
        If scipy is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = (
            f"the offline optimum of a study needs {error.name}; "
            f'pip install "penstock[cli,spark,studies]"'
        )
        raise SessionError(message) from error


def optimal_recall(scenario: Scenario, rows: int) -> float:
    """Return the greatest recall, after the warm-up, that a number of rows allows.

    Results of the warm-up count nothing, so the optimum is free to prepare for the time after it.

    Raises
    ------
    SessionError
        If scipy is not installed.
    """
    with needs_scipy():
        from penstock.yardsticks import offline_optimum  # noqa: PLC0415 -- slow to load

    matches, counts = _matches(scenario)
    return offline_optimum(matches, rows, counts).recall


@lru_cache(maxsize=2)
def _matches(scenario: Scenario) -> tuple[Matches, npt.NDArray[np.float64]]:
    """Find all results of the exact join, and which of them count; for any predicate."""
    from penstock.yardsticks import Matches  # noqa: PLC0415 -- as above

    made = workload(scenario)
    tables = {
        name: table.append_column("row", pa.array(np.arange(len(table))))
        for name, table in made.tables.items()
    }
    result = made.join().replay(tables).result
    first, second = (
        result[name].combine_chunks().field("row").to_numpy().astype(np.int64) for name in tables
    )
    times = [table["time"].to_numpy() for table in tables.values()]
    # In a moment come all rows of one stream that have one time; the first stream goes first.
    stream = np.repeat(np.arange(len(times)), [each.size for each in times])
    together = np.concatenate(times)
    order = np.lexsort((stream, together))
    new = (np.diff(together[order]) > 0) | (np.diff(stream[order]) != 0)
    arrived = np.empty(together.size, np.int64)
    arrived[order] = np.concatenate([[0], np.cumsum(new)])
    second += times[0].size
    earlier = arrived[first] <= arrived[second]
    matches = Matches(
        arrived=arrived,
        waiting=np.where(earlier, first, second),
        probing=np.where(earlier, second, first),
        first_rows=times[0].size,
    )
    counts = result["time"].to_numpy() >= made.measured_from
    return matches, counts.astype(np.float64)


def optimal_importance(
    join: Join, tables: Mapping[str, pa.Table], rows: int, redefined_at: Sequence[float] = ()
) -> tuple[float, int]:
    """Return the greatest importance of results that a number of rows allows, and their number.

    A result has the importance that holds at its time: the column ``importance``, and from the
    times of `redefined_at` on ``importance_1``, ``importance_2``.

    Raises
    ------
    SessionError
        If scipy is not installed.
    """
    with needs_scipy():
        from penstock.yardsticks import find_matches, offline_optimum  # noqa: PLC0415 -- slow to load

    matches = find_matches(join, tables)
    times = np.maximum(*_of_results("time", tables, matches))
    weights = np.minimum(*_of_results("importance", tables, matches))
    for number, since in enumerate(redefined_at):
        later = np.minimum(*_of_results(f"importance_{number + 1}", tables, matches))
        weights = np.where(times >= since, later, weights)
    best = offline_optimum(matches, rows, weights)
    return best.weight, best.results


def _of_results(
    column: str, tables: Mapping[str, pa.Table], matches: Matches
) -> list[npt.NDArray[np.float64]]:
    """Return a column of both streams, of the rows of each result."""
    return [
        table[column].to_numpy()[of_stream]
        for table, of_stream in zip(tables.values(), matches.rows, strict=True)
    ]
