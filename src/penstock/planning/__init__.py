"""Conjunctive queries over windows: plans, what they need, and what to drop.

`Query` reads SQL and chooses a plan. The rest is the model behind it, which can also be used with
numbers alone.
"""

from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.estimate import join_cost
from penstock.planning.measure import measure_query
from penstock.planning.model import Condition, QueryModel, Relation, Selection
from penstock.planning.node_metrics import NodeMetrics
from penstock.planning.operator_costs import OperatorCosts
from penstock.planning.plan import Plan
from penstock.planning.query import Query
from penstock.planning.query_statistics import QueryStatistics
from penstock.planning.run_replay import PlanReplay
from penstock.planning.together import JointPlan, plan_together
from penstock.planning.waiting import Waiting, waiting_of

__all__ = [
    "Condition",
    "DropBoxes",
    "JointPlan",
    "NodeMetrics",
    "OperatorCosts",
    "Plan",
    "PlanReplay",
    "Query",
    "QueryModel",
    "QueryStatistics",
    "Relation",
    "Selection",
    "Waiting",
    "join_cost",
    "measure_query",
    "plan_together",
    "waiting_of",
]
