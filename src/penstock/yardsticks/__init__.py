"""Exact joins and offline optima to compare results with; needs the extra ``studies`` (scipy)."""

from penstock.yardsticks.matches import Matches, find_matches
from penstock.yardsticks.offline import OfflineOptimum, offline_optima, offline_optimum
from penstock.yardsticks.work_optimum import (
    WorkOptimum,
    best_insertions,
    best_subset,
    greedy_subset,
)

__all__ = [
    "Matches",
    "OfflineOptimum",
    "WorkOptimum",
    "best_insertions",
    "best_subset",
    "find_matches",
    "greedy_subset",
    "offline_optima",
    "offline_optimum",
]
