"""The contenders of the studies of importance, for both scales, and the goals of the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock import strategies
from penstock.goals import MaxImportance
from penstock.report.plot_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Pen
from penstock.studies.by_the_book import Adaptive, EveryFew, Exact, Fifo, Greedy, Ijoin, Rand, Size
from penstock.studies.contenders import Look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.studies.by_the_book.memory import Scheme
    from penstock.studies.by_the_book.simulate import Order

__all__ = [
    "CONTENDERS",
    "EXACT",
    "IJOIN_SECONDS",
    "OPTIMUM",
    "OURS",
    "Contender",
    "importance_goal",
    "with_times",
]

IJOIN_SECONDS = 25.0
"""w of Table 5."""


@dataclass(frozen=True)
class Contender(Look):
    """A strategy in the studies, or a yardstick for the others.

    Attributes
    ----------
    scheme
        For the simulator; the times of an `Ijoin` come from the setting.
    order
        In which the simulator deals with an arrival.
    strategy
        For the engine; None for Penstock's own choice.
    at_users_scale
        Whether it takes part at a user's scale.
    """

    scheme: Scheme | None = None
    order: Order = "probe first"
    strategy: str | None = None
    at_users_scale: bool = True


EXACT, OPTIMUM, OURS = "exact", "optimum", "ours"


def _ijoin(heading: str, pen: Pen, scheme: Ijoin, *, engine: bool = True) -> Contender:
    return Contender(heading, pen, scheme, strategy="ijoin", at_users_scale=engine)


# In drawing order: the last lies on top.
CONTENDERS: Mapping[str, Contender] = {
    EXACT: Contender("EXACT", Pen("EXACT", BLACK), Exact()),
    OPTIMUM: Contender("optimum", Pen("offline optimum", GREY, (0, (4, 3)), width=1.6)),
    "fifo": Contender("FIFO", Pen("FIFO", BLACK, dot="s"), Fifo(), strategy="fifo"),
    "rand": Contender("RAND", Pen("RAND", GREY, (0, (1, 1.5))), Rand(), strategy="random"),
    "size-shed": Contender(
        "SIZE,\nsheds first",
        Pen("SIZE, sheds first", SKY, (0, (2, 1)), dot="v"),
        Size(),
        order="shed first",
        at_users_scale=False,
    ),
    "size": Contender("SIZE", Pen("SIZE", BLUE, dot="^"), Size(), strategy="size"),
    "greedy-shed": Contender(
        "GREEDY,\nsheds first",
        Pen("GREEDY, sheds first", PURPLE, (0, (2, 1)), dot="v"),
        Greedy(),
        order="shed first",
        at_users_scale=False,
    ),
    "greedy": Contender("GREEDY", Pen("GREEDY", PURPLE, dot="^"), Greedy(), strategy="greedy"),
    "ijoin-bare": _ijoin(
        "IJOIN,\neq. 5 alone",
        Pen("IJOIN, eq. 5 alone", ORANGE, (0, (2, 1)), dot="D"),
        Ijoin(maturity=0.0, decay=0.0, penalty=0.0),
    ),
    "ijoin-harsh": _ijoin(
        "IJOIN,\nc = 100",
        Pen("IJOIN, c = 100", ORANGE, (0, (6, 2)), dot="o"),
        Ijoin(penalty=100.0),
    ),
    "ijoin-few": _ijoin(
        "k-successive",
        Pen("k-successive", ORANGE, dot="o"),
        Ijoin(recomputation=EveryFew(10)),
    ),
    "ijoin-adaptive": _ijoin(
        "adaptive",
        Pen("adaptive", SKY, dot="o"),
        Ijoin(recomputation=Adaptive(0.5)),
    ),
    "ijoin-below": _ijoin(
        "adaptive,\nbelow",
        Pen("adaptive, below", BLUE, dot="D"),
        Ijoin(recomputation=Adaptive(0.5, when="below")),
        engine=False,
    ),
    "ijoin": _ijoin("IJOIN", Pen("IJOIN", VERMILION, dot="o"), Ijoin()),
    OURS: Contender("ours", Pen("Penstock's own", GREEN, (0, (3, 2)), dot="x")),
}


def importance_goal(
    strategy: str | None = None,
    *,
    ijoin: Ijoin | None = None,
    window_seconds: float = IJOIN_SECONDS,
    fairness: float | None = None,
    redefined_at: Sequence[float] = (),
) -> MaxImportance:
    """Return the engine's goal: the only place that knows how it is written.

    Parameters
    ----------
    strategy
        Its name; None for Penstock's own choice.
    ijoin
        The parameters of IJOIN, with times in seconds.
    window_seconds
        How many seconds a window has: the engine's times are in windows.
    fairness
        How much of it is asked for; None for the default.
    redefined_at
        Times from which on the columns ``importance_1``, ``importance_2`` hold.
    """
    chosen: str | strategies.Strategy | None = strategy
    if ijoin is not None:
        chosen = _in_windows(ijoin, window_seconds)
    elif fairness is not None:
        chosen = strategies.Worth(fairness=fairness)
    if not redefined_at:
        return MaxImportance(of="importance", strategy=chosen)
    later = [(time, f"importance_{number + 1}") for number, time in enumerate(redefined_at)]
    return MaxImportance(of=[(None, "importance"), *later], strategy=chosen)


def _in_windows(scheme: Ijoin, seconds: float) -> strategies.Ijoin:
    """Return the engine's IJOIN with the same parameters, times in windows."""
    options: dict[str, Any] = {
        "maturity": scheme.maturity / seconds,
        "unproductivity": scheme.unproductivity / seconds,
        "decay": scheme.decay * seconds,
        # RP is importance times matches by age, and c times the idle time comes off. In windows
        # of 25 s the first is 25 times as large and the idle time a 25th.
        "penalty": scheme.penalty * seconds**2,
    }
    match scheme.recomputation:
        case EveryFew(k):
            options |= {"recompute": "k-successive", "every": k}
        case Adaptive(epsilon, when):
            scheme_name = "adaptive" if when == "reaches" else "adaptive-below"
            options |= {"recompute": scheme_name, "tolerance": epsilon}
    return strategies.Ijoin(**options)


def with_times(scheme: Ijoin, maturity: float, unproductivity: float) -> Ijoin:
    """Return IJOIN with the times of a setting; a scheme without maturity stays without."""
    return replace(
        scheme, maturity=maturity if scheme.maturity else 0.0, unproductivity=unproductivity
    )
