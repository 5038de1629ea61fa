"""IJOIN: the row that is worth least for the time that it has had leaves."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.budget import is_whole, plain
from penstock.errors import SpecificationError, must
from penstock.goals import Goal, MaxImportance
from penstock.importance.definitions import finite
from penstock.strategies.base import Floats, Needs, Strategy
from penstock.strategies.decision import Decision, ResidencePriority, Retain

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, View

_RECOMPUTATIONS = ("successive", "k-successive", "adaptive")


@dataclass(frozen=True, kw_only=True)
class Ijoin(Strategy):
    """Keep rows by residence priority: importance times matches so far, per age.

    Parameters
    ----------
    maturity
        tau: how long a row stays at least, in windows, from 0 to 1.
    unproductivity
        Delta: rows without a match for this long are penalised, in windows, from 0 to 1.
    penalty
        c: off the priority of an unproductive row for each window since its last match. A
        priority is importance times matches per window; this is that per window.
    decay
        d: how fast matches are forgotten, per window: one that is `a` windows old counts
        ``exp(-decay * a)``. With 2.5, the default, a match of 28 % of a window ago counts half;
        with 0 none is forgotten.
    recompute
        When priorities are computed. "successive": for every row that has to go; "k-successive":
        once for `every` such rows; "adaptive": when the quality of the results has changed by
        `tolerance` or more.
    every
        k, if "k-successive".
    tolerance
        epsilon, if "adaptive": relative change of quality, from 0 to 1.

    Notes
    -----
    The defaults of `maturity` and `unproductivity` are the paper's 2 and 3 seconds, in proportion
    to its window of 25 (Table 5). It gives no value for c, d and epsilon; ours are chosen.

    References
    ----------
    IJOIN in `kulkarni08` 4.3 to 4.8. What the paper leaves open: if no row is mature, all are
    candidates, the arriving one excepted; a row that never matched is idle since it came; a row
    younger than a thousandth of its window counts as that old; of equal priority the row that
    came first leaves; between two computations new rows have their importance as priority
    (RP_init), and all rows' priorities are computed, not only those of the mature ones. Ages and
    times are in windows. Departs from the paper in that an arriving row joins before it asks for
    a place, and in "adaptive": there priorities are computed when the difference in quality
    "falls below" epsilon, and yet "lowering epsilon increases overhead". We keep to the latter.

    Examples
    --------
    >>> from penstock.strategies.view import View
    >>> view = View(streams=(), room=10, goal=MaxImportance(of="price"))
    >>> Ijoin(maturity=0.1).decide(view).retain.order.maturity
    0.1
    """

    name: ClassVar[str] = "ijoin"
    serves: ClassVar[tuple[type[Goal], ...]] = (MaxImportance,)
    needs: ClassVar[Needs] = Needs(importance=True, matches=True)

    maturity: float = 0.08
    unproductivity: float = 0.12
    penalty: float = 1.0
    decay: float = 2.5
    recompute: str = "successive"
    every: int = 100
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check_number("maturity", 1, "it is in windows: 0.08 is 2 seconds of 25")
        self._check_number("unproductivity", 1, "it is in windows: 0.12 is 3 seconds of 25")
        self._check_number("penalty", math.inf, "0 penalises nothing")
        self._check_number("decay", math.inf, "it is per window: 0 forgets nothing")
        self._check_number("tolerance", 1, "0.05 is a change of 5 %")
        if self.recompute not in _RECOMPUTATIONS:
            known = ", ".join(f'"{each}"' for each in _RECOMPUTATIONS)
            raise SpecificationError(
                must("recompute of Ijoin", f"one of {known}", self.recompute, "leave it out")
            )
        object.__setattr__(self, "every", plain(self.every))
        if not is_whole(self.every, least=1):
            hint = "1 computes priorities for every row that goes"
            raise SpecificationError(
                must("every of Ijoin", "a whole number of 1 or more", self.every, hint)
            )
        for name, scheme in (("every", "k-successive"), ("tolerance", "adaptive")):
            if getattr(self, name) != getattr(Ijoin, name) and self.recompute != scheme:
                hint = f'leave it out, or add recompute="{scheme}"'
                raise SpecificationError(
                    must(f"{name} of Ijoin", f'for recompute="{scheme}"', self.recompute, hint)
                )

    def _check_number(self, name: str, most: float, hint: str) -> None:
        number = finite(getattr(self, name))
        if number is None or not 0 <= number <= most:
            requirement = "from 0 to 1" if most == 1 else "a finite number of 0 or more"
            raise SpecificationError(
                must(f"{name} of Ijoin", requirement, getattr(self, name), hint)
            )
        object.__setattr__(self, name, number)

    def decide(self, view: View) -> Decision:
        """Evict by residence priority; share the budget equally."""
        return view.previous or Decision(retain=Retain(ResidencePriority(**asdict(self))))

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return the importance of each row, with which it begins."""
        del view
        return rows.importance
