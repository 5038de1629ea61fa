"""IJOIN: the row that is worth least for the time that it has had leaves."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from penstock.budget import is_whole, plain
from penstock.errors import SchemaError, SpecificationError, must
from penstock.goals import Goal, MaxImportance
from penstock.importance.definitions import finite
from penstock.strategies.base import Floats, Needs, Strategy
from penstock.strategies.decision import Decision, Retain
from penstock.strategies.orders import ResidencePriority

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, View

_RECOMPUTATIONS = ("successive", "k-successive", "adaptive", "adaptive-below")
# Recomputations that each of these parameters is for.
_ONLY_FOR = {
    "every": ("k-successive",),
    "tolerance": ("adaptive", "adaptive-below"),
    "initial": _RECOMPUTATIONS[1:],
}


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
        c: what an unproductive row loses of its priority for each window since its last match. A
        priority is the importance of a row's results in a window, so with a penalty of 50 a row
        that had no match for a whole window loses what 50 results of importance 1 are worth.
    decay
        d: how fast matches are forgotten, per window: one that is `a` windows old counts
        ``exp(-decay * a)``. With 2.5, the default, a match of 28 % of a window ago counts half;
        with 0 none is forgotten.
    recompute
        When priorities are computed. "successive": for every row that has to go; "k-successive":
        once for `every` such rows; "adaptive": when the quality of the results has changed by
        `tolerance` or more; "adaptive-below": when it has changed by less.
    every
        k, if "k-successive".
    tolerance
        epsilon, if "adaptive" or "adaptive-below": relative change of quality, from 0 to 1.
    initial
        RP_init: the priority with which rows come, which they have until priorities are computed.
        The name of a column of numbers, which all streams have, or a number for all rows, 0 or
        more. None is a row's importance, and so is what is null, NaN, negative or infinite in the
        column. It is not for "successive", where priorities are computed before it could count.

    Notes
    -----
    The defaults of `maturity` and `unproductivity` are the paper's 2 and 3 seconds, in proportion
    to its window of 25 (Table 5). It gives no value for c, d, k and epsilon. Ours are measured
    (docs/importance.md): no penalty, as it gains 1 % at most and may cost a quarter; k = 10, which
    loses 1 % at most; and epsilon = 0.5, which loses nothing. A penalty is in the unit of
    importance, so a number for one definition is too large or too small for another.

    References
    ----------
    IJOIN in `kulkarni08` 4.3 to 4.8. What the paper leaves open: if no row is mature, all are
    candidates, the arriving one excepted; a row that never matched is idle since it came; a row
    younger than a thousandth of its window counts as that old; of equal priority the row that
    came first leaves; between two computations new rows have RP_init as priority, and all rows'
    priorities are computed, not only those of the mature ones. Ages and times are in windows.
    Departs from the paper in that an arriving row joins before it asks for a place. Of "adaptive"
    the paper says that priorities are computed when the difference in quality "falls below"
    epsilon, and yet that "lowering epsilon increases overhead": "adaptive-below" and "adaptive".

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
    penalty: float = 0.0
    decay: float = 2.5
    recompute: str = "successive"
    every: int = 10
    tolerance: float = 0.5
    initial: str | float | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check_number("maturity", 1, "it is in windows: 0.08 is 2 seconds of 25")
        self._check_number("unproductivity", 1, "it is in windows: 0.12 is 3 seconds of 25")
        self._check_number("penalty", math.inf, "0 penalises nothing")
        self._check_number("decay", math.inf, "it is per window: 0 forgets nothing")
        self._check_number("tolerance", 1, "0.5 is a change of 50 %")
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
        if self.initial is not None and not (isinstance(self.initial, str) and self.initial):
            number = finite(self.initial)
            if number is None or number < 0:
                raise SpecificationError(
                    must(
                        "initial of Ijoin",
                        "the name of a column, or a finite number of 0 or more",
                        self.initial,
                        "leave it out for a row's importance",
                    )
                )
            object.__setattr__(self, "initial", number)
        for name, schemes in _ONLY_FOR.items():
            if getattr(self, name) != getattr(Ijoin, name) and self.recompute not in schemes:
                words = " or ".join(f'recompute="{each}"' for each in schemes)
                hint = f'leave it out, or add recompute="{schemes[0]}"'
                raise SpecificationError(
                    must(f"{name} of Ijoin", f"for {words}", self.recompute, hint)
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
        if view.previous is not None:
            return view.previous
        parameters = asdict(self)
        has_initial = parameters.pop("initial") is not None
        return Decision(retain=Retain(ResidencePriority(**parameters, has_initial=has_initial)))

    def rate(self, view: View, rows: Rows) -> Floats | None:
        """Return the importance of each row, with which it begins."""
        del view
        return rows.importance

    def begin_with(self, view: View, rows: Rows) -> Floats | None:
        """Return RP_init of each row; None if it is its importance."""
        if self.initial is None:
            return None
        if not isinstance(self.initial, str):
            return np.full(rows.ages.size, self.initial)
        stream = view.streams[rows.stream].name
        try:
            column = rows.column(self.initial)
            given = column.cast(pa.float64(), safe=False).to_numpy()
        except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(
                must(
                    f'stream "{stream}"',
                    f'a stream with a column of numbers "{self.initial}", for initial of Ijoin',
                    str(error),
                    "add one, or give a number for all rows",
                )
            ) from error
        importance = np.zeros(given.size) if rows.importance is None else rows.importance
        return np.where(np.isfinite(given) & (given >= 0), given, importance)
