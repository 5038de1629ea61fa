"""The numbers that plans are judged by: relations, selections and conditions of one query."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.planning.operator_costs import OperatorCosts

__all__ = ["Condition", "QueryModel", "Relation", "Selection"]

# Above this the arrays over all sets of relations take seconds and hundreds of megabytes.
MOST_RELATIONS = 16
# Behind a drop box that keeps nothing a stream is still a stream, not a table.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A stream with its window, or a stored table.

    Parameters
    ----------
    name
        As the query calls it.
    rate
        Rows that arrive in a unit of time; 0 for a table.
    rows
        Rows of the window: of a window by rows its size, of a table its cardinality. None if the
        window is by time.
    duration
        Length of a window by time, in units of time; None otherwise. It holds ``rate * duration``
        rows on average.
    origin
        The stream or table that it reads, which several names can have; None if it is `name`.

    References
    ----------
    `ayad04` 3.1; tables are in section 4, "Querying Relational Tables".

    Examples
    --------
    >>> Relation(name="bids", rate=20.0, duration=60.0).window
    1200.0
    """

    name: str
    rate: float
    rows: float | None = None
    duration: float | None = None
    origin: str | None = None

    def __post_init__(self) -> None:
        owner = f'of "{self.name}"'
        if not 0 <= self.rate < math.inf:
            raise SpecificationError(
                must(f"rate {owner}", "a number of 0 or more", self.rate, "0 is for tables")
            )
        if (self.rows is None) == (self.duration is None):
            hint = "give rows for a window by rows or a table, duration for a window by time"
            raise SpecificationError(
                must(f"window {owner}", "rows or duration", (self.rows, self.duration), hint)
            )
        if self.duration is not None and not self.rate:
            hint = "give the rows of a table, and the rate of a stream"
            raise SpecificationError(must(f"rate {owner}", "above 0", self.rate, hint))
        if not 0 <= self.window < math.inf:
            hint = "with 0 its rows only look for rows of other streams that came earlier"
            raise SpecificationError(must(f"window {owner}", "0 rows or more", self.window, hint))

    @property
    def window(self) -> float:
        """Rows in the window, on average."""
        return self.rows if self.rows is not None else self.rate * (self.duration or 0.0)

    @property
    def read_from(self) -> str:
        """The name of the stream or table itself."""
        return self.name if self.origin is None else self.origin

    @property
    def is_table(self) -> bool:
        """Whether no rows arrive."""
        return self.rate == 0


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A condition on rows of one relation.

    Parameters
    ----------
    relation
        Whose rows it tests.
    selectivity
        Share of the rows for which it holds.
    cost
        Of one test; None for `OperatorCosts.select`.
    text
        As the query says it.
    """

    relation: str
    selectivity: float
    cost: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        _check_share(self.selectivity, f'selectivity of "{self.text or self.relation}"')


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition between rows of two relations.

    Parameters
    ----------
    left, right
        The two relations.
    selectivity
        Share of the rows in the right window that match an arriving row of the left.
    backward
        Share of the rows in the left window that match an arriving row of the right; None if it
        is the same. In a one-to-many join with a lag the two can differ.
    text
        As the query says it.
    group
        Conditions of one group follow from each other, such as a.x = b.x, b.x = c.x and
        a.x = c.x: of a set of relations only so many of them count as connect its columns.
    columns
        Of the left and of the right relation. Where a relation has two columns in a group, as in
        a.x = b.y AND a.z = b.y, both conditions count.

    References
    ----------
    `ayad04` 5.2, the third issue: two numbers for each join.
    """

    left: str
    right: str
    selectivity: float
    backward: float | None = None
    text: str = ""
    group: str | None = None
    columns: tuple[str, str] = ("", "")

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Relation and column of both sides."""
        return (self.left, self.columns[0]), (self.right, self.columns[1])

    def __post_init__(self) -> None:
        name = f'selectivity of "{self.text or f"{self.left} and {self.right}"}"'
        _check_share(self.selectivity, name)
        if self.backward is not None:
            _check_share(self.backward, name)


@dataclass(frozen=True, kw_only=True)
class QueryModel:
    """All that is known of a conjunctive query: what plans are made of and judged by.

    Parameters
    ----------
    relations
        Streams and tables; at least one stream.
    selections, conditions
        Of one relation each, and between two.
    costs
        Of the operators.
    single
        Whether one operator can join all streams at once: all conditions between them are one
        equality, or one distance.
    project
        Whether a plan ends with a projection.
    joined_last
        Streams that are in no join but the one that has all streams: that is where windows by rows
        can be run. Joins with tables may follow. Empty for plans that are only compared.

    Examples
    --------
    Example 1 of `ayad04`:

    >>> from penstock.planning.operator_costs import OperatorCosts
    >>> QueryModel(
    ...     relations=tuple(
    ...         Relation(name=name, rate=rate, rows=10)
    ...         for name, rate in (("A", 10), ("B", 20), ("C", 70))
    ...     ),
    ...     conditions=(
    ...         Condition(left="A", right="B", selectivity=0.5),
    ...         Condition(left="B", right="C", selectivity=0.2),
    ...     ),
    ...     costs=OperatorCosts.per_row(0.0005),
    ... ).names
    ('A', 'B', 'C')
    """

    relations: tuple[Relation, ...]
    conditions: tuple[Condition, ...] = ()
    selections: tuple[Selection, ...] = ()
    costs: OperatorCosts
    single: bool = False
    project: bool = False
    joined_last: frozenset[str] = frozenset()
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(each.name for each in self.relations))
        count = len(self.names)
        if not 1 <= count <= MOST_RELATIONS or len(set(self.names)) < count:
            hint = "give each a name of its own"
            requirement = f"1 to {MOST_RELATIONS} different ones"
            raise SpecificationError(must("relations of a query", requirement, self.names, hint))
        if all(each.is_table for each in self.relations):
            hint = "a query over tables alone has no rate: ask Spark for it as it is"
            raise SpecificationError(must("relations", "one stream at least", self.names, hint))
        used = [(each.left, each.right) for each in self.conditions]
        for pair in [*used, *((each.relation,) for each in self.selections)]:
            unknown = [name for name in pair if name not in self.names]
            if unknown or len(set(pair)) < len(pair):
                hint = f"the relations are {', '.join(self.names)}"
                raise SpecificationError(
                    must("relations of a condition", "different ones of the query", pair, hint)
                )

    def index(self, name: str) -> int:
        """Return the place of a relation."""
        return self.names.index(name)

    def may_join(self, sets: int) -> bool:
        """Return whether a plan may have a join of just these relations, given as bits."""
        together = [each for at, each in enumerate(self.relations) if sets >> at & 1]
        if len(together) < 2 or self.joined_last.isdisjoint(each.name for each in together):
            return True
        return all(each in together for each in self.relations if not each.is_table)

    def select_cost(self, selection: Selection) -> float:
        """Return what it costs to test one row."""
        return self.costs.select if selection.cost is None else selection.cost

    @property
    def by_rows(self) -> bool:
        """Whether no window is by time, so that rates are linear in what drop boxes keep."""
        return all(each.duration is None for each in self.relations)

    def kept(self, shares: Mapping[str, float]) -> QueryModel:
        """Return the model behind drop boxes that keep these shares of the streams.

        A window by rows then holds as many rows as before, the last ones that were kept; a window
        by time holds fewer.
        """
        relations = tuple(
            replace(each, rate=each.rate * max(shares.get(each.name, 1.0), _LEAST_SHARE))
            for each in self.relations
        )
        return replace(self, relations=relations)


def _check_share(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise SpecificationError(must(name, "from 0 to 1", value, "it is a share of the rows"))
