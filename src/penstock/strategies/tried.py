"""TRIED: of several strategies, the one that finds most on a sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.strategies.age import Age
from penstock.strategies.best import MODELS, Best
from penstock.strategies.expected import Expected
from penstock.strategies.until_expiry import UntilExpiry

if TYPE_CHECKING:
    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Floats, Needs

__all__ = ["Recent", "Tried"]


@dataclass(frozen=True)
class Recent(Age):
    """Keep the most recent rows: what `fifo` does, as a model that can be tried."""

    name: ClassVar[str] = "fifo"

    def by_age(self, outlook: Outlook) -> Floats:
        """Return less the older, to nothing at the end."""
        return np.linspace(1.0, 0.0, outlook.curve.parts + 1)

    def level(self, outlook: Outlook, part: float, partner_rate: float) -> float:
        """Return the same for both streams: of each an equal part of its window is kept."""
        del outlook, part, partner_rate
        return 1.0


# Which rows have many matches is seen only of those that are kept for a while.
_OPTIMISTIC = (Expected(1.0, 1.0), Expected(1.0, 3.0))


@dataclass(frozen=True)
class Tried(Best):
    """Try AGE, PROB, EXPECTED, UNTIL-EXPIRY and FIFO on a sample of rows, and follow the best.

    Each has a small memory of its own, of rows without payload, and all arrivals look for results
    in all of these. The one that finds most is followed, and memory is divided between the streams
    as in its trial. For two streams with equal keys; for other joins it is `best`.

    It pays where few keys have most of the rows and both streams have windows, and where memory is
    small. Where what a row has to come follows from its age alone, it takes a window or two longer
    than `best` to find that out.

    References
    ----------
    Ours; miniature simulation as in Waldspurger and others, USENIX ATC 2017, by row.

    Examples
    --------
    >>> sorted({model.name for model in Tried.needs.tried})
    ['age', 'expected', 'fifo', 'prob', 'until-expiry']
    """

    name: ClassVar[str] = "tried"
    needs: ClassVar[Needs] = replace(
        Best.needs, tried=(*MODELS, *_OPTIMISTIC, UntilExpiry(), Recent())
    )
