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
    # Java's second compiler does not pay in queries of a few rows.
    settings = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    spark = session(cores=2, memory="1g", settings=settings)
    yield spark
    spark.stop()
