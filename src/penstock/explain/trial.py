"""The strategies tried on a sample: what they give, not what a formula says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.explain.choice import OWN_CHOICE
from penstock.goals import MaxSubset
from penstock.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from penstock.join import Join

    Step = Callable[[str], AbstractContextManager[object]]

__all__ = ["try_strategies"]


def try_strategies(
    join: Join, tables: Mapping[str, pa.Table], results: int, step: Step
) -> dict[str, float]:
    """Run every strategy over the sample, with the join's budget.

    Parameters
    ----------
    join
        With its budget.
    tables
        The sample.
    results
        Of the exact join.
    step
        Says what is going on while the body of a ``with`` runs.

    Returns
    -------
    dict
        The recall of each, and last that of the strategy which the join chooses for itself.
    """
    found: dict[str, float] = {}
    served = [name for name, kind in STRATEGIES.items() if MaxSubset in kind.serves]
    for name in (*served, None):
        with step(f"Trying {name or OWN_CHOICE} on the sample ..."):
            metrics = replace(join, goal=MaxSubset(strategy=name)).replay(tables).metrics
        found[name or OWN_CHOICE] = metrics.emitted / results
    return found
