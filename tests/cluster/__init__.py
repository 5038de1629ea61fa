"""Joins on a standalone cluster on the loopback address: `make cluster`."""
