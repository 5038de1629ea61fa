"""Goals: what a join that cannot keep everything is to lose least of."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import SpecificationError, must

__all__ = ["Goal", "MaxImportance", "MaxSubset", "Sample"]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What to lose least of when not everything can be kept; the base of all goals.

    Parameters
    ----------
    strategy
        Name of the strategy that pursues the goal; None picks one.
    """

    strategy: str | None = None

    def __post_init__(self) -> None:
        if type(self) is Goal:
            hint = "write MaxSubset(), MaxImportance(of=...) or Sample()"
            raise SpecificationError(must("goal", "a particular one", self, hint))
        name: object = self.strategy
        if name is not None and not (isinstance(name, str) and name):
            hint = "leave it out to have one picked"
            owner = f"strategy of {type(self).__name__}"
            raise SpecificationError(must(owner, "the name of a strategy", name, hint))


@dataclass(frozen=True, kw_only=True)
class MaxSubset(Goal):
    """As many of the results as possible.

    Examples
    --------
    >>> MaxSubset(strategy="fifo")
    MaxSubset(strategy='fifo')
    """


@dataclass(frozen=True, kw_only=True)
class MaxImportance(Goal):
    """Results of the greatest total importance.

    Parameters
    ----------
    of
        What the importance of a result is.
    strategy
        Name of the strategy; None picks one.

    Examples
    --------
    >>> MaxImportance(of="price")
    MaxImportance(strategy=None, of='price')
    """

    of: object


@dataclass(frozen=True, kw_only=True)
class Sample(Goal):
    """A random sample of the results, weighted so that totals can be estimated.

    Examples
    --------
    >>> Sample(strategy="uniform")
    Sample(strategy='uniform')
    """
