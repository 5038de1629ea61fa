"""IJOIN: evicts the row with the lowest residence priority (`kulkarni08` 4.3 to 4.8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.studies.by_the_book.memory import Shedder
from penstock.studies.by_the_book.recomputation import Recomputation, Successive

if TYPE_CHECKING:
    from penstock.studies.by_the_book.memory import Moment

__all__ = ["Ijoin", "residence_priority"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ijoin:
    """IJOIN, with the choices that the paper leaves open.

    Parameters
    ----------
    maturity
        tau: rows that are not older may not be evicted.
    unproductivity
        Delta: rows without a match for this long are penalised.
    decay
        d of eq. 7, per time unit; 0 counts all matches alike, which is the global priority of
        eq. 5. The paper gives no value. Matches decay from their arrival; in whole time units that
        is eq. 7, which counts in steps.
    penalty
        c of eq. 8. The paper gives no value.
    recomputation
        When priorities are recomputed. In between, the last ones hold; newer rows have
        `initial`.
    none_mature
        What to do if room is needed and no row is mature, which Algorithm 2 leaves open:
        ``"waive"`` maturity, so that all held rows are candidates, or ``"drop newcomer"``.
    smallest_age
        Younger rows count as this old; eq. 5 divides by zero in a row's first time step. None
        treats the age 0 alone as one time unit.
    unmatched
        Since when a row that never matched is unproductive: since its ``"arrival"``, or
        ``"never"``.
    ties
        Which of equal priority goes, such as rows that never matched: the ``"oldest"``, or the
        ``"least important"``, then the oldest.
    initial
        RP_init: the row's ``"importance"``, as if it had one match at the age of one, or
        ``"zero"``, or a number for each row of both streams. The paper gives no value. It has no
        effect if priorities are always recomputed, since the newcomer is no candidate.
    """

    name: ClassVar[str] = "IJOIN"
    maturity: float = 2.0
    unproductivity: float = 3.0
    decay: float = 0.1
    penalty: float = 1.0
    recomputation: Recomputation = field(default_factory=Successive)
    none_mature: Literal["waive", "drop newcomer"] = "waive"
    smallest_age: float | None = None
    unmatched: Literal["arrival", "never"] = "arrival"
    ties: Literal["oldest", "least important"] = "oldest"
    initial: Literal["importance", "zero"] | tuple[Floats, Floats] = "importance"

    def __post_init__(self) -> None:
        for name in ("maturity", "unproductivity", "decay", "penalty"):
            if not getattr(self, name) >= 0:
                raise SpecificationError(
                    must(f"{name} of Ijoin", "0 or more", getattr(self, name), "0 switches it off")
                )
        if self.smallest_age is not None and not self.smallest_age > 0:
            raise SpecificationError(
                must("smallest_age", "above 0", self.smallest_age, "leave it out for one unit")
            )

    def begin(self, stream: int, rows: int) -> _Priorities:
        """Start to work on a stream."""
        initial = self.initial[stream] if isinstance(self.initial, tuple) else None
        return _Priorities(self, rows, initial)


def residence_priority(
    scheme: Ijoin, importance: Floats, matches: Floats, ages: Floats, idle: Floats
) -> Floats:
    """Return RP of rows: eqs. 5 and 6, less the penalty of eq. 8.

    Parameters
    ----------
    scheme
        Says what an age of zero is, and Delta and c.
    importance
        Of the rows.
    matches
        How many each had, decayed or not.
    ages
        Time since they came.
    idle
        Time since they last matched.

    Examples
    --------
    >>> scheme = Ijoin(unproductivity=3.0, penalty=0.5)
    >>> ones = np.ones(3)
    >>> residence_priority(scheme, 6 * ones, 2 * ones, 4 * ones, np.array([0.0, 2.9, 4.0]))
    array([3., 3., 1.])
    """
    if scheme.smallest_age is None:
        ages = np.where(ages == 0.0, 1.0, ages)
    else:
        ages = np.maximum(ages, scheme.smallest_age)
    unproductive = idle >= scheme.unproductivity
    return importance * matches / ages - np.where(unproductive, scheme.penalty * idle, 0.0)


class _Priorities(Shedder):
    """The metadata of 4.2 of all rows of a stream, and Algorithm 2."""

    def __init__(self, scheme: Ijoin, rows: int, initial: Floats | None = None) -> None:
        self.scheme = scheme
        self.initial = initial
        self.matches = np.zeros(rows)
        self.counted = np.zeros(rows)  # the time as of which matches are decayed
        self.last_match = np.full(rows, np.nan)  # none yet
        self.priority = np.full(rows, np.nan)  # not computed yet
        self.decisions = 0
        self.recomputations = 0
        self.seen, self.quality = 0.0, 0.0

    def matched(self, numbers: Integers, time: float) -> None:
        self.matches[numbers] = self.matches_at(numbers, time)
        self.counted[numbers] = time
        self.last_match[numbers] = time
        np.add.at(self.matches, numbers, 1.0)

    def matches_at(self, numbers: Integers, time: float) -> Floats:
        """Return the matches of rows, eq. 7."""
        decayed = self.matches[numbers] * np.exp(
            -self.scheme.decay * (time - self.counted[numbers])
        )
        return np.asarray(decayed)

    def victim(self, moment: Moment) -> int:
        held = moment.own.held
        ages = moment.time - moment.own.times[held]
        if self.is_due(moment):
            self.recomputations += 1
            self.recompute(moment, ages)
        mature = ages > self.scheme.maturity
        if mature.any():
            candidates = held[mature]
        elif self.scheme.none_mature == "waive":
            candidates = held
        else:
            return moment.newcomer
        priority = self.priority[candidates]
        importance = moment.own.importance[candidates]
        fresh = np.isnan(priority)
        if self.initial is not None:
            priority[fresh] = self.initial[candidates[fresh]]
        else:
            priority[fresh] = importance[fresh] if self.scheme.initial == "importance" else 0.0
        if self.scheme.ties == "oldest":
            return int(candidates[priority.argmin()])
        return int(candidates[np.lexsort((importance, priority))[0]])

    def is_due(self, moment: Moment) -> bool:
        quality = moment.importance - self.seen
        due = self.scheme.recomputation.due(self.decisions, quality, self.quality)
        self.decisions += 1
        self.seen, self.quality = moment.importance, quality
        return due

    def recompute(self, moment: Moment, ages: Floats) -> None:
        # Of all held rows, not only of the mature ones as in Algorithm 2: the priorities hold until
        # the next time, and rows may have become mature by then.
        held = moment.own.held
        idle = moment.time - self.last_match[held]
        since_arrival = ages if self.scheme.unmatched == "arrival" else np.zeros_like(ages)
        self.priority[held] = residence_priority(
            self.scheme,
            moment.own.importance[held],
            self.matches_at(held, moment.time),
            ages,
            np.where(np.isnan(idle), since_arrival, idle),
        )
