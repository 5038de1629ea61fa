"""A join bound to its streams' schemas: every name resolved, every type checked, all in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.budget import bytes_of
from penstock.durations import DurationLike, is_clock, to_units
from penstock.engine.description import describe
from penstock.engine.kernels import layout
from penstock.engine.keys import KeyColumn, key_columns
from penstock.engine.times import TimeScale, common_scale
from penstock.engine.values import ValueScale, bucket_width, common_values
from penstock.engine.vectors import VectorScale, common_vectors
from penstock.errors import SchemaError, did_you_mean, must
from penstock.goals import MaxImportance, Sample
from penstock.predicates import Band, Compare, Equal, Similar, Within
from penstock.spec import ResultStream, durations_of
from penstock.windows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.costs import Costs
    from penstock.spec import Specification

_OPERATORS = {
    "<": layout.LESS,
    "<=": layout.LESS_OR_EQUAL,
    "!=": layout.UNEQUAL,
    ">=": layout.GREATER_OR_EQUAL,
    ">": layout.GREATER,
}

# Time slices that `Compare` indexes per longest window: enough to skip most of what is out of
# reach in time, few enough that looking them up costs nothing beside reading them.
_TIME_SLICES = 16


@dataclass(frozen=True)
class Side:
    """One stream of a plan: its columns, and its durations in units of the plan's time."""

    name: str
    schema: pa.Schema
    time: str
    columns: tuple[str, ...]
    window: int | float  # `layout.FOR_EVER` for one of rows
    lateness: int | float
    max_ahead: int | float | None
    idle: int | float | None = None
    matches: str | None = None  # a column that says how many results a row will give
    last_rows: int = 0  # of a window of rows; 0 for one of time
    is_told: bool = False  # whether its source says how far it has come, whatever its rows' times


@dataclass(frozen=True)
class Rule:
    """The predicate as the kernels know it."""

    kind: int
    operator: int = 0
    low: int | float = 0
    high: int | float = 0
    width: int | float = 1


@dataclass(frozen=True)
class WorkLimit:
    """A limit of work, in units of the plan's time.

    Attributes
    ----------
    share
        Work that is allowed in a unit of time.
    burst
        Units of time for which what is not used is kept.
    costs
        Of the steps; None if they are measured.
    unit
        Units of time in a second, or 1 where times are numbers.
    """

    share: float
    burst: float
    costs: Costs | None
    unit: float


