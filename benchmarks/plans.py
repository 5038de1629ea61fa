"""Which plan is cheapest by the model, and which by what is counted, in replay and on Spark.

``python -m benchmarks.plans`` prints it; ``--spark`` runs plans as streaming queries as well.

Counted are the steps of all operators, at the costs of the model: `PlanReplay.nodes`, and on Spark
`Plan.progress`. On Spark each query has its cheapest plan by the model and those that come next:
others cost more by far.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks.plan_queries import make_query
from penstock.planning.all_plans import all_plans
from penstock.planning.tree import short

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.planning.plan import Plan

MICRO_BATCHES = 4


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


def replayed(plan: Plan, tables: dict[str, pa.Table]) -> float:
    """Return what is counted in replay."""
    return sum(node.cost or 0.0 for node in plan.replay(tables).nodes)


def streamed(spark: SparkSession, plan: Plan, tables: dict[str, pa.Table], folder: Path) -> float:
    """Return what is counted in a streaming query over files of the same rows."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  # only this needs Spark

    frames = {}
    for name, table in tables.items():
        place = folder / name
        place.mkdir(parents=True)
        ends = [table.num_rows * part // MICRO_BATCHES for part in range(MICRO_BATCHES + 1)]
        for part, (start, end) in enumerate(pairwise(ends)):
            file = place / f"{part}.parquet"
            pq.write_table(table.slice(start, end - start), file)
            # Spark reads files in the order of their modification times.
            os.utime(file, (1_700_000_000 + part,) * 2)
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
    return sum(node.cost or 0.0 for node in plan.progress(query))


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
                on_spark = streamed(spark, plan, tables, Path(folder))
        text = short(plan.tree, plan.model.names)
        found.append(Costs(text, plan.full.cost, replayed(plan, tables), on_spark))
    return found


def excess(costs: list[Costs], *, on_spark: bool = False) -> float:
    """Return by how much the cheapest plan of the model costs more than the cheapest counted."""
    counted = [each.streamed if on_spark else each.replayed for each in costs]
    known = [each for each in counted if each is not None]
    return known[0] / min(known) - 1


def main() -> None:
    """Print the costs of the plans of ten queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--spark", action="store_true", help="Run plans on Spark as well.")
    options = parser.parse_args()
    spark = None
    if options.spark:
        from penstock.spark import session  # noqa: PLC0415  # replay needs no Spark

        spark = session(cores=2)
    print(
        "query  plans  modelled  replayed  on Spark  excess in replay, on Spark  dearest/cheapest"
    )
    for seed in range(options.queries):
        costs = compare(seed, spark)
        first = costs[0]
        there = "" if first.streamed is None else f"{1e3 * first.streamed:8.3f}"
        more = "" if spark is None else f"{excess(costs, on_spark=True):.1%}"
        apart = max(each.replayed for each in costs) / min(each.replayed for each in costs)
        print(
            f"{seed:5}  {len(costs):5}  {1e3 * first.modelled:8.3f}  {1e3 * first.replayed:8.3f}  "
            f"{there:8}  {excess(costs):.1%}, {more:20}  {apart:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
