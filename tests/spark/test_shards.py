"""Keys of shards: Spark's hash sends each to a partition of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.shards import partition, shard_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EDGES = (2**16, 2**24 + 7, 2**31 - 1)


def test_partitions_are_those_of_sparks_hash(spark: SparkSession) -> None:
    keys = [*range(2000), *EDGES]
    numbers = [1, 2, 3, 4, 7, 16, 64, 200, 1000]
    frame = spark.createDataFrame([(key,) for key in keys], "key INT")
    found = frame.select(*(F.pmod(F.hash("key"), F.lit(n)) for n in numbers)).collect()
    expected = [tuple(partition(key, n) for n in numbers) for key in keys]
    assert [tuple(row) for row in found] == expected


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 13, 32])
def test_a_shuffle_puts_each_shard_into_a_partition_of_its_own(
    spark: SparkSession, shards: int
) -> None:
    keys = [(key,) for key in shard_keys(shards)]
    frame = spark.createDataFrame(keys, "shard INT").repartition(shards, "shard")
    assert len({row[0] for row in frame.select(F.spark_partition_id()).collect()}) == shards


@pytest.mark.parametrize("shards", [*range(1, 70), 200, 1000])
def test_keys_depend_on_the_number_of_shards_only(shards: int) -> None:
    keys = shard_keys(shards)
    assert keys == shard_keys(shards)
    assert keys[0] == 0
    assert list(keys) == sorted(set(keys))
    assert {partition(key, shards) for key in keys} == set(range(shards))
