"""What is in the checkpoint of a streaming query: each join's shards, read and checked.

Spark reads the state itself, in a job whose tasks check the chunks of a shard each. Nothing is
written into the checkpoint.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from penstock.engine.division_state import DIVISION, DivisionState
from penstock.engine.inspection import ShardState, StreamState, inspect
from penstock.errors import StateError
from penstock.spark.checkpoint_reader import operators_in_checkpoint, reading
from penstock.spark.joint_chunks import join_and_chunk
from penstock.spark.processor import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.checkpoint_reader import SavedOperator

__all__ = ["SavedDivision", "SavedJoin", "SavedState", "read_checkpoint"]

_FOUND = "join STRING, found STRING"


@dataclass(frozen=True)
class SavedJoin:
    """A join in a checkpoint.

    Attributes
    ----------
    name
        That it has in the query, or in its workload.
    operator
        Number of Spark's operator.
    partitions
        Of Spark's state.
    shards
        Its shards, in order.
    """

    name: str
    operator: int
    partitions: int
    shards: tuple[ShardState, ...]

    @property
    def damaged(self) -> tuple[str, ...]:
        """What is wrong, each with its shard before it."""
        return tuple(f"shard {each.shard}: {what}" for each in self.shards for what in each.damaged)


@dataclass(frozen=True)
class SavedDivision:
    """How a shard of a workload divides its budget.

    Attributes
    ----------
    operator
        Number of Spark's operator.
    shard
        Which it is; -1 if no head of it can be read.
    amounts
        Of each resource, what each join has.
    times
        How many times it was divided in another way than before.
    damaged
        What is wrong, in words; empty if nothing is.
    """

    operator: int
    shard: int
    amounts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    times: int = 0
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class SavedState:
    """What a checkpoint has of Penstock's.

    Attributes
    ----------
    joins
        All joins; those of a workload one by one.
    divisions
        Of workloads, by shard; empty without one.
    """

    joins: tuple[SavedJoin, ...]
    divisions: tuple[SavedDivision, ...] = ()

    @property
    def damaged(self) -> tuple[str, ...]:
        """All that is wrong, each with its join and shard before it."""
        of_joins = [f'join "{join.name}", {what}' for join in self.joins for what in join.damaged]
        of_divisions = [
            f"division of the budget, shard {each.shard}: {what}"
            for each in self.divisions
            for what in each.damaged
        ]
        return (*of_joins, *of_divisions)


def read_checkpoint(spark: SparkSession, place: str) -> SavedState:
    """Read and check all chunks of all joins in a checkpoint, as of the last commit.

    Raises
    ------
    StateError
        If it is no checkpoint of a streaming query, or one without a join of Penstock's, or if
        Spark cannot read it.
    """
    joins: list[SavedJoin] = []
    divisions: list[SavedDivision] = []
    for operator in operators_in_checkpoint(spark, place):
        with reading(place, operator.number, operator.variable(spark, place, METRICS)):
            pieces = (_workload if operator.is_workload else _one_join)(spark, place, operator)
            rows = pieces.groupBy("shard").applyInPandas(_inspect, _FOUND).collect()
            name = "" if operator.is_workload else _name(spark, place, operator)
        shards: dict[str, list[ShardState]] = {} if operator.is_workload else {"": []}
        for row in rows:
            found = json.loads(row.found)
            if row.join is None:
                found["damaged"] = tuple(found["damaged"])
                divisions.append(SavedDivision(operator.number, **found))
            else:
                shards.setdefault(row.join, []).append(_shard(found))
        joins += [
            SavedJoin(
                join or name,
                operator.number,
                operator.partitions,
                tuple(sorted(states, key=lambda each: each.shard)),
            )
            for join, states in sorted(shards.items())
        ]
    divisions.sort(key=lambda each: (each.operator, each.shard))
    return SavedState(tuple(joins), tuple(divisions))


def _name(spark: SparkSession, place: str, operator: SavedOperator) -> str:
    named = operator.variable(spark, place, METRICS).select("value.name").collect()
    return ", ".join(sorted({row.name for row in named})) or "-"


def _one_join(spark: SparkSession, place: str, operator: SavedOperator) -> DataFrame:
    """Return the chunks of a join as rows, under the names that a workload's would have."""
    head = operator.variable(spark, place, "head")
    heads = head.selectExpr("key.shard AS shard", "'0//head' AS name", "value.data AS data")
    prefix = "concat('0//', user_map_key.name)"
    for variable in ("chunks", "waiting"):
        heads = heads.unionByName(_entries(operator.variable(spark, place, variable), prefix))
    return heads


def _workload(spark: SparkSession, place: str, operator: SavedOperator) -> DataFrame:
    """Return the chunks of all joins of a workload as rows, and the division of the budget."""
    name = "user_map_key.name"
    whole = _entries(
        operator.variable(spark, place, "heads"), f"concat_ws('/', length({name}), {name}, 'head')"
    )
    for variable in ("chunks", "waiting"):
        whole = whole.unionByName(_entries(operator.variable(spark, place, variable), name))
    division = operator.variable(spark, place, DIVISION)
    columns = ("key.shard AS shard", f"'{DIVISION}' AS name", "value.data AS data")
    return whole.unionByName(division.selectExpr(*columns))


def _entries(frame: DataFrame, name: str) -> DataFrame:
    """Return the entries of a map of chunks as rows."""
    return frame.selectExpr("key.shard AS shard", f"{name} AS name", "user_map_value.data AS data")


def _inspect(chunks: pd.DataFrame) -> pd.DataFrame:
    """Check a shard's chunks, of all joins that it has; called by Spark in its workers."""
    named = {name: bytes(data) for name, data in zip(chunks["name"], chunks["data"], strict=True)}
    return pd.DataFrame(looked_at(named), columns=["join", "found"])


def looked_at(named: Mapping[str, bytes]) -> Iterator[tuple[str | None, str]]:
    """Check the chunks of a shard, by their names in a workload's state.

    Yields
    ------
    tuple of str or None, and str
        For each join its name, "" if it is alone, and what is known of it, as JSON. Then, for a
        workload, None, and what is known of the division.
    """
    joins: dict[str, dict[str, bytes]] = {}
    damaged = []
    for name, data in named.items():
        if name == DIVISION:
            continue
        try:
            join, chunk = join_and_chunk(name)
        except ValueError:
            damaged.append(f'chunk "{name}" of the saved state must be of a join; it is of none')
            continue
        joins.setdefault(join, {})[chunk] = data
    is_workload = set(joins) != {""}
    amounts: Mapping[str, Mapping[str, int]] = {}
    times = 0
    if is_workload:
        try:
            known = DivisionState.from_bytes(named.get(DIVISION))
        except StateError as error:
            damaged.append(str(error))
        else:
            amounts, times = known.amounts, known.divisions
        # Joins of which nothing is left are damaged, too.
        for join in {name for each in amounts.values() for name in each}:
            joins.setdefault(join, {})
    states = {join: inspect(own) for join, own in sorted(joins.items())}
    for join, state in states.items():
        yield join, json.dumps(asdict(state))
    if is_workload:
        shard = max((state.shard for state in states.values()), default=-1)
        found = {"shard": shard, "amounts": amounts, "times": times, "damaged": damaged}
        yield None, json.dumps(found)


def _shard(found: Mapping[str, Any]) -> ShardState:
    streams = {name: StreamState(**each) for name, each in found["streams"].items()}
    lists = {name: tuple(found[name]) for name in ("strategies", "learned", "damaged")}
    return ShardState(**{**found, **lists, "streams": streams})
