"""Benchmarks for the command line: Spark's own join beside ours, on the same rows, in one run."""

from __future__ import annotations

from penstock.bench.figures import Figures, Measured
from penstock.bench.overload_figures import OverloadFigures, save_overload_plot
from penstock.bench.overload_run import bench_overload
from penstock.bench.run import Size, bench_join

__all__ = [
    "Figures",
    "Measured",
    "OverloadFigures",
    "Size",
    "bench_join",
    "bench_overload",
    "save_overload_plot",
]
