"""`gedik05` by the book: a plain simulator of its join, its buffers and its ways to shed load.

It shares nothing with the engine but the models of `penstock.statistics`. Comparisons are all that
costs, and a machine makes so many of them in a second of the streams' own time.
"""

from __future__ import annotations

from penstock.studies.grub_join.drop import RandomDrop
from penstock.studies.grub_join.exact import Exact
from penstock.studies.grub_join.grub import Grub
from penstock.studies.grub_join.policy import Interval, Policy, Settings
from penstock.studies.grub_join.simulate import Machine, Run, simulate

__all__ = [
    "Exact",
    "Grub",
    "Interval",
    "Machine",
    "Policy",
    "RandomDrop",
    "Run",
    "Settings",
    "simulate",
]
