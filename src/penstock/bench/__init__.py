"""Benchmarks for the command line: Spark's own join beside ours, on the same files, in one run."""

from __future__ import annotations

from penstock.bench.figures import Figures, Measured
from penstock.bench.run import Size, bench_join

__all__ = ["Figures", "Measured", "Size", "bench_join"]
