"""The importance that one who knows the future gets: the ceiling for all who do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.studies.importance_replay import join_of
from penstock.studies.needed import for_the_optimum

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = ["optimal_importance"]


def optimal_importance(
    tables: Mapping[str, pa.Table], window: float, rows: int
) -> tuple[float, int]:
    """Give the greatest importance of results that so many rows allow, and how many these are.

    Raises
    ------
    SessionError
        If scipy is not there.
    """
    with for_the_optimum():
        from penstock.yardsticks import find_matches, offline_optimum  # noqa: PLC0415 -- slow to load

    matches = find_matches(join_of(tables, window), tables)
    own = [
        table["importance"].to_numpy()[of_stream]
        for table, of_stream in zip(tables.values(), matches.rows, strict=True)
    ]
    best = offline_optimum(matches, rows, np.minimum(*own))
    return best.weight, best.results
