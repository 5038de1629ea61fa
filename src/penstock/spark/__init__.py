"""Penstock on Spark: the only package that imports pyspark."""

from __future__ import annotations

try:
    import pandas as pd  # noqa: F401  # Spark needs it, and would say so only later
    import pyspark  # noqa: F401
except ModuleNotFoundError as error:
    message = f'{error.name} must be installed to run on Spark; pip install "penstock[spark]"'
    raise ModuleNotFoundError(message, name=error.name) from error

from penstock.spark.market import MarketSource
from penstock.spark.progress import Listener, Update, cause
from penstock.spark.session import session

__all__ = ["Listener", "MarketSource", "Update", "cause", "session"]
