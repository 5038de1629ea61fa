"""Figure 10 of Srivastava and Widom: the least recall of two joins in one budget, by skew."""

from __future__ import annotations

from penstock.studies.shared_budget import Kind, SharedPoint, measure
from penstock.studies.shared_budget_figure import TwoJoins
from penstock.studies.study import Study

__all__ = ["STUDY"]

_FIGURE = TwoJoins(
    memory=0.2,
    full_rows="2 x 0.8 r W",
    parameter="skew of the keys",
    symbol="Z",
    first="DC",
    subtitle="Directly and inversely correlated keys (DC, IC)",
)
_SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
_SEEDS = (0,)
# The paper's, and one at which more is seen of rare keys.
_RATES = (1.0, 10.0)


def _point(skew: float, windows: float, seed: int, rate: float = 1.0) -> SharedPoint:
    kinds = tuple(
        Kind(name, skew, rate=rate, windows=windows, seed=2 * seed + place)
        for place, name in enumerate(("DC", "IC"))
    )
    return SharedPoint(f"DC and IC, r = {rate:.0f}", skew, kinds, _FIGURE.memory)


STUDY = Study(
    id="srivastava04-fig10",
    title="least recall of two joins in one budget against the skew of their keys",
    reference="Srivastava and Widom 2004, section 6.2.5, Figure 10",
    grid=tuple(
        _point(skew, 10.0, seed, rate) for rate in _RATES for skew in _SKEWS for seed in _SEEDS
    ),
    quick_grid=(_point(1.5, 6.0, 0),),
    run=measure,
    table=_FIGURE.table,
    draw=_FIGURE.draw,
)
