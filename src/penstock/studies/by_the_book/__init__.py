"""`kulkarni08` by the book: a plain simulator of its join and its ways to shed load.

It shares nothing with the engine. Where the paper leaves a choice, each reading has a name and is
a parameter, so that a study can compare them.
"""

from __future__ import annotations

from penstock.studies.by_the_book.arrivals import Arrivals, Redefinition
from penstock.studies.by_the_book.baselines import Exact, Fifo, Greedy, Rand, Size
from penstock.studies.by_the_book.ijoin import Ijoin
from penstock.studies.by_the_book.outcome import Outcome, fairness_index
from penstock.studies.by_the_book.recomputation import Adaptive, EveryFew, Successive
from penstock.studies.by_the_book.simulate import simulate

__all__ = [
    "Adaptive",
    "Arrivals",
    "EveryFew",
    "Exact",
    "Fifo",
    "Greedy",
    "Ijoin",
    "Outcome",
    "Rand",
    "Redefinition",
    "Size",
    "Successive",
    "fairness_index",
    "simulate",
]
