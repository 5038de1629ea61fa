"""Plan the query, run its cheapest plan, and compare what it cost with what the model said."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import penstock as ps
from examples.market.streams import query, tables
from penstock.planning.plan_picture import draw_plans
from penstock.planning.tree import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from penstock.planning.node_metrics import NodeMetrics
    from penstock.planning.plan import Plan


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the plan, what each operator did, and the first results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--auctions", type=int, default=20_000)
    parser.add_argument("--cpu", type=float, help="share of a processor that there is: 0.002")
    parser.add_argument("--plot", type=Path, help="where the picture of the plans goes")
    parser.add_argument("--spark", action="store_true", help="run it on Spark, too, as a stream")
    given = parser.parse_args(arguments)

    streams = tables(given.auctions)
    asked = query(streams)
    statistics = asked.measure(streams)
    budget = None if given.cpu is None else ps.Budget(cpu=given.cpu)
    plan = asked.optimize(statistics, budget=budget)
    print(plan)
    print()
    replay = plan.replay(streams)
    show(replay.nodes)
    print()
    print(f"{replay.result.num_rows:,} bids on auctions of new sellers, such as")
    for row in replay.result.slice(0, 3).to_pylist():
        print(f"  {row['name']} of {row['city']}: {row['price']} for auction {row['auction']}")
    if given.plot is not None:
        ranked = asked.plans(statistics, budget=budget)
        draw_plans(given.plot, [plan, *(each for each in ranked if each.tree != plan.tree)])
        print(f"{short(plan.tree, plan.model.names)} and other plans: {given.plot}")
    if given.spark:
        print()
        print(f"{on_spark(plan, streams):,} as a streaming query on Spark")


def show(nodes: Sequence[NodeMetrics]) -> None:
    """Print what each operator took and gave, and its cost: measured, counted and modelled."""
    print(f"{'operator':<10}{'taken':>10}{'given':>10}", end="")
    print(f"{'measured':>12}{'counted':>12}{'modelled':>12}")
    for node in nodes:
        costs = (node.measured, node.cost, node.modelled)
        words = "".join(f"{'' if cost is None else f'{cost:.3%}':>12}" for cost in costs)
        print(f"{node.name:<10}{sum(node.taken.values()):>10,}{node.given:>10,}{words}")


def on_spark(plan: Plan, streams: dict[str, pa.Table], parts: int = 4) -> int:
    """Run the plan on Spark as a streaming query over files; return the number of results.

    A file of each stream is a micro-batch. With ``availableNow`` the query ends when it has read
    all of them; otherwise the program would be the same.
    """
    from penstock.spark import session  # noqa: PLC0415  # only this needs Spark

    spark = session()
    with tempfile.TemporaryDirectory(prefix="market-") as folder:
        frames = {}
        for name, table in streams.items():
            place = Path(folder, name)
            place.mkdir()
            rows = -(-table.num_rows // parts)
            for part in range(parts):
                file = place / f"{part}.parquet"
                pq.write_table(table.slice(part * rows, rows), file)
                # Spark reads files in the order of their modification times.
                os.utime(file, (1_700_000_000 + part,) * 2)
            reader = spark.readStream.schema(spark.read.parquet(str(place)).schema)
            frames[name] = reader.option("maxFilesPerTrigger", 1).parquet(str(place))
        results = str(Path(folder, "results"))
        running = (
            plan.stream(frames)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(Path(folder, "checkpoint")))
            .trigger(availableNow=True)
            .start(results)
        )
        running.awaitTermination()
        show(plan.progress(running))
        return spark.read.parquet(results).count()


if __name__ == "__main__":
    main()
