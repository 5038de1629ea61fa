"""Benchmarks: ratios between two ways to do the same, measured in one run on the same data.

``python -m benchmarks`` runs them all; docs/benchmarks.md says what they measure and why.
"""