@dataclass(frozen=True)
class Plan:
    """Everything the engine needs to know of a join.

    Attributes
    ----------
    keys
        How the columns of an equality are read; empty for other predicates.
    values
        How the column of any other predicate is read.
    chain
        For each stream its place in the order in which the predicate names the streams.
    align
        How far a row may be ahead of the slowest stream without waiting for it; None for any.
    work
        The limit of work; None without one.
    vectors
        How the column of `Similar` is read; None for other predicates.
    """

    spec: Specification
    sides: tuple[Side, ...]
    time: TimeScale
    rule: Rule
    keys: tuple[KeyColumn, ...]
    values: ValueScale
    chain: tuple[int, ...]
    align: int | float | None = None
    work: WorkLimit | None = None
    vectors: VectorScale | None = None

    @property
    def spool_bytes(self) -> int:
        """Bytes of rows that may wait for the slowest stream."""
        return bytes_of(self.spec.spool) or 0

    @property
    def has_row_windows(self) -> bool:
        """Whether a window is one of rows: then all rows take part in time order."""
        return any(side.last_rows for side in self.sides)

    @property
    def span(self) -> int | float:
        """Length of a time slice of the index; 0 if the index has none."""
        if self.rule.kind != layout.COMPARE or self.has_row_windows:
            return 0
        longest = max(side.window for side in self.sides)
        return longest / _TIME_SLICES if self.time.dtype.kind == "f" else longest // _TIME_SLICES

    def tick(self, s: int) -> int | float:
        """How far a stream's time must go until it is sent to all shards."""
        reach = max((side.window for side in self.sides if not side.last_rows), default=0)
        reach = reach or 16 * (self.time.units_per_second or 1)
        reach = min(reach, self.sides[s].max_ahead or reach)
        return reach / 16 if self.time.dtype.kind == "f" else max(1, reach // 16)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The join in words: saved with its state, and compared when it is restored."""
        return describe(self.spec, {side.name: side.schema for side in self.sides})

    @property
    def is_sample(self) -> bool:
        """Whether the results are a random sample."""
        return isinstance(self.spec.goal, Sample)

    @property
    def has_importance(self) -> bool:
        """Whether results carry their importance."""
        return isinstance(self.spec.goal, MaxImportance)

    @property
    def result_schema(self) -> pa.Schema:
        """Schema of the results: a struct per stream, ``time`` and ``weight``.

        And ``cluster``, of a sample, or ``importance``, if that is the goal.
        """
        fields = [pa.field(side.name, pa.struct(list(side.schema))) for side in self.sides]
        fields += [pa.field("time", self.time.type), pa.field("weight", pa.float64())]
        if self.is_sample:
            fields.append(pa.field("cluster", pa.int64()))
        if self.has_importance:
            fields.append(pa.field("importance", pa.float64()))
        return pa.schema(fields)


def bind(spec: Specification, schemas: Mapping[str, pa.Schema]) -> Plan:
    """Bind a join to the schemas of its streams.

    Raises
    ------
    SchemaError
        If a stream is missing or unknown, a column is missing or there twice, or its type does
        not fit what the join asks of it.
    """
    _check_streams(spec, schemas)
    columns = {name: spec.on.columns_of(name) for name in spec.names}
    for name, stream in spec.streams.items():
        _check_columns(name, schemas[name], (stream.time, *columns[name]))
    time = common_scale(
        {n: (s.time, schemas[n].field(s.time).type) for n, s in spec.streams.items()},
        of_clock=any(is_clock(d) for s in spec.streams.values() for _, d in durations_of(s)),
    )
    sides = tuple(_side(spec, name, schemas[name], columns[name], time) for name in spec.names)
    typed = {n: [(c, schemas[n].field(c).type) for c in columns[n]] for n in spec.names}
    vectors = None
    if isinstance(spec.on, Equal):
        keys, values, rule = key_columns(typed), ValueScale(floating=False), Rule(layout.EQUAL)
    elif isinstance(spec.on, Similar):
        vectors = common_vectors(spec.on, {n: pairs[0] for n, pairs in typed.items()})
        keys, values, rule = (), ValueScale(floating=True), Rule(layout.SIMILAR)
    else:
        keys, values = (), common_values({n: pairs[0] for n, pairs in typed.items()})
        rule = _rule(spec.on, values)
    order = spec.on.streams or spec.names
    chain = tuple(order.index(name) for name in spec.names)
    return Plan(
        spec,
        sides,
        time,
        rule,
        keys,
        values,
        chain,
        _align(spec, time),
        _work(spec, time, sides),
        vectors,
    )


def _check_streams(spec: Specification, schemas: Mapping[str, pa.Schema]) -> None:
    for name in spec.names:
        if name not in schemas:
            raise SchemaError(
                f'stream "{name}" must be given a table; got tables for {_listed(schemas)}'
                f"{_did_you_mean(name, schemas)}; pass one table for each stream of the join"
            )
    for name in schemas:
        if name not in spec.names:
            raise SchemaError(
                f'"{name}" must be a stream of the join; its streams are {_listed(spec.names)}'
                f"{_did_you_mean(name, spec.names)}"
            )


def _check_columns(stream: str, schema: pa.Schema, wanted: tuple[str, ...]) -> None:
    for column in schema.names:
        if schema.names.count(column) > 1:
            raise SchemaError(
                f'columns of stream "{stream}" must have different names; got "{column}" twice; '
                f"rename one"
            )
    for field in schema:
        try:
            pa.table({"x": pa.nulls(1, field.type)}).take(pa.array([0]))
            pa.schema([("row", pa.struct([field]))]).empty_table()
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise SchemaError(
                must(
                    f'column "{field.name}" of stream "{stream}"',
                    "of a type that Arrow can pick rows of",
                    str(field.type),
                    "cast it to a plain type, such as string",
                )
            ) from error
    for column in wanted:
        if column not in schema.names:
            raise SchemaError(
                f'stream "{stream}" must have a column "{column}"; it has '
                f"{_listed(schema.names)}"
                f"{_did_you_mean(column, schema.names) or '; name one of these, or add it'}"
            )


def _side(
    spec: Specification, name: str, schema: pa.Schema, columns: tuple[str, ...], time: TimeScale
) -> Side:
    stream = spec.streams[name]
    kind = "a number" if time.unit is None else "a timestamp"
    why = f'its time column "{stream.time}" is {kind}'

    def units(value: DurationLike, what: str) -> int | float:
        number = to_units(value, time.units_per_second, f'{what} of stream "{name}"', why)
        if number >= layout.TIME_LIMIT:
            raise SchemaError(
                must(
                    f'{what} of stream "{name}"',
                    "below 2**61 units of its time column",
                    value,
                    "no row is ever that old: use something smaller",
                )
            )
        # A window of 2.5 over whole numbers reaches as far as one of 2.
        return float(number) if time.dtype.kind == "f" else int(number // 1)

    matches = None
    if isinstance(spec.goal, Sample) and spec.goal.matches:
        matches = spec.goal.matches.get(name)
    if matches is not None:
        _check_columns(name, schema, (matches,))
        kind = schema.field(matches).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise SchemaError(
                must(
                    f'column "{matches}" of stream "{name}", with numbers of matches,',
                    "a number",
                    str(kind),
                    "cast it, or leave matches out",
                )
            )
    last_rows, window = 0, stream.window or 0
    if isinstance(window, Rows):
        last_rows, window = window.number, 0
    return Side(
        name=name,
        schema=schema,
        time=stream.time,
        columns=columns,
        window=layout.FOR_EVER if last_rows else units(window, "window"),
        lateness=units(stream.lateness, "lateness"),
        max_ahead=None if stream.max_ahead is None else units(stream.max_ahead, "max_ahead"),
        idle=None if stream.idle is None else units(stream.idle, "idle"),
        matches=matches,
        last_rows=last_rows,
        is_told=isinstance(stream, ResultStream),
    )


def _align(spec: Specification, time: TimeScale) -> int | float | None:
    """Return how far rows may be ahead without waiting; None for any."""
    if spec.has_row_windows:
        return 0
    if spec.align == "off" or (spec.align is None and spec.budget is None):
        return None
    kind = "numbers" if time.unit is None else "timestamps"
    units = to_units(spec.align or 0, time.units_per_second, "align", f"the times are {kind}")
    return float(units) if time.dtype.kind == "f" else int(units // 1)


def _work(spec: Specification, time: TimeScale, sides: Sequence[Side]) -> WorkLimit | None:
    """Return the limit of work, in units of time."""
    budget = spec.budget
    if budget is None or budget.cpu_share is None:
        return None
    kind = "numbers" if time.unit is None else "timestamps"
    unit = float(time.units_per_second or 1)
    burst = unit
    if budget.burst is not None:
        why = f"the times are {kind}"
        burst = float(to_units(budget.burst, time.units_per_second, "burst of Budget", why))
        if not burst:
            hint = "give some time, or leave it out"
            raise SchemaError(must("burst of Budget", "above 0", budget.burst, hint))
    elif time.unit is None:
        burst = max(float(side.window) for side in sides) / 5 or 1.0
    if budget.costs is None and time.unit is None:
        hint = "add costs=penstock.Costs(insert=..., result=...), in the unit of the time columns"
        what = "Budget(cpu=...) over times that are numbers"
        raise SchemaError(must(what, "given with costs", budget, hint))
    costs = None if budget.costs is None else budget.costs.times(unit)
    return WorkLimit(budget.cpu_share, burst, costs, unit)


def _rule(predicate: object, values: ValueScale) -> Rule:
    if isinstance(predicate, Within):
        distance = values.at_most(predicate.distance)
        width = bucket_width(values, 0, distance)
        return Rule(layout.WITHIN, low=0, high=distance, width=width)
    if isinstance(predicate, Band):
        low, high = values.at_least(predicate.low), values.at_most(predicate.high)
        return Rule(layout.BAND, low=low, high=high, width=bucket_width(values, low, high))
    if isinstance(predicate, Compare):
        if predicate.operator == "=":
            return Rule(layout.EQUAL)  # with the values themselves as keys
        return Rule(layout.COMPARE, operator=_OPERATORS[predicate.operator])
    raise SchemaError(
        must(
            "on",
            "one of Penstock's predicates",
            predicate,
            "see Equal, Within, Band, Compare, Similar",
        )
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known, "")
    return f"; {hint}" if hint else ""


def rule_record(plan: Plan) -> np.ndarray:
    """Return the rule as the kernels' record."""
    value = plan.values.dtype
    floating = value.kind == "f"
    record = np.zeros(1, layout.rule_type(value))
    record["kind"] = plan.rule.kind
    record["operator"] = plan.rule.operator
    record["low"] = plan.rule.low
    record["high"] = plan.rule.high
    # Buckets of whole numbers are as wide as the next power of two: a shift is quicker than a
    # division.
    record["shift"] = 0 if floating else (int(plan.rule.width) - 1).bit_length()
    record["inverse"] = 1.0 / plan.rule.width if floating else 0.0
    # A bound is the sum of at most a few rounded terms: 2**-49 is 16 units in the last place.
    record["slack"] = 2.0**-49 if floating else 0
    record["bottom"] = -np.inf if floating else np.iinfo(np.int64).min
    record["top"] = np.inf if floating else np.iinfo(np.int64).max
    # Up to 2**53 buckets a float64's neighbour is in the same bucket or the next; all beyond are
    # one. The largest float itself bounds the edge, so that an infinite bound is beyond it.
    if floating:
        record["edge"] = edge = min(2.0**53 * plan.rule.width, np.finfo(np.float64).max)
        record["last_bucket"] = np.floor(edge / plan.rule.width) + 2
    for field in ("free_row", "free_slot"):
        record[field] = layout.NOTHING
    return record
