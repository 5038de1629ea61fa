"""The load of the burst: two streams, whose rows follow from their numbers and from the clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from penstock.errors import SpecificationError, must

__all__ = [
    "COLUMNS",
    "FACTOR",
    "RESULTS_PER_ROW",
    "START",
    "STREAMS",
    "WINDOW",
    "Load",
    "Phases",
]

STREAMS = ("left", "right")
COLUMNS = "at TIMESTAMP, k BIGINT, number BIGINT"

FACTOR = 5
"""How many times as many rows come in the burst."""

WINDOW = 2
"""Seconds that a row stays in its window."""

RESULTS_PER_ROW = 40.0
"""Rows of the other stream that an arriving row finds, when windows are full."""

START = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Phases:
    """How long the streams are steady, how long the burst is, and how long they are steady again.

    Attributes
    ----------
    warm_up
        Seconds that do not count, in which Spark starts its workers and Java compiles.
    before, burst, after
        Seconds that count.

    Raises
    ------
    SpecificationError
        If one is shorter than a second.

    Examples
    --------
    >>> Phases.of(60)
    Phases(warm_up=15, before=30, burst=60, after=60)
    >>> Phases.of(60).burst_ends
    105
    """

    warm_up: int
    before: int
    burst: int
    after: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                hint = "make it longer"
                raise SpecificationError(must(f"seconds of {name}", "1 or more", value, hint))

    @classmethod
    def of(cls, seconds: int) -> Phases:
        """Return the phases around a burst of that many seconds.

        Raises
        ------
        SpecificationError
            If the burst is too short for windows to fill up in it.
        """
        least = 2 * WINDOW
        if seconds < least:
            hint = "make it longer"
            raise SpecificationError(must("seconds", f"{least} or more", seconds, hint))
        return cls(warm_up=15, before=seconds // 2, burst=seconds, after=seconds)

    @property
    def burst_begins(self) -> int:
        """The second with which the burst begins, from the begin of the streams."""
        return self.warm_up + self.before

    @property
    def burst_ends(self) -> int:
        """The second after the last of the burst."""
        return self.burst_begins + self.burst

    @property
    def seconds(self) -> int:
        """All of them."""
        return self.burst_ends + self.after


@dataclass(frozen=True)
class Load:
    """Two streams with the same times, each with its own keys.

    A source counts; a row follows from its number. When the streams are steady, only every fifth
    number is a row. In the burst there are five times as many keys as well, as if five times as
    many users had come: so a row has as many results as before.

    Parameters
    ----------
    rate
        Rows per second of each stream when it is steady.
    phases
        How long it is, and when the burst is.
    factor
        How many times as many rows come in the burst.
    results_per_row
        Rows of the other stream that an arriving row finds.

    Examples
    --------
    >>> load = Load(2_000, Phases.of(60))
    >>> load.keys, load.numbers_per_second, load.rows
    (100, 10000, 810000)
    """

    rate: int
    phases: Phases
    factor: int = FACTOR
    results_per_row: float = RESULTS_PER_ROW

    @property
    def keys(self) -> int:
        """Different ones, when the streams are steady."""
        return max(1, round(self.rate * WINDOW / self.results_per_row))

    @property
    def numbers_per_second(self) -> int:
        """Numbers that the source of each stream counts in a second."""
        return self.rate * self.factor

    @property
    def numbers(self) -> int:
        """All that a source counts."""
        return self.numbers_per_second * self.phases.seconds

    @property
    def rows(self) -> int:
        """Rows of each stream."""
        steady = self.phases.seconds - self.phases.burst
        return self.rate * (steady + self.factor * self.phases.burst)

    def is_row(self) -> str:
        """Return the condition, in SQL, under which a number is a row."""
        return f"value < {self.numbers} AND ({self._in_burst()} OR value % {self.factor} = 0)"

    def columns(self, stream: str) -> tuple[str, ...]:
        """Return the columns of a stream's row, in SQL, from its number."""
        keys = f"IF({self._in_burst()}, {self.factor * self.keys}, {self.keys})"
        return (
            f"timestamp_micros({START} + {self._microseconds()}) AS at",
            f"pmod(xxhash64(value, {STREAMS.index(stream)}), {keys}) AS k",
            "value AS number",
        )

    def time_and_key(self, stream: str) -> tuple[str, ...]:
        """Return time, in microseconds from the begin, and key: what results follow from."""
        return (f"{self._microseconds()} AS at", self.columns(stream)[1])

    def _microseconds(self) -> str:
        return f"value * {_MICROSECONDS} DIV {self.numbers_per_second}"

    def _in_burst(self) -> str:
        phases = self.phases
        first, end = (
            self.numbers_per_second * second for second in (phases.burst_begins, phases.burst_ends)
        )
        return f"value BETWEEN {first} AND {end - 1}"
