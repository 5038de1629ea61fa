"""Plan the query, run its cheapest plan, and compare what it cost with what the model said."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import penstock as ps
from examples.market.streams import query, tables
from penstock.planning.plan_picture import draw_plans
from penstock.planning.tree import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from penstock.planning.plan import Plan


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the plan, what each operator did, and the first results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--auctions", type=int, default=20_000)
    parser.add_argument("--cpu", type=float, help="share of a processor that there is: 0.002")
    parser.add_argument("--plot", type=Path, help="where the picture of the plans goes")
    parser.add_argument("--spark", action="store_true", help="run it on Spark, too, as a batch")
    given = parser.parse_args(arguments)

    streams = tables(given.auctions)
    asked = query(streams)
    statistics = asked.measure(streams)
    budget = None if given.cpu is None else ps.Budget(cpu=given.cpu)
    plan = asked.optimize(statistics, budget=budget)
    print(plan)
    print()
    replay = plan.replay(streams)
    print(f"{'operator':<10}{'rows taken':>12}{'rows given':>12}{'cost':>12}{'modelled':>12}")
    for node in replay.nodes:
        cost = "" if node.cost is None else f"{node.cost:.3%}"
        modelled = "" if node.modelled is None else f"{node.modelled:.3%}"
        taken = sum(node.taken.values())
        print(f"{node.name:<10}{taken:>12,}{node.given:>12,}{cost:>12}{modelled:>12}")
    print()
    print(f"{replay.result.num_rows:,} bids on auctions of new sellers, such as")
    for row in replay.result.slice(0, 3).to_pylist():
        print(f"  {row['name']} of {row['city']}: {row['price']} for auction {row['auction']}")
    if given.plot is not None:
        ranked = asked.plans(statistics, budget=budget)
        draw_plans(given.plot, [plan, *(each for each in ranked if each.tree != plan.tree)])
        print(f"{short(plan.tree, plan.model.names)} and other plans: {given.plot}")
    if given.spark:
        print(f"{on_spark(plan, streams):,} on Spark")


def on_spark(plan: Plan, streams: dict[str, pa.Table]) -> int:
    """Run the plan on Spark over the whole minute at once; return the number of results."""
    from penstock.spark import session  # noqa: PLC0415  # only this needs Spark

    spark = session()
    frames = {name: spark.createDataFrame(table) for name, table in streams.items()}
    return plan.batch(frames).count()


if __name__ == "__main__":
    main()
