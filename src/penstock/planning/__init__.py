"""Before a join runs: what a sample tells of its streams, and what a budget would give."""

from __future__ import annotations

from penstock.planning.measure import measure
from penstock.planning.predict import Prediction, RecallCurve, predict
from penstock.planning.statistics import Statistics, StreamStatistics

__all__ = [
    "Prediction",
    "RecallCurve",
    "Statistics",
    "StreamStatistics",
    "measure",
    "predict",
]
