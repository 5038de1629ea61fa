"""One Spark session for all tests of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.spark import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {
        # Java's second compiler costs more than it saves in queries of a few rows.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # A task is tried once more, not three times, so that queries that must fail do so sooner.
        "spark.master": "local[2,2]",
    }
    spark = session(cores=2, memory="1g", settings=settings)
    yield spark
    spark.stop()
