"""Joins of real data, small enough to read: ``python -m examples.flights``."""
