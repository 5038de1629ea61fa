"""Which plan is cheapest by the model, and which by what is counted and by measured time.

``python -m benchmarks.plans`` prints it; ``--spark`` runs plans as streaming queries as well.

Counted are the steps of all operators of all plans, at the costs of the model, in replay:
`PlanReplay.nodes`. Measured is processor time, on longer streams, of the plans that are cheapest by
the model: of the operators in replay, and of Python's part of the joins on Spark (`Plan.progress`).
Plans that differ only in where selections are run the same, and are taken once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks.plan_queries import make_query
from penstock.planning.all_plans import all_plans
from penstock.planning.plan_progress import join_name, joins_of
from penstock.planning.tree import Filter, Pair, Single, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.planning.plan import Plan
    from penstock.planning.tree import Tree

MICRO_BATCHES = 4

MEASURED_SPAN, DENSITY = 100.0, 300
"""Length of the streams where time is measured, and how dense they are.

Micro-batches are not much longer than windows, and have so many rows that these take most of the
time. Longer ones would be another query: a join above another one tests rows against all those that
were valid at any time of its micro-batch."""

# How near the least the chosen plan is to be.
_NEAR = 0.1
# Plans that cost so many times as much as the cheapest are not run.
_FAR = 20.0
# Replays of each plan, of which the fastest counts.
_TIMES = 2


@dataclass(frozen=True)
class Costs:
    """What one plan costs per unit of time.

    Attributes
    ----------
    plan
        In one line.
    modelled, replayed
        By the model, and as counted in replay.
    streamed
        As counted on Spark; None if it was not run there.
    """

    plan: str
    modelled: float
    replayed: float
    streamed: float | None = None


@dataclass(frozen=True)
class Times:
    """Processor time that one plan takes per unit of time.

    Attributes
    ----------
    plan
        In one line.
    modelled
        By the model.
    replayed
        Measured in replay.
    streamed
        Measured on Spark, of Python's part; None if it was not run there.
    """

    plan: str
    modelled: float
    replayed: float
    streamed: float | None = None


def replayed(plan: Plan, tables: dict[str, pa.Table]) -> float:
    """Return what is counted in replay."""
    return sum(node.cost or 0.0 for node in plan.replay(tables).nodes)


def _in_parts(table: pa.Table) -> list[pa.Table]:
    """Return the rows of each micro-batch."""
    ends = [table.num_rows * part // MICRO_BATCHES for part in range(MICRO_BATCHES + 1)]
    return [table.slice(start, end - start) for start, end in pairwise(ends)]


def streamed(
    spark: SparkSession, plan: Plan, tables: dict[str, pa.Table], folder: Path
) -> StreamingQuery:
    """Run a plan as a streaming query over files of the same rows, until they are all joined."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  # only this needs Spark

    frames = {}
    for name, table in tables.items():
        place = folder / name
        place.mkdir(parents=True)
        for number, part in enumerate(_in_parts(table)):
            file = place / f"{number}.parquet"
            pq.write_table(part, file)
            # Spark reads files in the order of their modification times.
            os.utime(file, (1_700_000_000 + number,) * 2)
        reader = spark.readStream.schema(from_arrow_schema(table.schema))
        frames[name] = reader.option("maxFilesPerTrigger", 1).parquet(str(place))
    query = (
        plan.stream(frames, shards=2)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def python_seconds(plan: Plan, query: StreamingQuery) -> float:
    """Return the processor time of all joins in a micro-batch, in the median.

    The first micro-batch does not count: it starts Python processes, which load compiled code. So
    may a later one; hence the median.
    """
    from penstock.spark.progress import metrics_of  # noqa: PLC0415  # only this needs Spark

    names = [join_name(plan, members, "penstock") for members in joins_of(plan, plan.tree)]
    totals = []
    for update in query.recentProgress:
        found = [metrics_of(update, name) for name in names]
        if all(found):
            totals.append(sum(each.seconds for each in found if each is not None))
    return statistics.median(later - before for before, later in pairwise(totals))


def compare(
    seed: int, spark: SparkSession | None = None, most: int = 3, span: float | None = None
) -> list[Costs]:
    """Return the costs of all plans of a random query, the cheapest by the model first.

    Parameters
    ----------
    seed
        Of the query.
    spark
        To run plans on it, too; None for replay alone.
    most
        Plans that are run on Spark.
    span
        Length of the streams.
    """
    query, tables = make_query(seed) if span is None else make_query(seed, span)
    chosen = query.optimize(query.measure(tables))
    plans = [replace(chosen, tree=tree) for tree in all_plans(chosen.model)]
    plans.sort(key=lambda plan: (plan.full.cost, plan.tree != chosen.tree))
    found = []
    for number, plan in enumerate(plans):
        on_spark = None
        if spark is not None and number < most:
            with tempfile.TemporaryDirectory() as folder:
                query_ = streamed(spark, plan, tables, Path(folder))
                on_spark = sum(node.cost or 0.0 for node in plan.progress(query_))
        text = short(plan.tree, plan.model.names)
        found.append(Costs(text, plan.full.cost, replayed(plan, tables), on_spark))
    return found


def measure(
    seed: int, spark: SparkSession | None = None, most: int = 5, density: int = DENSITY
) -> list[Times]:
    """Return the measured times of the cheapest plans of a random query, by the model in order.

    Parameters
    ----------
    seed
        Of the query.
    spark
        To run plans on it, too; None for replay alone.
    most
        Plans that are run.
    density
        Of the streams.
    """
    query, tables = make_query(seed, MEASURED_SPAN, density)
    batches = {name: _in_parts(table) for name, table in tables.items()}
    chosen = query.optimize(query.measure(tables))
    plans = [replace(chosen, tree=tree) for tree in all_plans(chosen.model)]
    plans.sort(key=lambda plan: (plan.full.cost, plan.tree != chosen.tree))
    different: dict[Tree, Plan] = {}
    for plan in plans:
        different.setdefault(_without_selections(plan.tree), plan)
    found = []
    for plan in list(different.values())[:most]:
        if plan.full.cost > _FAR * chosen.full.cost:
            break
        in_process = min(
            sum(node.measured or 0.0 for node in plan.replay(batches).nodes) for _ in range(_TIMES)
        )
        on_spark = None
        if spark is not None:
            with tempfile.TemporaryDirectory() as folder:
                running = streamed(spark, plan, tables, Path(folder))
                on_spark = python_seconds(plan, running) * MICRO_BATCHES / MEASURED_SPAN
        text = short(plan.tree, plan.model.names)
        found.append(Times(text, plan.full.cost, in_process, on_spark))
    return found


def _without_selections(tree: Tree) -> Tree:
    match tree:
        case Filter(below=below):
            return _without_selections(below)
        case Pair(left=left, right=right):
            return Pair(_without_selections(left), _without_selections(right))
        case Single(inputs=inputs):
            return Single(tuple(map(_without_selections, inputs)))
        case _:
            return tree


def excess(costs: Sequence[Costs] | Sequence[Times], *, on_spark: bool = False) -> float:
    """Return by how much the cheapest plan of the model costs more than the cheapest of all."""
    counted = [each.streamed if on_spark else each.replayed for each in costs]
    known = [each for each in counted if each is not None]
    return known[0] / min(known) - 1


def main() -> None:
    """Print the costs of the plans of ten queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--plans", type=int, default=5, help="Plans of a query that are measured.")
    parser.add_argument("--spark", action="store_true", help="Run plans on Spark as well.")
    options = parser.parse_args()
    print("Counted in replay, all plans: work per unit of time of the chosen one, in 1/1000")
    print("query  plans  modelled  counted  excess over the least  dearest/cheapest")
    for seed in range(options.queries):
        costs = compare(seed)
        first = costs[0]
        apart = max(each.replayed for each in costs) / min(each.replayed for each in costs)
        print(
            f"{seed:5}  {len(costs):5}  {1e3 * first.modelled:8.3f}  {1e3 * first.replayed:7.3f}  "
            f"{excess(costs):21.1%}  {apart:16.0f}",
            flush=True,
        )
    spark = None
    if options.spark:
        from penstock.spark import session  # noqa: PLC0415  # replay needs no Spark

        spark = session(cores=2)
    measure(0, spark, most=1)  # starts Python processes, and loads and compiles code
    print("Measured, processor time per unit of time, in 1/1000: model / replay / Spark")
    within = {False: 0, True: 0}
    for seed in range(options.queries):
        times = measure(seed, spark, most=options.plans)
        for number, each in enumerate(times):
            there = "-" if each.streamed is None else f"{1e3 * each.streamed:.3f}"
            print(
                f"{seed:5}  {1e3 * each.modelled:8.3f} / {1e3 * each.replayed:.3f} / {there}  "
                f"{each.plan}{'' if number else '  (chosen)'}"
            )
        more = [excess(times)] + ([] if spark is None else [excess(times, on_spark=True)])
        print(f"{seed:5}  excess over the least: {', '.join(f'{x:.1%}' for x in more)}", flush=True)
        for on_spark, value in zip((False, True), more, strict=False):
            within[on_spark] += value <= _NEAR
    said = f"{within[False]} in replay"
    if spark is not None:
        said += f", {within[True]} on Spark"
    print(f"Within {_NEAR:.0%} of the least measured, of {options.queries} queries: {said}")


if __name__ == "__main__":
    main()
