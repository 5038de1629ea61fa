"""Metrics of a join: counts of what it has done, estimates of what it has lost, and a summary."""

from __future__ import annotations

from penstock.metrics.join_metrics import Metrics
from penstock.metrics.stream_metrics import StreamMetrics
from penstock.metrics.totals import total

__all__ = ["Metrics", "StreamMetrics", "total"]
