"""What predictions are made from: each stream's rate, window, age curve and value frequencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.statistics.age_curve import AgeCurve

__all__ = ["Statistics", "StreamStatistics"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamStatistics:
    """What is known of one stream of a join.

    Parameters
    ----------
    rate
        r, rows that come in a unit of time and can match; zero or more.
    window
        W, in the same units.
    curve
        In how many results a row takes part at each age, while it waits for a newer one.
    own, partner
        f of each value in this stream, and in the other one (with several others the product of
        theirs); same order. Without them no value is told from another.
    row_bytes
        What a row takes in memory, the engine's own records included; 0 if it is not known.
    rows
        Rows of the sample.

    Examples
    --------
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> auctions = StreamStatistics(rate=2.0, window=100.0, curve=AgeCurve([1, 3]))
    >>> auctions.needed_rows, auctions.results_per_row
    (200.0, 4.0)
    """

    rate: float
    window: float
    curve: AgeCurve
    own: Floats = field(default_factory=lambda: np.ones(1))
    partner: Floats = field(default_factory=lambda: np.ones(1))
    row_bytes: float = 0.0
    rows: int = 0

    def __post_init__(self) -> None:
        for name in ("rate", "window", "row_bytes"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                hint = "give what was measured"
                raise SpecificationError(
                    must(f"{name} of StreamStatistics", "finite, and zero or more", value, hint)
                )
        for name in ("own", "partner"):
            object.__setattr__(self, name, np.array(getattr(self, name), np.float64))
            getattr(self, name).setflags(write=False)
        if self.own.shape != self.partner.shape or self.own.ndim != 1:
            sizes = (self.own.shape, self.partner.shape)
            hint = "give both for the same values, in the same order"
            raise SpecificationError(
                must("own and partner of StreamStatistics", "of one length", sizes, hint)
            )

    @property
    def needed_rows(self) -> float:
        """Rows in the whole window on average: r W."""
        return self.rate * self.window

    @property
    def results_per_row(self) -> float:
        """Results for which a row waits in its whole life: n."""
        return self.curve.total

    @property
    def waiting(self) -> float:
        """Results per unit of time that find a row of this stream waiting: r n."""
        return self.rate * self.curve.total


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """What is known of the streams of a join: measured by `Join.measure`, or given.

    Parameters
    ----------
    streams
        The statistics of each stream, by name, in the join's order.
    units_per_second
        Units of time in a second; None if time is a plain number.
    span
        How much time of all streams the sample holds, in units; 0 if they were not measured.
    results
        Results of the exact join of the sample.

    Examples
    --------
    >>> from penstock.statistics.age_curve import AgeCurve
    >>> Statistics(
    ...     streams={
    ...         "auctions": StreamStatistics(rate=2.0, window=100.0, curve=AgeCurve([1, 3])),
    ...         "bids": StreamStatistics(rate=9.0, window=0.0, curve=AgeCurve([0])),
    ...     }
    ... )
    <Statistics of auctions (200 rows in the window, 4 results each), \
bids (0 rows in the window, 0 results each)>
    """

    streams: Mapping[str, StreamStatistics]
    units_per_second: int | None = None
    span: float = 0.0
    results: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", dict(self.streams))
        if not any(stream.waiting for stream in self.streams.values()):
            hint = "give a stream a rate and an age curve above zero"
            raise SpecificationError(
                must("streams of Statistics", "in some result", list(self.streams), hint)
            )

    @property
    def needed_rows(self) -> float:
        """Rows that the exact join holds on average."""
        return sum(stream.needed_rows for stream in self.streams.values())

    @property
    def row_bytes(self) -> float:
        """What a row takes in memory, in the stream where it takes most; 0 if not known."""
        return max(stream.row_bytes for stream in self.streams.values())

    @property
    def too_short(self) -> tuple[str, ...]:
        """Streams whose windows are longer than the sample: their old ages were never seen."""
        if not self.span:
            return ()
        return tuple(name for name, each in self.streams.items() if each.window > self.span)

    def __repr__(self) -> str:
        words = (
            f"{name} ({each.needed_rows:,.0f} rows in the window, "
            f"{each.results_per_row:.3g} results each)"
            for name, each in self.streams.items()
        )
        return f"<Statistics of {', '.join(words)}>"
