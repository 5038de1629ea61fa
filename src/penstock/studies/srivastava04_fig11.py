"""Figure 11 of Srivastava and Widom: the least recall of two joins in one budget, by age curve."""

from __future__ import annotations

from penstock.studies.shared_budget import Kind, SharedPoint, measure
from penstock.studies.shared_budget_figure import TwoJoins
from penstock.studies.study import Study

__all__ = ["STUDY"]

_FIGURE = TwoJoins(
    memory=0.5,
    full_rows="0.8 r W",
    parameter="exponent of the age curves",
    symbol="p",
    first="INC",
    subtitle="One join with late matches, one with early ones",
)
_EXPONENTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
# A window of 1,000 rows: in the paper's, of 400, an age curve is known less well.
_RATE = 2.5


def _point(exponent: float, windows: float, seed: int) -> SharedPoint:
    kinds = tuple(
        Kind(name, exponent, rate=_RATE, windows=windows, seed=2 * seed + place)
        for place, name in enumerate(("INC", "DEC"))
    )
    return SharedPoint("INC and DEC", exponent, kinds, _FIGURE.memory)


STUDY = Study(
    id="srivastava04-fig11",
    title="least recall of two joins in one budget against the exponent of their age curves",
    reference="Srivastava and Widom 2004, section 6.2.5, Figure 11",
    grid=tuple(_point(exponent, 9.0, 0) for exponent in _EXPONENTS),
    quick_grid=(_point(2.0, 6.0, 0),),
    run=measure,
    table=_FIGURE.table,
    draw=_FIGURE.draw,
)
