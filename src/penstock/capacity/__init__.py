"""Capacity forecasts from a sample: the recall for a budget, and the budget for a recall."""

from __future__ import annotations

from penstock.capacity.cpu_prediction import CpuCurve, CpuPrediction
from penstock.capacity.measure import measure
from penstock.capacity.prediction import Prediction, RecallCurve, predict
from penstock.capacity.stream_statistics import Statistics, StreamStatistics

__all__ = [
    "CpuCurve",
    "CpuPrediction",
    "Prediction",
    "RecallCurve",
    "Statistics",
    "StreamStatistics",
    "measure",
    "predict",
]
