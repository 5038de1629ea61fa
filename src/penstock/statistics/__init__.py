"""Estimators of what a join learns from its streams while it runs, one per file."""
