"""Counts, sums and averages of a sampled join: what was asked for, and its figures in process."""
