"""Streams whose rows differ in importance, as `kulkarni08` 5 has them, and their exact join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.studies.by_the_book import Arrivals, Redefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = ["ImportanceStreams", "MadeStreams", "exact_importance"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Table 5: "imp domain 1-100 decimal values".
_LEAST, _MOST = 1.0, 100.0


class MadeStreams(NamedTuple):
    """Two streams, and when importance is redefined."""

    first: Arrivals
    second: Arrivals
    redefinitions: tuple[Redefinition, ...]


@dataclass(frozen=True)
class ImportanceStreams:
    """Two streams of rows that differ in importance.

    In each second a stream has a rate of its own, drawn uniformly, and its rows come at times
    drawn uniformly. Importance is looked up in a table of the importance attribute's values. To
    redefine it, the table is drawn again.

    Parameters
    ----------
    rates
        Lowest and highest rate of each stream, rows per second. The paper says 100 to 200, not
        whether of each stream or of both.
    duration
        Seconds.
    domain
        Number of values of the join attribute and of the importance attribute.
    zipf
        Skew of the values, 0 for none; the paper does not say. Value 1 is the most frequent one, in
        both streams.
    importance
        ``"drawn"``: the importance attribute is another one than the join attribute, and
        independent of it. ``"by value"``: it is the join attribute; so too for ``"with frequency"``
        and ``"against frequency"``, where the most frequent value is the most or the least
        important one. ``"equal"``: all rows are as important, 1, as for Fig. 4.
    redefined
        How many times importance is redefined, 0 to 2, evenly spread.
    step
        Times are rounded up to multiples of this, seconds; rows of a time step are then dealt
        with together. None leaves them as they are.
    seed
        Of everything. The same seed gives the same times and values whatever the importance.

    Examples
    --------
    >>> made = ImportanceStreams(rates=(1, 2), duration=60, domain=10, redefined=1).make()
    >>> 60 <= len(made.first) <= 120, made.redefinitions[0].time
    (True, 30.0)
    """

    rates: tuple[float, float] = (100.0, 200.0)
    duration: int = 100
    domain: int = 100
    zipf: float = 0.0
    importance: Literal["drawn", "by value", "with frequency", "against frequency", "equal"] = (
        "drawn"
    )
    redefined: int = 0
    step: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rates[0] <= self.rates[1]:
            raise SpecificationError(
                must("rates", "above 0, the lower one first", self.rates, "give rows per second")
            )
        if self.redefined not in {0, 1, 2}:
            raise SpecificationError(
                must("redefined", "0, 1 or 2", self.redefined, "the paper allows no more than two")
            )

    def make(self) -> MadeStreams:
        """Make the streams."""
        arrivals, tables = (
            np.random.default_rng([self.seed, 0]),
            np.random.default_rng([self.seed, 1]),
        )
        times, values, attributes = zip(*(self._stream(arrivals) for _ in range(2)), strict=True)
        drawn = [self._table(tables) for _ in range(self.redefined + 1)]
        first, second = (
            Arrivals(times[s], values[s], drawn[0][attributes[s] - 1]) for s in range(2)
        )
        return MadeStreams(
            first,
            second,
            tuple(
                Redefinition(
                    self.duration * (number + 1) / len(drawn),
                    (table[attributes[0] - 1], table[attributes[1] - 1]),
                )
                for number, table in enumerate(drawn[1:])
            ),
        )

    def _stream(self, generator: np.random.Generator) -> tuple[Floats, Integers, Integers]:
        rates = generator.uniform(*self.rates, self.duration)
        # Rounded at random, so that slow streams keep their rates on average.
        counts = np.floor(rates + generator.random(self.duration)).astype(np.int64)
        seconds = np.repeat(np.arange(self.duration), counts)
        times = np.sort(seconds + generator.random(seconds.size))
        if self.step is not None:
            times = np.ceil(times / self.step) * self.step
        shares = np.arange(1.0, self.domain + 1) ** -self.zipf
        drawn = generator.choice(self.domain, times.size, p=shares / shares.sum())
        values = drawn.astype(np.int64) + 1
        others = generator.integers(1, self.domain + 1, times.size)
        return times, values, others if self.importance == "drawn" else values

    def _table(self, generator: np.random.Generator) -> Floats:
        """Draw the importance of each value of the importance attribute."""
        if self.importance == "equal":
            return np.ones(self.domain)
        table = generator.uniform(_LEAST, _MOST, self.domain)
        if self.importance == "with frequency":
            return np.sort(table)[::-1]
        return np.sort(table) if self.importance == "against frequency" else table


def exact_importance(tables: Mapping[str, pa.Table], window: int) -> tuple[float, int]:
    """Return the importance and the number of all results of the exact join, without joining.

    The smaller importance of two rows is the sum of the steps between levels of importance up to
    the highest level that both reach. So it is enough to count pairs, level by level.

    Parameters
    ----------
    tables
        Both streams, with columns ``time`` and ``key``, of whole numbers, and ``importance``.
    window
        Of both.
    """
    columns = [
        (
            table["time"].to_numpy().astype(np.int64),
            table["key"].to_numpy(),
            table["importance"].to_numpy(),
        )
        for table in tables.values()
    ]
    levels = np.unique(np.concatenate([importance for _, _, importance in columns]))
    total, results, below = 0.0, 0, 0.0
    for level in levels.tolist():
        reached = [
            (times[importance >= level], keys[importance >= level])
            for times, keys, importance in columns
        ]
        count = _pairs(*reached[0], *reached[1], window)
        results = results or count
        total += (level - below) * count
        below = level
    return total, results


def _pairs(
    times_1: Integers, keys_1: Integers, times_2: Integers, keys_2: Integers, window: int
) -> int:
    """Count pairs of equal keys that are at most a window apart."""
    # A key's times lie in a span of their own, with a window of room on both sides.
    span = int(max(times_1.max(initial=0), times_2.max(initial=0))) + 2 * window + 1
    places = np.sort(keys_2 * span + times_2)
    own = keys_1 * span + times_1
    until = np.searchsorted(places, own + window, "right")
    return int((until - np.searchsorted(places, own - window, "left")).sum())
