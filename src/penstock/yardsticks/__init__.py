"""Exact joins and offline optima to compare results with; needs the extra ``studies`` (scipy)."""

from penstock.yardsticks.matches import Matches, find_matches
from penstock.yardsticks.offline import OfflineOptimum, offline_optima, offline_optimum

__all__ = ["Matches", "OfflineOptimum", "find_matches", "offline_optima", "offline_optimum"]
