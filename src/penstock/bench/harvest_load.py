"""The load of live harvesting: three streams of vectors that report the same things with lags."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.bench.burst_load import START
from penstock.errors import SpecificationError, must

__all__ = ["DIMENSIONS", "DISTANCE", "STREAMS", "WINDOW", "HarvestLoad"]

STREAMS = ("a", "b", "c")

DIMENSIONS = 64
"""Numbers in each vector."""

DISTANCE = 2.0
"""Two rows of one thing are at a distance of 0.3, and rows of two things at one of 6.5."""

WINDOW = 6
"""Seconds that a row stays in its window."""

# Seconds after which a stream reports a thing, and the longest that chance adds to them. All rows
# of a thing are in one window: the sum of the longest is less than a window.
_LAGS = {"c": 0.0, "b": 1.5, "a": 4.2}
_JITTER = 0.3
_NOISE = 0.05
_MICROSECONDS = 1_000_000
# Hashes of Spark are whole numbers of 64 bits.
_LARGE = 2.0**63


@dataclass(frozen=True)
class HarvestLoad:
    """Three streams with the same times, whose rows follow from their numbers.

    A thing has a vector of 64 numbers between -1 and 1. A stream reports it some time after it
    happened, with a little noise: at once (c), after 1.5 s (b), and after 4.2 s (a), each up to
    0.3 s later. So a stream reports some things twice or more and others never, and a row has one
    result on average.

    Parameters
    ----------
    rate
        Rows per second of each stream.
    warm_up
        Seconds that do not count: Spark starts its workers, and windows fill.
    measured
        Seconds that count.

    Raises
    ------
    SpecificationError
        If `warm_up` or `measured` is shorter than a second.

    Examples
    --------
    >>> load = HarvestLoad(1_000, warm_up=15, measured=60)
    >>> load.seconds, load.rows
    (75, 75000)
    """

    rate: int
    warm_up: int
    measured: int

    def __post_init__(self) -> None:
        for name in ("warm_up", "measured"):
            value = getattr(self, name)
            if value < 1:
                hint = "make it longer"
                raise SpecificationError(must(f"seconds of {name}", "1 or more", value, hint))

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.warm_up + self.measured

    @property
    def rows(self) -> int:
        """Rows of each stream."""
        return self.rate * self.seconds

    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""
        return f"value < {self.rows}"

    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""
        thing = f"xxhash64({self._thing(stream)}, d) / {_LARGE}D"
        noise = f"{_NOISE}D * xxhash64(value, {STREAMS.index(stream)}, d) / {_LARGE}D"
        vector = f"transform(sequence(1, {DIMENSIONS}), d -> float({thing} + {noise}))"
        return (
            f"timestamp_micros({START} + {self._microseconds()}) AS at",
            f"{vector} AS vector",
            "value AS number",
        )

    def time_and_thing(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and thing: what results follow from."""
        return (f"{self._microseconds()} AS at", f"{self._thing(stream)} AS thing")

    def _thing(self, stream: str) -> str:
        """Return the number of the thing: as many happen in a second as rows come."""
        late = round(_LAGS[stream] * self.rate)
        jitter = max(1, round(_JITTER * self.rate))
        drawn = f"pmod(xxhash64(value, {STREAMS.index(stream)}), {jitter})"
        return f"(value - {late} - {drawn})"

    def _microseconds(self) -> str:
        return f"value * {_MICROSECONDS} DIV {self.rate}"
