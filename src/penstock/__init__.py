"""Penstock joins data streams that are too fast or too large for the machine.

It keeps within a memory budget, loses as little of the answer as possible, and says how much it
lost. Start with `Join`.
"""

from penstock import planning, strategies
from penstock.budget import Budget
from penstock.capacity import Prediction, Statistics
from penstock.costs import Costs
from penstock.engine.replay import Replay
from penstock.errors import (
    PenstockError,
    SchemaError,
    SessionError,
    SpecificationError,
    StateError,
)
from penstock.estimation import estimate
from penstock.goals import MaxImportance, MaxSubset, Sample
from penstock.importance import Histogram, Lookup
from penstock.join import Join, progress
from penstock.metrics import Metrics, StreamMetrics
from penstock.planning import Query
from penstock.predicates import Band, Compare, Equal, Similar, Within
from penstock.spec import Stream
from penstock.windows import Rows
from penstock.workload import Workload

__all__ = [
    "Band",
    "Budget",
    "Compare",
    "Costs",
    "Equal",
    "Histogram",
    "Join",
    "Lookup",
    "MaxImportance",
    "MaxSubset",
    "Metrics",
    "PenstockError",
    "Prediction",
    "Query",
    "Replay",
    "Rows",
    "Sample",
    "SchemaError",
    "SessionError",
    "Similar",
    "SpecificationError",
    "StateError",
    "Statistics",
    "Stream",
    "StreamMetrics",
    "Within",
    "Workload",
    "estimate",
    "planning",
    "progress",
    "strategies",
]

__version__ = "0.1.0"
