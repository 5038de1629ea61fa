"""Statistics that predictions need: each stream's rate, window, age curve and frequencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.capacity.directions import Directions
    from penstock.capacity.value_groups import ValueGroups
    from penstock.statistics.age_curve import AgeCurve

__all__ = ["Statistics", "StreamStatistics"]

Floats = npt.NDArray[np.float64]

# Share of the results up to which a window counts as not needed.
_HARDLY_ANY = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamStatistics:
    """Statistics of one stream of a join.

    Parameters
    ----------
    rate
        r, rows per unit of time that can match; zero or more.
    window
        W, in the same units of time.
    curve
        Number of results that a row is in at each age, as a row that waits in memory.
    own, partner
        Frequency f of each value in this stream, and in the other one (with several others the
        product of theirs), in the same order. By default all values are treated as one.
    row_bytes
        Bytes of a row in memory, the engine's own records included; 0 if not known.
    rows
        Number of rows in the sample.
    waited
        Share of the sample's results for which a row of this stream had to wait: another member
        came later. None if not measured.

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
    waited: float | None = None

    def __post_init__(self) -> None:
        for name in ("rate", "window", "row_bytes"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                hint = "pass the measured value"
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
        """Average number of rows in the window: r W."""
        return self.rate * self.window

    @property
    def needed_bytes(self) -> float:
        """Average size of the rows in the window; 0 if the size of a row is not known."""
        return self.needed_rows * self.row_bytes

    @property
    def results_per_row(self) -> float:
        """Number of results that a row waits for in its whole window: n."""
        return self.curve.total

    @property
    def waiting(self) -> float:
        """Results per unit of time in which a row of this stream waits: r n."""
        return self.rate * self.curve.total


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Statistics of the streams of a join, measured by `Join.measure` or given.

    Parameters
    ----------
    streams
        The statistics of each stream, by name, in the join's order.
    units_per_second
        Units of time in a second; None if time is a plain number.
    span
        Length of the measured period, in units of time; 0 if nothing was measured.
    results
        Number of results of the exact join of the sample.
    compared
        Rows that are compared for each result; 1 for an equality of two streams.
    values
        Groups of values, for a join of two streams by keys; None if not measured.
    hottest
        Share of the results that are of one value, the most frequent one; 0 if not known.
    directions
        Where the rows of results are in their windows, by the stream that completes them; None if
        not measured.

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
    compared: float = 1.0
    values: ValueGroups | None = None
    hottest: float = 0.0
    directions: Directions | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", dict(self.streams))
        if not any(stream.waiting for stream in self.streams.values()):
            hint = "give a stream a rate and an age curve above zero"
            raise SpecificationError(
                must("streams of Statistics", "in some result", list(self.streams), hint)
            )

    @property
    def needed_rows(self) -> float:
        """Number of rows that the exact join holds on average."""
        return sum(stream.needed_rows for stream in self.streams.values())

    @property
    def needed_bytes(self) -> float:
        """Bytes that the exact join holds on average; 0 if the size of a row is not known."""
        return sum(stream.needed_bytes for stream in self.streams.values())

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in memory, in the stream with the largest rows; 0 if not known."""
        return max(stream.row_bytes for stream in self.streams.values())

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Streams with a window that hardly any result needs: their rows come last in nearly all.

        With a window of zero their rows need not be kept. At most 1 % of the results would be
        lost with each.
        """
        return tuple(
            name
            for name, each in self.streams.items()
            if each.window and each.waited is not None and each.waited <= _HARDLY_ANY
        )

    @property
    def too_short(self) -> tuple[str, ...]:
        """Streams with a window longer than the sample: no row in it reached the highest ages."""
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
