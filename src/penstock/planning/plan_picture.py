"""Plans as a picture: results against the processor, and the tree of the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.planning.drop_boxes import keep_within
from penstock.planning.plan import FILL
from penstock.planning.plan_text import node_words, processor_words
from penstock.planning.tree import inputs_of, short
from penstock.report.plan_plots import OutputCurve, TreeBox, save_plan_plot
from penstock.wording import percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.planning.plan import Plan
    from penstock.planning.tree import Tree

__all__ = ["draw_plans"]

_DRAWN, _POINTS = 4, 32


def draw_plans(picture: Path, plans: Sequence[Plan]) -> None:
    """Draw how much the first few plans give with less of a processor, and the first one's tree.

    Parameters
    ----------
    picture
        A file that ends in ``.png``, ``.svg`` or ``.pdf``.
    plans
        Of one query; the first is the chosen one.
    """
    plans = plans[:_DRAWN]
    chosen = plans[0]
    most = 1.1 * max(min(each.full.cost for each in plans) * 2, chosen.bound)
    # Also where a plan begins to give all results: there its curve has a corner.
    full = [each.full.cost for each in plans if each.full.cost < most]
    processors = np.unique([*np.linspace(0.0, most, _POINTS + 1), *full])
    curves = [
        OutputCurve(
            short(each.tree, each.model.names),
            processors,
            np.array([_rate(each, float(x)) for x in processors]),
        )
        for each in plans
    ]
    save_plan_plot(
        picture,
        curves=curves,
        bound=chosen.bound,
        tree=_boxes(chosen, chosen.tree),
        caption="The chosen plan" + ("" if chosen.feasible else ", with its drop boxes"),
        title="How much does each plan give with less of a processor?",
        subtitle=_subtitle(chosen),
    )


def _rate(plan: Plan, bound: float) -> float:
    return keep_within(plan.full, plan.model, bound, fill=FILL).rate if bound > 0 else 0.0


def _subtitle(chosen: Plan) -> str:
    needed, allowed = processor_words(chosen.full.cost), processor_words(chosen.bound)
    left = "" if chosen.feasible else f", and gives {percent(chosen.recall)} of the results then"
    return f"the chosen plan needs {needed} to give all results, has {allowed}{left}"


def _boxes(chosen: Plan, tree: Tree) -> TreeBox:
    nodes = {node.tree: node for node in chosen.estimate.nodes}
    words, figures = node_words(
        tree, chosen.query.parsed, chosen.model, nodes[tree], chosen.boxes.kept
    )
    return TreeBox(words, figures, tuple(_boxes(chosen, each) for each in inputs_of(tree)))
