"""The contenders of the studies of recall, with one name and one look everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.budget import Budget
from penstock.goals import MaxSubset
from penstock.report.plot_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Pen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.join import Join
    from penstock.studies.workload import Workload

__all__ = ["CONTENDERS", "OPTIMUM", "THEORY", "Contender", "Look", "join_of"]


@dataclass(frozen=True)
class Look:
    """How tables and pictures show a contender.

    Attributes
    ----------
    heading
        Its column in tables.
    pen
        Its line in pictures.
    """

    heading: str
    pen: Pen

    @property
    def words(self) -> str:
        """The heading in one line."""
        return self.heading.replace("\n", " ")


@dataclass(frozen=True)
class Contender(Look):
    """A strategy in the studies, or a yardstick for the others.

    Attributes
    ----------
    strategy
        The name that the join is given; None for Penstock's own choice.
    knows_curve
        Whether it is given the true age curve.
    learns
        Whether it spends a part of its memory on monitored rows. Contenders that learn nothing
        have all of it, as in the paper; then their recall cannot be estimated.
    half_life
        What was learned this many windows ago counts half.
    """

    strategy: str | None = None
    knows_curve: bool = False
    learns: bool = False
    half_life: float = MaxSubset.half_life


THEORY = "theory"
OPTIMUM = "optimum"

# In drawing order: the last lies on top.
CONTENDERS: Mapping[str, Contender] = {
    OPTIMUM: Contender("optimum", Pen("offline optimum", GREY, (0, (4, 3)), width=1.6)),
    "until-expiry": Contender(
        "until-expiry", Pen("UNTIL-EXPIRY", PURPLE, (0, (6, 2))), "until-expiry"
    ),
    "recent": Contender("recent", Pen("RECENT", VERMILION), "recent"),
    "prob": Contender("prob", Pen("PROB, learned", ORANGE, (0, (2, 1))), "prob", learns=True),
    "age-given": Contender(
        "age, given", Pen("AGE, given the curve", SKY, width=4.0), "age", knows_curve=True
    ),
    "age-first": Contender(
        "age, given\nfirst",
        Pen("AGE, given the first curve", SKY, width=4.0),
        "age",
        knows_curve=True,
    ),
    "age": Contender("age", Pen("AGE, learned", BLUE), "age", learns=True),
    "choice": Contender("choice", Pen("Penstock's choice", GREEN, (0, (3, 2))), learns=True),
    "choice-quick": Contender(
        "choice, quick",
        Pen("choice, half-life 1/2", GREEN, (0, (1, 1.5)), width=1.8),
        learns=True,
        half_life=0.5,
    ),
    THEORY: Contender("eq. 3", Pen("AGE by eq. 3", BLACK, "none", dot="o")),
}


def join_of(contender: str, made: Workload, rows: int, seed: int) -> Join:
    """Return the join of a contender, with a budget of `rows`, over a workload."""
    chosen = CONTENDERS[contender]
    curve = {"s1": made.curve_in_parts.tolist()} if chosen.knows_curve else None
    goal = MaxSubset(strategy=chosen.strategy, curve=curve, half_life=chosen.half_life)
    return made.join(goal, Budget(rows=rows, monitor=None if chosen.learns else 0), seed)
