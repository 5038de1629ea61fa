"""Conjunctive queries over windows: plans, what they need, and what to drop."""

from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.measure import measure_query
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.plan import Plan
from penstock.planning.query import Query
from penstock.planning.query_statistics import QueryStatistics

__all__ = [
    "Condition",
    "DropBoxes",
    "OperatorCosts",
    "Plan",
    "Query",
    "QueryModel",
    "QueryStatistics",
    "Relation",
    "Selection",
    "measure_query",
]
