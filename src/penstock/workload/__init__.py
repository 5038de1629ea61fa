"""Workloads: many joins in one budget."""

from penstock.workload.definition import Workload
from penstock.workload.metrics import WorkloadMetrics
from penstock.workload.replay import WorkloadReplay

__all__ = ["Workload", "WorkloadMetrics", "WorkloadReplay"]
