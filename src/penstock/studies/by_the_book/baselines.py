"""The schemes with which `kulkarni08` 5 compares: EXACT, FIFO, RAND, SIZE and GREEDY."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.studies.by_the_book.memory import Shedder

if TYPE_CHECKING:
    from penstock.studies.by_the_book.memory import Moment

__all__ = ["Exact", "Fifo", "Greedy", "Rand", "Size"]

Integers = npt.NDArray[np.int64]


class _Oldest(Shedder):
    def victim(self, moment: Moment) -> int:
        return int(moment.own.held[0])


@dataclass(frozen=True)
class Exact:
    """EXACT: memory is unlimited, and no row is ever evicted."""

    name: ClassVar[str] = "EXACT"

    def begin(self, stream: int, rows: int) -> Shedder:  # noqa: ARG002 -- never asked
        """Return a shedder that is never asked."""
        return _Oldest()


@dataclass(frozen=True)
class Fifo:
    """FIFO: evicts the oldest row."""

    name: ClassVar[str] = "FIFO"

    def begin(self, stream: int, rows: int) -> Shedder:  # noqa: ARG002 -- needs no state
        """Start to work on a stream."""
        return _Oldest()


@dataclass(frozen=True)
class Rand:
    """RAND: evicts a random row, all with the same chance.

    Parameters
    ----------
    among
        ``"held"`` rows only, which agrees with every line of Table 3(a); or ``"all"``, the
        newcomer too, which is a uniform sample of the arrivals.
    seed
        Of the choices.
    """

    name: ClassVar[str] = "RAND"
    among: Literal["held", "all"] = "held"
    seed: int = 0

    def begin(self, stream: int, rows: int) -> Shedder:  # noqa: ARG002 -- any length
        """Start to work on a stream, with draws of its own."""
        return _Random(self, np.random.default_rng([self.seed, stream]))


@dataclass
class _Random(Shedder):
    scheme: Rand
    generator: np.random.Generator

    def victim(self, moment: Moment) -> int:
        held = moment.own.held
        choices = held.size + (self.scheme.among == "all")
        chosen = int(self.generator.integers(choices))
        return moment.newcomer if chosen == held.size else int(held[chosen])


@dataclass(frozen=True)
class Greedy:
    """GREEDY (section 4): evicts the least important row; of several, the oldest.

    Parameters
    ----------
    ties
        What goes if no held row is less important than the newcomer: the ``"newcomer"``, or the
        ``"oldest"``. Section 5.3, where all are equally important and "only a selected few tuples"
        occupy the memory, is true of the first only; Table 4 of both.
    """

    name: ClassVar[str] = "GREEDY"
    ties: Literal["newcomer", "oldest"] = "newcomer"

    def begin(self, stream: int, rows: int) -> Shedder:  # noqa: ARG002 -- needs no state
        """Start to work on a stream."""
        return _LeastImportant(self)


@dataclass
class _LeastImportant(Shedder):
    scheme: Greedy

    def victim(self, moment: Moment) -> int:
        importance = moment.own.importance[moment.own.held]
        least, own = importance.min(), moment.own.importance[moment.newcomer]
        if own < least or (own == least and self.scheme.ties == "newcomer"):
            return moment.newcomer
        return int(moment.own.held[importance.argmin()])


@dataclass(frozen=True)
class Size:
    """SIZE, after PROB of the paper's [22]: evicts the row whose value is rarest opposite.

    The paper says no more than "similar to [22]". Frequencies are counted from the arrivals,
    those of the newcomer's time step included.

    Parameters
    ----------
    recent
        Count the last `recent` rows of the other stream; all of them if None.
    ties
        Which of equally rare rows goes: by ``"partners"``, the one with the fewest matches in
        memory now, then the oldest; the ``"oldest"``; or the ``"newcomer"`` if it is one of them.

    Notes
    -----
    The default gives Table 3(b) until time 6, and its total of 11. With ``recent=4``, that
    example's M, every line of it agrees. Both were found by search: they show that counting can
    give the table, not that the paper counted so. Counting all of the past keeps b, not c, in R at
    time 8.
    """

    name: ClassVar[str] = "SIZE"
    recent: int | None = None
    ties: Literal["partners", "oldest", "newcomer"] = "partners"

    def __post_init__(self) -> None:
        if self.recent is not None and self.recent < 1:
            raise SpecificationError(
                must("recent of Size", "at least 1", self.recent, "leave it out to count all")
            )

    def begin(self, stream: int, rows: int) -> Shedder:  # noqa: ARG002 -- needs no state
        """Start to work on a stream."""
        return _Rarest(self)


@dataclass
class _Rarest(Shedder):
    scheme: Size

    def victim(self, moment: Moment) -> int:
        own, other = moment.own, moment.other
        candidates = np.append(own.held, moment.newcomer)
        codes = own.codes[candidates]
        if self.scheme.recent is None:
            counts = own.partners[codes]
        else:
            first = max(0, other.came - self.scheme.recent)
            counts = own.joins[codes][:, other.codes[first : other.came]].sum(axis=1)
        rarest = counts == counts.min()
        if self.scheme.ties == "newcomer" and rarest[-1]:
            return moment.newcomer
        if self.scheme.ties == "partners":
            partners = own.joins[codes][:, other.codes[other.held]].sum(axis=1)
            rarest &= partners == partners[rarest].min()
        return int(candidates[rarest.argmax()])
