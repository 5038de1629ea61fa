"""How long results take, and how many rows wait: a plan as a network of queues."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.planning.tree import Read, streams_below

if TYPE_CHECKING:
    from penstock.planning.estimate import PlanEstimate

__all__ = ["Waiting", "waiting_of"]


@dataclass(frozen=True)
class Waiting:
    """Queues of a plan whose operators share the processors.

    Attributes
    ----------
    utilization
        Share of the processors' time that is used.
    response
        Time from the arrival of a result's newest row to the result, on average; infinite if the
        plan is not feasible.
    rows
        Rows that wait or are being worked on, on average.
    """

    utilization: float
    response: float
    rows: float


def waiting_of(plan: PlanEstimate, processors: float = 1.0) -> Waiting:
    """Return response time and waiting rows of a plan.

    The operators are an open network that shares the processors, with random (Poisson) arrivals.
    A row that needs the time s at an operator then stays there s / (1 - U) on average, where U is
    the utilization by all operators. By Little's law arrivals times that are there, in all
    U / (1 - U) rows for each processor. A result waits at each operator between its newest row's
    stream and the end of the plan.

    Parameters
    ----------
    plan
        What the plan needs.
    processors
        How many there are, or the share of one that may be used.

    References
    ----------
    `ayad04` 3.4 defines the response time, and leaves the model to future work; the network is
    separable as in Lazowska et al., *Quantitative System Performance*, 1984.

    Examples
    --------
    At 2 ms for each row plan (a) of Example 1 uses half of the time:

    >>> from penstock.planning.estimate import Estimator
    >>> from penstock.planning.examples import EXAMPLE_1_PLANS, example_1
    >>> waiting = waiting_of(Estimator(example_1(0.002)).estimate(EXAMPLE_1_PLANS["a"]))
    >>> round(waiting.utilization, 6), round(waiting.rows, 6)
    (0.5, 1.0)
    >>> round(waiting.response, 6)  # 4 ms at each join; results of rows of C pass only the last
    0.0052
    """
    utilization = plan.cost / processors
    if utilization >= 1:
        return Waiting(utilization, math.inf, math.inf)
    response = 0.0
    for node in plan.nodes:
        if isinstance(node.tree, Read) or not node.arrivals:
            continue
        passing = streams_below(node.tree)
        results = sum(float(rate) for k, rate in enumerate(plan.root.newest) if passing >> k & 1)
        share = results / plan.rate if plan.rate else 0.0
        response += share * node.cost / node.arrivals
    if plan.rate:
        response += plan.project / plan.rate
    # A share of a processor is a slower one.
    slower, count = min(processors, 1.0), max(processors, 1.0)
    idle = 1 - utilization
    return Waiting(utilization, response / slower / idle, count * utilization / idle)
