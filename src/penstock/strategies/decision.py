"""What a strategy decides: one field for each of the five steps, in plain numbers and arrays.

The defaults of every field are the exact join.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.strategies.grades import GRADES
from penstock.strategies.orders import Oldest, Order

__all__ = ["Admit", "Decision", "Emit", "Insert", "Probe", "Retain", "combine"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Chances:
    """A chance for each stream, or for each stream and grade of key.

    Attributes
    ----------
    chances
        From 0 to 1: one number for all rows, one for each stream, or a table of streams by
        `GRADES` grades of keys. A table needs `Needs.frequencies`.
    """

    chances: float | Floats = 1.0

    def __post_init__(self) -> None:
        """Check that chances are chances."""
        table = np.asarray(self.chances, np.float64)
        if table.ndim > 2 or not np.all((table >= 0) & (table <= 1)):
            raise SpecificationError(
                must(
                    f"chances of {type(self).__name__}",
                    "from 0 to 1, for all rows, for each stream, or for each stream and grade",
                    self.chances,
                    "divide by their greatest, or see docs/extending.md",
                )
            )
        if table.ndim == 2 and table.shape[1] != GRADES:
            raise SpecificationError(
                must(
                    f"chances of {type(self).__name__}",
                    f"a table of streams by {GRADES} grades",
                    table.shape,
                    "grade_of(likeliness) says which grade a key has",
                )
            )

    @cached_property
    def is_certain(self) -> bool:
        """Whether no row is shed by lot."""
        return bool(np.all(np.asarray(self.chances) == 1.0))

    def of(self, streams: Integers, grades: Integers | None) -> Floats:
        """Return the chance of each row, by its stream and its key's grade."""
        table = np.asarray(self.chances, np.float64)
        if table.ndim == 0:
            return np.full(streams.size, float(table))
        if table.ndim == 1:
            return table[streams]
        if grades is None:
            raise SpecificationError(
                must(
                    f"chances of {type(self).__name__}",
                    "for each stream only, where frequencies are not observed",
                    table.shape,
                    "add needs = Needs(frequencies=True) to the strategy",
                )
            )
        return table[streams, grades]


@dataclass(frozen=True)
class Admit(Chances):
    """Step 1: with which chance an arriving row is looked at at all.

    A row that is not admitted moves its stream's clock, and that is all.
    """


@dataclass(frozen=True)
class Probe(Chances):
    """Step 2: with which chance a row looks for results, and in which parts of the windows.

    Attributes
    ----------
    sub_windows
        For each stream that arrives, each stream that is probed and each equal part of that
        stream's window, the newest first: whether it is probed, or how much of it, from 0 to 1.
        Of a part that is not probed whole, the newest rows are. None for whole windows.
    whole
        With which chance a row probes whole windows all the same. From these rows what is lost is
        estimated, and where partners are (`WorkView.lags`). With 0 nothing is known of it.
    """

    sub_windows: npt.NDArray[np.bool_] | Floats | None = None
    whole: float = 0.0

    def __post_init__(self) -> None:
        """Check that chances are chances, and shares are shares."""
        super().__post_init__()
        shares = np.asarray(1.0 if self.sub_windows is None else self.sub_windows, np.float64)
        if not np.all((shares >= 0) & (shares <= 1)):
            raise SpecificationError(
                must(
                    "Probe.sub_windows",
                    "shares of parts, from 0 to 1",
                    self.sub_windows,
                    "see docs/extending.md",
                )
            )
        if not 0 <= self.whole <= 1:
            hint = "0.02 has one of 50 rows probe whole windows"
            raise SpecificationError(must("Probe.whole", "from 0 to 1", self.whole, hint))


@dataclass(frozen=True)
class Emit:
    """Step 3: which matches become results.

    Attributes
    ----------
    only_drawn
        False for every match. True for those that are drawn, each with its weight: then rows are
        retained by `SampleThreshold`.
    """

    only_drawn: bool = False


@dataclass(frozen=True)
class Insert(Chances):
    """Step 4: with which chance a row that was admitted asks for a place in memory.

    Attributes
    ----------
    worth
        What inserting a row is worth, for each stream, or for each stream and grade of key. If the
        account of work gets low before the next review, rows of the least worth are left out first;
        if it gets full, those of the greatest are added first. None: by lot.
    """

    worth: Floats | None = None


@dataclass(frozen=True)
class Retain:
    """Step 5: which row leaves, and how much of the budget each stream may claim.

    Attributes
    ----------
    order
        Which row of a stream leaves first.
    shares
        The part of the budget that each stream may claim when memory is short; they add up to 1.
        What one stream leaves unused the others may use. None for equal parts.
    """

    order: Order = Oldest()  # noqa: RUF009  # it is frozen
    shares: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Decision:
    """What the engine does at each of the five steps until the next review.

    Examples
    --------
    >>> Decision() == Decision(admit=Admit(1.0), retain=Retain(Oldest()))
    True
    >>> half = Decision(admit=Admit(0.5))
    >>> half.admit.is_certain, half.probe.is_certain
    (False, True)
    """

    admit: Admit = Admit()
    probe: Probe = Probe()
    emit: Emit = Emit()
    insert: Insert = Insert()
    retain: Retain = Retain()

    @cached_property
    def sheds_arrivals(self) -> bool:
        """Whether some arrivals are not admitted, do not probe in full, or are not inserted."""
        chances = (self.admit, self.probe, self.insert)
        return self.probe.sub_windows is not None or not all(each.is_certain for each in chances)


def combine(memory: Decision, cpu: Decision) -> Decision:
    """Return what two strategies decide together: one about memory, one about work.

    Chances multiply; what is emitted and which rows are retained is decided about memory.

    >>> both = combine(Decision(insert=Insert(0.5)), Decision(insert=Insert(0.5), admit=Admit(0.9)))
    >>> both.insert.chances, both.admit.chances
    (0.25, 0.9)
    """

    def product(one: Chances, other: Chances) -> float | Floats:
        if one.is_certain:
            return other.chances
        if other.is_certain:
            return one.chances
        tables = np.asarray(one.chances), np.asarray(other.chances)
        rank = max(table.ndim for table in tables)
        # A chance for each stream goes with a table of streams by grades row by row.
        first, second = (
            table[:, None] if rank == 2 and table.ndim == 1 else table for table in tables
        )
        both: Floats = first * second
        return float(both) if both.ndim == 0 else both

    reach = [each for each in (memory.probe, cpu.probe) if each.sub_windows is not None]
    if len(reach) == 2:
        raise SpecificationError(
            must(
                "sub-windows to probe",
                "decided by one of two strategies",
                "both",
                "leave Probe.sub_windows out in one of them",
            )
        )
    return replace(
        memory,
        admit=Admit(product(memory.admit, cpu.admit)),
        probe=replace(reach[0] if reach else Probe(), chances=product(memory.probe, cpu.probe)),
        insert=Insert(product(memory.insert, cpu.insert), cpu.insert.worth),
    )
