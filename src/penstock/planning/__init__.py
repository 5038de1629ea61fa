"""Conjunctive queries over windows: plans, what they need, and what to drop."""
