"""Statistics of a join from a sample of its streams, by running the exact join over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.budget import is_whole
from penstock.capacity.age_curve import SamplePeriod, age_curve
from penstock.capacity.calibration import Calibrated, calibrate
from penstock.capacity.directions import Directions
from penstock.capacity.match_shares import equal_shares, range_shares
from penstock.capacity.stream_statistics import Statistics, StreamStatistics
from penstock.capacity.value_groups import ValueGroups, group_values
from penstock.engine.intake import read_keys
from penstock.engine.kernels import layout
from penstock.engine.keys import KeyCoder
from penstock.engine.limits import bytes_held
from penstock.engine.plan import Plan, bind
from penstock.engine.replay import replay
from penstock.engine.sizes import row_sizes
from penstock.engine.store import ROW_OVERHEAD
from penstock.errors import SchemaError, SpecificationError, must
from penstock.goals import MaxSubset
from penstock.strategies.harvesting import PARTS

if TYPE_CHECKING:
    from penstock.spec import Specification

__all__ = ["measure"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# More values than this do not improve a curve of a few hundred points.
_MOST_VALUES = 200_000


@dataclass(frozen=True)
class _Side:
    """The rows of one stream that can match: their times, keys and values."""

    times: Array
    keys: npt.NDArray[np.int64]
    values: Floats


def measure(
    specification: Specification, tables: Mapping[str, pa.Table], parts: int = 64
) -> Statistics:
    """Measure the statistics of a join on a sample of its streams.

    Only the period in which every stream has rows is measured. A row whose window is longer than
    the rest of the sample counts only for the ages that it reached, so that the end of the sample
    does not distort the age curve.

    Parameters
    ----------
    specification
        The join; its budget and goal are ignored.
    tables
        One table for each stream.
    parts
        Number of parts of each window in its age curve; fewer if time has fewer ticks.

    Raises
    ------
    SchemaError
        If the tables do not fit the join, have no period in common, or give no result.
    SpecificationError
        If a window is one of rows.

    Examples
    --------
    >>> from penstock import Equal, Join, Stream
    >>> from penstock.testing import age_model
    >>> streams = age_model(curve="BELL", seed=1)
    >>> join = Join(
    ...     streams={
    ...         "s1": Stream(time="time", window=streams.window),
    ...         "s2": Stream(time="time", window=0.0),
    ...     },
    ...     on=Equal("id"),
    ... )
    >>> found = measure(join, {"s1": streams.s1, "s2": streams.s2}, parts=20)
    >>> found.streams["s1"].curve.best_age, found.too_short
    (13, ())

    References
    ----------
    `srivastava04` 2.3, parameter estimation. Departs from it in that frequencies are counted in
    the later half of the sample for values ranked by the earlier half, see `calibrate`.
    """
    if not is_whole(parts, least=1):
        hint = "leave it out for 64"
        raise SpecificationError(must("parts", "a whole number of 1 or more", parts, hint))
    specification.time_windows("statistics")
    if not isinstance(tables, Mapping):
        hint = f"write {{{', '.join(f'{name!r}: ...' for name in specification.names)}}}"
        kind = type(tables).__name__
        raise SchemaError(must("tables", "a table for each stream, by its name", kind, hint))
    for name, table in tables.items():
        if not isinstance(table, pa.Table):
            kind, hint = type(table).__name__, "see pyarrow.table and pyarrow.Table.from_pandas"
            raise SchemaError(must(f'table of stream "{name}"', "a pyarrow.Table", kind, hint))
    plan = bind(specification, {name: table.schema for name, table in tables.items()})
    sides = _read(plan, tables)
    period = _period(plan, sides)
    found = _ages(plan, tables, period)
    frequencies = _frequencies(plan, sides, period)
    streams = {}
    for s, side in enumerate(plan.sides):
        times = sides[s].times
        within = np.count_nonzero((times >= period.start) & (times <= period.end))
        streams[side.name] = StreamStatistics(
            rate=float(within / (period.end - period.start + period.tick)),
            window=float(side.window),
            curve=age_curve(times, found.ages[s], window=side.window, period=period, parts=parts),
            own=frequencies[s].own,
            partner=frequencies[s].partner,
            row_bytes=float(bytes_held(row_sizes(tables[side.name]), ROW_OVERHEAD).mean()),
            rows=tables[side.name].num_rows,
            waited=found.waited[s],
        )
    by_key = plan.rule.kind == layout.EQUAL
    return Statistics(
        streams=streams,
        units_per_second=plan.time.units_per_second,
        span=float(period.end - period.start),
        results=found.results,
        compared=found.compared / found.results,
        values=_values(sides, streams, period) if by_key and len(sides) == 2 else None,
        hottest=_hottest(sides) if by_key else 0.0,
        directions=found.directions,
    )


def _read(plan: Plan, tables: Mapping[str, pa.Table]) -> list[_Side]:
    """Read the rows that can match; raise if a stream has none."""
    coder = KeyCoder(plan.keys)
    if plan.vectors is not None:
        columns = (tables[side.name].column(side.columns[0]) for side in plan.sides)
        coder.dimensions = plan.vectors.dimensions_of(columns)
    sides = []
    for side in plan.sides:
        table = tables[side.name]
        times, good = plan.time.read(table.column(side.time))
        keys, values, has_key = read_keys(plan, side, table, coder)
        good = good & has_key
        if not good.any():
            hint = "take a sample in which every stream has rows"
            if table.num_rows:
                names = " and ".join(f'"{name}"' for name in (side.time, *side.columns))
                hint = f"look for nulls in {names}"
            requirement = "at least one that has a time and a key"
            got = f"{table.num_rows} rows, of which 0 can be used"
            raise SchemaError(must(f'rows of stream "{side.name}"', requirement, got, hint))
        sides.append(_Side(times[good], keys[good], values[good].astype(np.float64)))
    return sides


def _period(plan: Plan, sides: list[_Side]) -> SamplePeriod:
    """Find the period in which all streams have rows, and the tick of their times."""
    times = [side.times for side in sides]
    start, end = max(each.min() for each in times), min(each.max() for each in times)
    if start >= end:
        spans = {
            side.name: tuple(plan.time.to_arrow(np.array([each.min(), each.max()])).to_pylist())
            for side, each in zip(plan.sides, times, strict=True)
        }
        said = ", ".join(f'"{n}" from {first} to {last}' for n, (first, last) in spans.items())
        raise SchemaError(
            f"sample must have a period of time in which every stream has rows; got {said}; "
            f"take the rows of all streams from the same period"
        )
    tick = 0
    if plan.time.dtype.kind != "f":
        steps = [np.gcd.reduce(each - each[0]) for each in times]
        tick = int(np.gcd.reduce([*steps, *(each[0] - times[0][0] for each in times)]))
    longest = max(side.window for side in plan.sides)
    if len(sides) > 2 and end - start > 2 * longest:
        # Results of the first window are incomplete: their older members came before the sample.
        start = start + longest
    return SamplePeriod(start.item(), end.item(), tick)


@dataclass(frozen=True)
class _Ages:
    """For each stream the ages of its rows when their results' newest member arrived.

    `waited` has for each stream the share of the results in which its row was older than that.
    `compared` is the number of rows that were compared to find the results, and `directions` says
    where these rows were.
    """

    ages: list[Array]
    waited: list[float | None]
    results: int
    compared: int
    directions: Directions


def _ages(plan: Plan, tables: Mapping[str, pa.Table], period: SamplePeriod) -> _Ages:
    """Run the exact join, and compute the ages of the rows that waited for each result."""
    # Only the columns that the join needs: the others would be copied for nothing.
    narrow = {
        side.name: tables[side.name].select(list(dict.fromkeys((side.time, *side.columns))))
        for side in plan.sides
    }
    # Not every goal can do without a budget, and the exact join has no use for one.
    exact = replay(replace(plan.spec, budget=None, goal=MaxSubset()), narrow)
    result = exact.result
    if not result.num_rows:
        rows = ", ".join(f'{table.num_rows} of "{name}"' for name, table in tables.items())
        requirement = "at least one in the sample"
        hint = "check `on` and the windows, or take a larger sample"
        raise SchemaError(must("results of the join", requirement, f"none of {rows}", hint))
    times = np.stack(
        [
            plan.time.read(pc.struct_field(result.column(side.name), [side.time]))[0]
            for side in plan.sides
        ]
    )
    # At equal times the last stream's row comes last, as in the engine.
    newest = len(times) - 1 - np.argmax(times[::-1], axis=0)
    last = times.max(axis=0)
    counts = (last >= period.start) & (last <= period.end)
    ages = [(last - own)[counts & (newest != s)] for s, own in enumerate(times)]
    most = int(np.count_nonzero(counts))
    waited = [int(np.count_nonzero(each)) / most if most else None for each in ages]
    windows = [float(side.window) for side in plan.sides]
    directions = Directions.of([own[counts].astype(np.float64) for own in times], windows, PARTS)
    return _Ages(ages, waited, result.num_rows, exact.metrics.compared, directions)


def _frequencies(plan: Plan, sides: list[_Side], period: SamplePeriod) -> list[Calibrated]:
    """Compute how often each stream's values are matched, ranked by the sample's first half."""
    if plan.rule.kind == layout.EQUAL:
        halves = _shares_in_halves(sides, period)
        past, future = ([_of_others(half, s) for s in range(len(sides))] for half in halves)
        return [calibrate(halves[1][s], past[s], future[s]) for s in range(len(sides))]
    early = _in_first_half(sides, period)
    found = []
    for s, side in enumerate(sides):
        values = side.values[~early[s]]
        values = values[:: 1 + values.size // _MOST_VALUES]
        scores = [
            range_shares(plan, s, values, [o.values[m] for o, m in zip(sides, masks, strict=True)])
            for masks in (early, [~mask for mask in early])
        ]
        found.append(calibrate(np.full(values.size, 1 / max(values.size, 1)), *scores))
    return found


def _in_first_half(sides: list[_Side], period: SamplePeriod) -> list[npt.NDArray[np.bool_]]:
    """Return which rows of each stream came in the first half of the period."""
    middle = period.start + (period.end - period.start) / 2
    return [side.times < middle for side in sides]


def _shares_in_halves(sides: list[_Side], period: SamplePeriod) -> list[list[Floats]]:
    """Return the share of each key in each stream, in the first half and in the second."""
    known = np.unique(np.concatenate([side.keys for side in sides]))
    early = _in_first_half(sides, period)
    return [
        equal_shares([side.keys[mask] for side, mask in zip(sides, masks, strict=True)], known)
        for masks in (early, [~mask for mask in early])
    ]


def _values(
    sides: list[_Side], streams: Mapping[str, StreamStatistics], period: SamplePeriod
) -> ValueGroups:
    """Group the keys of two streams by the results that they give for their rows."""
    rates = [stream.rate for stream in streams.values()]
    return group_values(rates, *_shares_in_halves(sides, period))


def _hottest(sides: list[_Side]) -> float:
    """Return the share of the results that are of one key, as if all rows met each other."""
    known = np.unique(np.concatenate([side.keys for side in sides]))
    pairs = np.prod(equal_shares([side.keys for side in sides], known), axis=0)
    return float(pairs.max() / pairs.sum())


def _of_others(shares: list[Floats], mine: int) -> Floats:
    others = [each for s, each in enumerate(shares) if s != mine]
    product: Floats = np.prod(others, axis=0)
    return product
