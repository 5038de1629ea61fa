"""`Budget`: the memory and processor time that a join may use."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from penstock.costs import Costs
from penstock.durations import DurationLike, check_duration
from penstock.errors import SpecificationError, must

__all__ = ["Budget", "bytes_of", "is_whole", "plain"]

_BYTES: dict[str, int] = {"b": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}

# Largest share of monitored rows: the strategy must have at least as many.
_MOST_MONITORED = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class Budget:
    """What the join may use: at most one of `rows` and `memory`, and `cpu`.

    Parameters
    ----------
    rows
        Rows that the join may hold, over all streams and shards; never exceeded.
    memory
        The same as bytes: a number, or ``"64MB"`` (10**6 bytes each), ``"1.5GiB"`` (2**30).
    cpu
        Share of the time of one core, in each shard, above 0 and at most 1, or ``"50%"``: 0.5 is
        half a second for each second of *stream time*.
    costs
        What the steps cost, with `cpu`; None to measure them while the join runs. Where times are
        numbers they must be given.
    burst
        For how much stream time unused CPU time is kept. None for one second or, where times are
        numbers, a fifth of the longest window.
    monitor
        Share of the rows that are monitored: drawn at random and kept for life, whatever the
        strategy. From them losses are estimated and models of the streams learned. 0 for none.
        None, the default, is 5 %, and for more than 400 rows their square root.

    Examples
    --------
    >>> Budget(rows=50_000)
    Budget(rows=50000, memory=None, cpu=None)
    >>> Budget(memory="1.5 GiB").memory_bytes
    1610612736
    """

    def __new__(cls, *given: object, **named: object) -> Self:
        """Refuse arguments without a name, with what to write instead."""
        del named
        if given:
            what = "memory" if isinstance(given[0], str) else "rows"
            hint = f"write Budget({what}={_quoted(given[0])})"
            raise SpecificationError(must("Budget", "given by name", given[0], hint))
        return super().__new__(cls)

    rows: int | None = None
    memory: str | int | None = None
    cpu: float | str | None = None
    monitor: float | None = None
    costs: Costs | None = None
    burst: DurationLike | None = None

    def __repr__(self) -> str:
        """Return the arguments; the last ones only if they were given."""
        said = [f"{name}={getattr(self, name)!r}" for name in ("rows", "memory", "cpu")]
        given = [name for name in ("monitor", "costs", "burst") if getattr(self, name) is not None]
        said += [f"{name}={getattr(self, name)!r}" for name in given]
        return f"Budget({', '.join(said)})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", plain(self.rows))
        object.__setattr__(self, "memory", plain(self.memory))
        if self.rows is None and self.memory is None and self.cpu is None:
            hint = "leave `budget` out for the exact join"
            raise SpecificationError(must("Budget", "given rows, memory or cpu", self, hint))
        if self.rows is not None and self.memory is not None:
            hint = "choose one of rows and memory"
            raise SpecificationError(must("Budget", "in rows or in memory", self, hint))
        if self.rows is not None and not is_whole(self.rows, least=1):
            hint = "give the number of rows that the join may hold"
            requirement = "a whole number from 1 to 2**63 - 1"
            raise SpecificationError(must("rows of Budget", requirement, self.rows, hint))
        if self.memory is not None and not is_whole(bytes_of(self.memory), least=1):
            hint = 'write "64MB", "1.5GiB" or a whole number of bytes'
            requirement = "an amount of memory, from 1 to 2**63 - 1 bytes"
            raise SpecificationError(must("memory of Budget", requirement, self.memory, hint))
        if self.cpu is not None and not 0 < _fraction_of(self.cpu) <= 1:
            hint = 'write 0.5 or "50%" for half of the time'
            requirement = "a fraction above 0 and at most 1"
            raise SpecificationError(must("cpu of Budget", requirement, self.cpu, hint))
        self._check_work()
        if self.monitor is not None and not 0 <= _share_of(self.monitor) <= _MOST_MONITORED:
            hint = "give 0.05 for 5 %, 0 for none, None for the default"
            requirement = f"a fraction from 0 to {_MOST_MONITORED}"
            raise SpecificationError(must("monitor of Budget", requirement, self.monitor, hint))

    def _check_work(self) -> None:
        if self.costs is not None and not isinstance(self.costs, Costs):
            hint = "write costs=penstock.Costs(insert=1e-6, result=2e-6), for instance"
            raise SpecificationError(must("costs of Budget", "Costs or None", self.costs, hint))
        if self.burst is not None:
            check_duration(self.burst, "burst of Budget")
        for name in ("costs", "burst"):
            if self.cpu is None and getattr(self, name) is not None:
                hint = f"give cpu=0.5, for instance, or leave {name} out"
                raise SpecificationError(
                    must(f"{name} of Budget", "given with cpu", getattr(self, name), hint)
                )

    @property
    def limits_memory(self) -> bool:
        """Whether rows or memory are limited."""
        return self.rows is not None or self.memory is not None

    @property
    def cpu_share(self) -> float | None:
        """The share of a core's time; None if it is not limited."""
        return None if self.cpu is None else float(_fraction_of(self.cpu))

    def monitored(self, rows: int) -> int:
        """Return how many of a number of rows are monitored.

        >>> [Budget(rows=1).monitored(rows) for rows in (10, 100, 10_000, 1_000_000)]
        [0, 5, 100, 1000]
        """
        if not self.limits_memory:
            return 0
        if self.monitor is not None:
            return int(self.monitor * rows)
        return int(min(0.05 * rows, math.sqrt(rows)))

    @property
    def memory_bytes(self) -> int | None:
        """The memory as bytes, rounded down; None if the budget is not in memory."""
        return None if self.memory is None else bytes_of(self.memory)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def plain(value: object) -> object:
    """Return a whole number of NumPy's as Python's, and anything else as it is."""
    if isinstance(value, numbers.Integral) and not isinstance(value, int):
        return int(value)
    return value


def is_whole(value: object, *, least: int) -> bool:
    """Return whether a value is a whole number of 64 bits, and at least `least`."""
    return type(value) is int and least <= value < 2**63


def bytes_of(memory: object) -> int | None:
    """Return the bytes in an amount of memory; None if it is not one."""
    if not isinstance(memory, str):
        return memory if type(memory) is int else None
    parts = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z]+)\s*", memory)
    # "64m" is not read: to Java it is 2**20 each, to others 10**6.
    if parts is None or parts[2].lower() not in _BYTES:
        return None
    return math.floor(Fraction(parts[1]) * _BYTES[parts[2].lower()])


def _share_of(monitor: object) -> float:
    """Return a share as it is; -1, which is refused, if it is not a number."""
    good = isinstance(monitor, int | float) and not isinstance(monitor, bool)
    return float(monitor) if good else -1.0  # type: ignore[arg-type]


def _fraction_of(cpu: object) -> float:
    """Return a share of the processor; 0, which is refused, if it is not one."""
    if isinstance(cpu, str):
        percent = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*%\s*", cpu)
        return float(percent[1]) / 100 if percent else 0
    if isinstance(cpu, int | float) and not isinstance(cpu, bool):
        return cpu
    return 0
