"""`QueryStatistics`: what is known of the streams of a query."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import SpecificationError, did_you_mean, must

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QueryStatistics"]

Selectivity: TypeAlias = float | tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class QueryStatistics:
    """Rates, selectivities and cardinalities of a query's streams and tables.

    `Query.measure` takes them from a sample.

    Parameters
    ----------
    rates
        Rows per second of each stream; if times are numbers, per unit of time.
    selectivities
        For each condition of the query, by its text, the share of rows or of pairs for which it
        holds. Two numbers for a condition between streams whose rows find different shares: rows
        of the first stream that arrive, and rows of the second. Spaces and case do not matter.
    cardinalities
        Rows of each stored table.

    Examples
    --------
    >>> statistics = QueryStatistics(
    ...     rates={"auctions": 0.5, "bids": 20},
    ...     selectivities={"a.id = b.auction": (0.0, 0.001), "b.price > 100": 0.2},
    ... )
    >>> statistics.selectivity("A.id=b.auction")
    (0.0, 0.001)
    """

    rates: Mapping[str, float]
    selectivities: Mapping[str, Selectivity] = field(default_factory=dict)
    cardinalities: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rate in self.rates.items():
            if not 0 < rate < math.inf:
                hint = "measure it on a sample in which the stream has rows"
                raise SpecificationError(must(f'rate of "{name}"', "above 0", rate, hint))
        for name, rows in self.cardinalities.items():
            if not 0 <= rows < math.inf:
                hint = "count its rows"
                raise SpecificationError(must(f'rows of "{name}"', "0 or more", rows, hint))
        for text, given in self.selectivities.items():
            for each in given if isinstance(given, tuple) else (given,):
                if not 0 <= each <= 1:
                    hint = "it is a share"
                    raise SpecificationError(
                        must(f'selectivity of "{text}"', "from 0 to 1", given, hint)
                    )

    def rate(self, stream: str) -> float:
        """Return the rate of a stream."""
        return _found(self.rates, stream, "rates")

    def rows(self, table: str) -> float:
        """Return the rows of a table."""
        return _found(self.cardinalities, table, "cardinalities")

    def selectivity(self, text: str) -> Selectivity:
        """Return the selectivity of a condition."""
        by_text = {_same(each): value for each, value in self.selectivities.items()}
        if _same(text) not in by_text:
            hint = did_you_mean(text, self.selectivities, "add it, or measure on a sample")
            requirement = f'given for the condition "{text}"'
            got = list(self.selectivities)
            raise SpecificationError(must("selectivities", requirement, got, hint))
        return by_text[_same(text)]

    def knows(self, text: str) -> bool:
        """Return whether there is a selectivity of a condition."""
        return _same(text) in {_same(each) for each in self.selectivities}


def _same(text: str) -> str:
    return "".join(text.split()).casefold()


def _found(given: Mapping[str, float], name: str, what: str) -> float:
    if name not in given:
        hint = did_you_mean(name, given, "add it, or measure on a sample")
        raise SpecificationError(must(what, f'given for "{name}"', list(given), hint))
    return given[name]
