"""Benchmarks for the command line: Spark's own join beside ours, on the same rows, in one run."""

from __future__ import annotations

from penstock.bench.burst_figures import BurstFigures
from penstock.bench.burst_load import Phases
from penstock.bench.burst_plot import save_burst_plot
from penstock.bench.burst_run import bench_burst
from penstock.bench.figures import Figures, Measured
from penstock.bench.harvest_figures import HarvestFigures
from penstock.bench.harvest_plot import save_harvest_plot
from penstock.bench.harvest_run import bench_harvest, check_seconds
from penstock.bench.run import Size, bench_join

__all__ = [
    "BurstFigures",
    "Figures",
    "HarvestFigures",
    "Measured",
    "Phases",
    "Size",
    "bench_burst",
    "bench_harvest",
    "bench_join",
    "check_seconds",
    "save_burst_plot",
    "save_harvest_plot",
]
