"""Joins in real time, at rates that the exact join is too slow for: one benchmark, two loads."""

from __future__ import annotations

from penstock.bench.live.burst import Burst, Phases
from penstock.bench.live.burst_figures import BurstFigures
from penstock.bench.live.figures import LiveFigures
from penstock.bench.live.harvest import Harvest
from penstock.bench.live.harvest_figures import HarvestFigures
from penstock.bench.live.plot import save_live_plot
from penstock.bench.live.run import bench_live

__all__ = [
    "Burst",
    "BurstFigures",
    "Harvest",
    "HarvestFigures",
    "LiveFigures",
    "Phases",
    "bench_live",
    "save_live_plot",
]
