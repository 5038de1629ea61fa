"""Benchmarks for the command line: Spark's own join beside ours, on the same rows, in one run."""

from __future__ import annotations

from penstock.bench.burst_figures import BurstFigures
from penstock.bench.burst_load import Phases
from penstock.bench.burst_plot import save_burst_plot
from penstock.bench.burst_run import bench_burst
from penstock.bench.figures import Figures, Measured
from penstock.bench.run import Size, bench_join

__all__ = [
    "BurstFigures",
    "Figures",
    "Measured",
    "Phases",
    "Size",
    "bench_burst",
    "bench_join",
    "save_burst_plot",
]
