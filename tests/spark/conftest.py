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
        # Java's second compiler does not pay in queries of a few rows.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # A task is tried once more, not three times: half as long until a query fails that has to.
        "spark.master": "local[2,2]",
    }
    spark = session(cores=2, memory="1g", settings=settings)
    yield spark
    spark.stop()
