"""The demonstration: an auction site joined exactly, and again with a part of the memory."""

from __future__ import annotations

from penstock.demo.figures import Demonstration, Run
from penstock.demo.run import demonstrate

__all__ = ["Demonstration", "Run", "demonstrate"]
