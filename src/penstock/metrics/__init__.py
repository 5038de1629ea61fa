"""Metrics of a join: counts of what it has done, estimates of what it has lost, and a summary."""

from __future__ import annotations

from penstock.metrics.join_metrics import Metrics, StreamMetrics, total

__all__ = ["Metrics", "StreamMetrics", "total"]
