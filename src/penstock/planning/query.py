"""`Query`: a conjunctive query over windows, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SchemaError, SessionError, SpecificationError, did_you_mean, must
from penstock.planning.column_types import check_types
from penstock.planning.measure import measure_query, window_seconds
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.plan import Plan, plan_for, ranked_plans
from penstock.predicates import Equal, Within
from penstock.spec import Stream

if TYPE_CHECKING:
    from penstock.budget import Budget
    from penstock.durations import DurationLike
    from penstock.planning.parsed import JoinCondition, Parsed, Source
    from penstock.planning.query_statistics import QueryStatistics
    from penstock.windows import Rows

__all__ = ["Query"]


@dataclass(frozen=True, init=False)
class Query:
    """A conjunctive query over streams with windows, and stored tables.

    Parameters
    ----------
    text
        Spark's SQL, with a window after each stream: ``[RANGE 1 HOUR]``, ``[ROWS 1000]``, or
        ``[NOW]`` for rows that only look for earlier ones. Tables need none, or ``[UNBOUNDED]``.
        Conditions are joined by AND. Each is over one stream, any expression; or between columns
        of two: ``= != < <= > >=``, ``ABS(x - y) <= c`` or ``x BETWEEN y - c AND y + d``.
    streams
        The streams by name: the name of its time column, or a `Stream`. Where the query gives no
        window, that of the `Stream` counts.
    tables
        Names of stored tables.
    schemas
        Arrow schemas, or tables, of streams and tables. With them names and types are checked at
        once, and columns need no prefix where only one relation has them.

    Attributes
    ----------
    parsed
        What the query says.

    Raises
    ------
    SpecificationError
        If it is not a conjunctive query; the message has line and column, and what is possible.
    SchemaError
        If a condition compares columns of different types.

    References
    ----------
    `ayad04`; the windows are those of CQL (Arasu, Babu and Widom, 2003).

    Examples
    --------
    >>> query = Query(
    ...     '''
    ...         SELECT a.id, b.price
    ...         FROM auctions a [RANGE 7 DAYS], bids b [NOW]
    ...         WHERE a.id = b.auction AND b.price > 100
    ...     ''',
    ...     streams={"auctions": "opened_at", "bids": "at"},
    ... )
    >>> from penstock.planning import QueryStatistics
    >>> plan = query.optimize(
    ...     QueryStatistics(
    ...         rates={"auctions": 0.05, "bids": 200_000},
    ...         selectivities={"a.id = b.auction": 0.00002, "b.price > 100": 0.2},
    ...     )
    ... )
    >>> print(plan)
    feasible: it needs 7.09% of a processor, and 100% is allowed
    project id, price
    └─ join on a.id = b.auction  24,200/s, cost 5.09%, keeps 30,200 rows
       ├─ a: auctions [RANGE 7 days]  0.05/s, window of 30,200 rows
       └─ select b.price > 100  40,000/s, cost 2%
          └─ b: bids [NOW]  200,000/s
    a result takes 1.48 microseconds on average, and 0.0763 rows wait
    """

    text: str
    streams: Mapping[str, Stream | str]
    tables: Iterable[str] = ()
    schemas: Mapping[str, pa.Schema | pa.Table] = field(default_factory=dict)
    parsed: Parsed = field(init=False, repr=False)

    def __init__(
        self,
        text: str,
        *,
        streams: Mapping[str, Stream | str],
        tables: Iterable[str] = (),
        schemas: Mapping[str, pa.Schema | pa.Table] | None = None,
    ) -> None:
        given: object = streams
        if not isinstance(given, Mapping) or not streams:
            hint = 'write streams={"bids": "at"}, with the column that holds the time'
            raise SpecificationError(must("streams", "a mapping of names", streams, hint))
        set_ = object.__setattr__
        set_(self, "text", text)
        set_(self, "streams", dict(streams))
        set_(self, "tables", tuple(tables))
        set_(self, "schemas", {name: _schema(each) for name, each in (schemas or {}).items()})
        set_(self, "parsed", self._read())
        if self.schemas:
            check_types(self.parsed, self.schemas, self.time_of)

    def __hash__(self) -> int:
        return hash(self.text)

    def _read(self) -> Parsed:
        try:
            from penstock.planning.sql import parse_query  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as error:
            message = f'a query in SQL needs {error.name}; pip install "penstock[sql]"'
            raise SessionError(message) from error

        windows: dict[str, DurationLike | Rows | None] = {
            name: each.window if isinstance(each, Stream) else None
            for name, each in self.streams.items()
        }
        columns = {name: each.names for name, each in self.schemas.items()}
        return parse_query(self.text, windows, tuple(self.tables), columns)

    def time_of(self, stream: str) -> str:
        """Return the time column of a stream."""
        given = self.streams[stream]
        return given.time if isinstance(given, Stream) else given

    def check_schemas(self, schemas: Mapping[str, pa.Schema]) -> None:
        """Raise if streams or tables lack columns that the query names, or types do not fit.

        Raises
        ------
        SchemaError
            With what is missing.
        """
        for source in self.parsed.sources:
            if source.origin not in schemas:
                hint = f'give one for "{source.origin}"'
                raise SchemaError(must("tables", "given for all relations", list(schemas), hint))
            needed = [column for name, column in self.parsed.columns if name == source.name]
            if not source.is_table:
                needed.append(self.time_of(source.origin))
            known = schemas[source.origin].names
            for column in needed:
                if known.count(column) != 1:
                    owner = f'column of "{source.origin}"'
                    hint = did_you_mean(column, known, "correct the name")
                    requirement = f"one of {', '.join(known)}, and only one"
                    raise SchemaError(must(owner, requirement, column, hint))
        check_types(self.parsed, schemas, self.time_of)

    def measure(
        self,
        tables: Mapping[str, pa.Table],
        *,
        selectivities: Mapping[str, float | tuple[float, float]] | None = None,
    ) -> QueryStatistics:
        """Measure rates and selectivities on a sample; see `penstock.planning.measure_query`.

        Parameters
        ----------
        tables
            For each stream and table its rows: of all streams the same stretch of time.
        selectivities
            Of conditions that are known, by their texts, or that have functions of Spark's which a
            sample cannot be tested with.
        """
        return measure_query(self, tables, selectivities)

    def model(self, statistics: QueryStatistics, costs: OperatorCosts | None = None) -> QueryModel:
        """Return what plans are judged by: this query with its numbers.

        Parameters
        ----------
        statistics
            Of the streams.
        costs
            Of the operators; None for what steps usually cost on Spark.
        """
        from penstock.costs import Costs  # noqa: PLC0415  # only for the default

        groups = _groups(self.parsed)
        single = _is_single(self.parsed, groups)
        return QueryModel(
            relations=tuple(self._relation(each, statistics) for each in self.parsed.sources),
            conditions=tuple(
                _condition(each, statistics, groups, self.parsed) for each in self.parsed.conditions
            ),
            selections=tuple(
                Selection(
                    relation=each.relation,
                    selectivity=_one(statistics.selectivity(each.text)),
                    text=each.text,
                )
                for each in self.parsed.selections
            ),
            costs=costs or OperatorCosts.measured(Costs.usual()),
            single=single,
            project=bool(self.parsed.output),
            joined_last=self.parsed.joined_last(single=single),
        )

    def _relation(self, source: Source, statistics: QueryStatistics) -> Relation:
        name, origin = source.name, source.origin
        if source.is_table:
            return Relation(name=name, rate=0.0, rows=statistics.rows(origin), origin=origin)
        rate = statistics.rate(origin)
        if source.rows is not None:
            return Relation(name=name, rate=rate, rows=float(source.rows), origin=origin)
        return Relation(name=name, rate=rate, duration=window_seconds(source), origin=origin)

    def optimize(
        self,
        statistics: QueryStatistics,
        *,
        budget: Budget | None = None,
        costs: OperatorCosts | None = None,
        processors: float = 1,
        weights: Mapping[str, float] | None = None,
        minimum: Mapping[str, float] | None = None,
    ) -> Plan:
        """Return the cheapest plan if it fits, otherwise the one that gives most within the budget.

        Parameters
        ----------
        statistics
            Rates, selectivities and cardinalities: given, or from `measure`.
        budget
            ``Budget(cpu=0.8, rows=100_000)``: the share of each processor's time, and the rows of
            all windows together. Costs that it has are those of the steps of Penstock's operator.
            None for one whole processor, and any number of rows.
        costs
            Of the operators, instead of those of the budget.
        processors
            How many there are; the bound of the cost is so many times `cpu`.
        weights
            Importance of streams where rows have to be dropped, by their names in the query; 1 if
            not given.
        minimum
            Share of a stream that has to be kept at least, by its name in the query. If not given
            it is 0.01 for a stream with a window by rows, so that its window fills, or less where
            that is much of the budget; and 0 for others. ``minimum={"p": 0}`` may shut off "p",
            as in the paper; a plan that is run has no results then.

        Raises
        ------
        SpecificationError
            If statistics are missing, or the minimum alone exceeds the budget.
        """
        return plan_for(
            self,
            self.model(statistics, _costs(budget, costs)),
            budget=budget,
            processors=processors,
            weights=weights,
            minimum=minimum,
        )

    def plans(
        self,
        statistics: QueryStatistics,
        *,
        budget: Budget | None = None,
        costs: OperatorCosts | None = None,
        processors: float = 1,
        weights: Mapping[str, float] | None = None,
        minimum: Mapping[str, float] | None = None,
    ) -> list[Plan]:
        """Return the best plan for each way to divide the relations at the last join, ranked.

        Those that give the most results come first; of these the cheapest. Parameters are those of
        `optimize`.
        """
        return ranked_plans(
            self,
            self.model(statistics, _costs(budget, costs)),
            budget=budget,
            processors=processors,
            weights=weights,
            minimum=minimum,
        )


def _costs(budget: Budget | None, costs: OperatorCosts | None) -> OperatorCosts | None:
    if costs is None and budget is not None and budget.costs is not None:
        return OperatorCosts.measured(budget.costs)
    return costs


def _schema(given: pa.Schema | pa.Table) -> pa.Schema:
    return given.schema if isinstance(given, pa.Table) else given


def _one(selectivity: float | tuple[float, float]) -> float:
    return selectivity[0] if isinstance(selectivity, tuple) else selectivity


def _condition(
    condition: JoinCondition,
    statistics: QueryStatistics,
    groups: Mapping[tuple[str, str], str],
    parsed: Parsed,
) -> Condition:
    """Return a condition with its selectivities.

    One that only follows from others may have none: it is then taken to be as selective as the
    most selective of its group.
    """
    group = groups.get(condition.left) if isinstance(condition.predicate, Equal) else None
    if condition.follows and not statistics.knows(condition.text):
        given: float | tuple[float, float] = min(
            _one(statistics.selectivity(each.text))
            for each in parsed.conditions
            if not each.follows and groups.get(each.left) == group
        )
    else:
        given = statistics.selectivity(condition.text)
    return Condition(
        left=condition.left[0],
        right=condition.right[0],
        selectivity=_one(given),
        backward=given[1] if isinstance(given, tuple) else None,
        text=condition.text,
        group=group,
        columns=(condition.left[1], condition.right[1]),
    )


def _groups(parsed: Parsed) -> dict[tuple[str, str], str]:
    """Return a name for each group of columns that are equal to each other."""
    names: dict[tuple[str, str], str] = {}
    for each in parsed.conditions:
        if isinstance(each.predicate, Equal):
            name = names.get(each.left) or names.get(each.right) or ".".join(each.left)
            other = names.get(each.right)
            for column in [each.left, each.right, *(c for c, n in names.items() if n == other)]:
                names[column] = name
    return names


def _is_single(parsed: Parsed, groups: Mapping[tuple[str, str], str]) -> bool:
    """Return whether one operator can join all streams: one equality, or one distance.

    What joins them with stored tables does not matter: that is tested on its results.
    """
    streams = {source.name for source in parsed.sources if not source.is_table}
    if len(streams) < 3:
        return False
    conditions = [each for each in parsed.conditions if {each.left[0], each.right[0]} <= streams]
    columns = {side for each in conditions for side in (each.left, each.right)}
    covered = sorted(relation for relation, _ in columns)
    if covered != sorted(streams):
        return False
    if all(isinstance(each.predicate, Equal) for each in conditions):
        return len({groups[each] for each in columns}) == 1
    distances = {
        each.predicate.distance for each in conditions if isinstance(each.predicate, Within)
    }
    pairs = {frozenset([each.left[0], each.right[0]]) for each in conditions}
    return (
        len(distances) == 1
        and all(isinstance(each.predicate, Within) for each in conditions)
        and len(pairs) == len(streams) * (len(streams) - 1) // 2
    )
