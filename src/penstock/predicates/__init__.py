"""Predicates, the condition on which rows join: `Equal`, `Within`, `Band`, `Compare`, `Similar`.

A predicate names, for each stream, the column or columns that it compares. It is frozen and
hashable. Two predicates are equal if they have the same class and the same arguments in the same
order. The ``repr`` of a predicate is the Python code that creates it.
"""

from __future__ import annotations

from penstock.predicates.arguments import Number
from penstock.predicates.base import Predicate
from penstock.predicates.comparisons import Band, Compare, Equal, Within
from penstock.predicates.vectors import Similar

__all__ = ["Band", "Compare", "Equal", "Number", "Predicate", "Similar", "Within"]
