"""What the joins of a workload share: memory, and time of the processor.

Of each resource every join has an amount, a whole number. What it would make of another amount is a
`QualityCurve`, by what it has learned or by what was counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from penstock.engine.joint_plan import least_amounts
from penstock.engine.limits import part_of
from penstock.engine.lives import lengths_of
from penstock.statistics.allotment import QualityCurve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.joint_plan import SharingRule
    from penstock.engine.limits import Limits
    from penstock.engine.operator import Operator
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store

__all__ = [
    "PARTS_OF_A_CORE",
    "Resource",
    "SharedMemory",
    "SharedProcessor",
    "least_share",
    "resources_of",
]

# What becomes of a row that takes part; each stream has a counter for it.
_ENDS = ("held", "dropped", "evicted", "expired", "not_admitted", "not_inserted")
# Shares of the processor are divided in millionths of a core.
PARTS_OF_A_CORE = 1_000_000
# Units of memory.
ROWS, BYTES = "rows", "bytes"
# Of an equal part, what a join keeps at least: with nothing it could not learn what it needs.
_LEAST_PART = 0.05
# What was counted, of which the processor is divided by.
_COUNTED = ("time", "arrived", "work", "wanted", "found", "all")


def least_share(share: float, joins: int) -> int:
    """Return the millionths of a core that each join keeps, of a share for all.

    >>> least_share(0.5, 4)
    6250
    """
    return max(1, int(_LEAST_PART * round(share * PARTS_OF_A_CORE) / joins))


class Resource(Protocol):
    """Something of which each join has an amount.

    Attributes
    ----------
    name
        Under which it is saved.
    unit
        In which it is counted.
    whole
        What there is for all joins, in this shard.
    least
        What each join keeps.
    """

    name: ClassVar[str]
    unit: str
    whole: int
    least: Mapping[str, int]

    def count(self, join: str) -> list[float]:
        """Return what was counted of a join so far, for `curve`."""
        ...

    def curve(
        self, join: str, before: list[float], now: list[float], rule: SharingRule
    ) -> QualityCurve | None:
        """Return what a join would make of amounts; None if nothing can be said.

        Parameters
        ----------
        join
            Its name.
        before, now
            What `count` returned some divisions ago, and now.
        rule
            How the resource is divided.
        """
        ...

    def resume(self, join: str, amount: int) -> None:
        """Let a join go on with the amount that it had before a restart."""
        ...

    def converted(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """Return amounts in the unit of before a restart, which was another, in this unit."""
        ...

    def set(self, join: str, amount: int) -> None:
        """Let a join have an amount from now on."""
        ...


class SharedMemory:
    """Rows, or bytes, that operators may hold."""

    name: ClassVar[str] = "memory"

    def __init__(self, operators: Mapping[str, Operator], rule: SharingRule) -> None:
        first = next(iter(operators.values()))
        self._operators = operators
        self.unit = BYTES if first.limits.in_bytes else ROWS
        self.whole = part_of(rule.whole, first.shard, first.shards)
        self.least: Mapping[str, int] = least_amounts(
            {name: each.plan for name, each in operators.items()}
        )

    def count(self, join: str) -> list[float]:
        """Return the time that it is, and how many rows of each stream have taken part."""
        streams = self._operators[join].store.memory.streams
        rows = np.sum([streams[each].astype(np.int64) for each in _ENDS], axis=0)
        return [float(streams["clock"].max()), *(float(each) for each in rows)]

    def curve(
        self, join: str, before: list[float], now: list[float], rule: SharingRule
    ) -> QualityCurve | None:
        """Return the quality by numbers of rows, from what was learned of the streams."""
        operator = self._operators[join]
        curve = None if operator.reviewer is None else operator.reviewer.quality()
        alive = _alive(operator.plan, operator.store, before, now)
        if curve is None or not alive:
            return None
        scale = alive / float(curve.amounts[-1]) * _size_of_row(operator.limits)
        amounts = np.maximum(curve.amounts * scale, float(self.least[join]))
        quality = curve.quality
        if operator.plan.is_sample and rule.objective == "total":
            quality = np.maximum(1.0 - 1.0 / np.maximum(quality, 1e-9), 0.0)
        # Where several are raised to the least, the last one holds.
        keep = np.append(np.diff(amounts) > 0, True)
        return QualityCurve(amounts[keep], quality[keep])

    def resume(self, join: str, amount: int) -> None:
        """Set the limit as it was."""
        self._operators[join].limits.resume(amount)

    def converted(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """Return rows as bytes, or bytes as rows, by the size of each join's rows."""
        sizes = {name: self._operators[name].limits.row_bytes for name in amounts}
        return {
            name: max(1, round(each * sizes[name] if self.unit == BYTES else each / sizes[name]))
            for name, each in amounts.items()
        }

    def set(self, join: str, amount: int) -> None:
        """Set the limit; rows above it leave."""
        operator = self._operators[join]
        if not operator.limits.is_set_to(amount):
            operator.allot(amount)


class SharedProcessor:
    """Time of the core on which a shard runs, in millionths of it.

    What a join would make of a share follows from what was counted: arrivals cost what they cost,
    with all the work that it wants recall is 1, and with the share that it has recall is what it
    is. In between it rises evenly.
    """

    name: ClassVar[str] = "cpu"
    unit = "millionths of a core"

    def __init__(self, operators: Mapping[str, Operator], share: float) -> None:
        self._operators = operators
        self.whole = round(share * PARTS_OF_A_CORE)
        self.least: Mapping[str, int] = dict.fromkeys(operators, least_share(share, len(operators)))

    def count(self, join: str) -> list[float]:
        """Return the time, arrivals, work done and wanted, results, and estimated results."""
        operator = self._operators[join]
        work, known = operator.work, operator.metrics()
        if work is None or known.recall is None or not known.recall.value:
            return [0.0] * len(_COUNTED)
        return [
            float(operator.store.memory.streams["clock"].max()),
            float(work.ledger.counted[0]) * work.ledger.charges.arrival,
            known.work * work.ledger.unit,
            known.work_wanted * work.ledger.unit,
            float(known.emitted),
            known.emitted / known.recall.value,
        ]

    def curve(
        self, join: str, before: list[float], now: list[float], rule: SharingRule
    ) -> QualityCurve | None:
        """Return the recall by shares of a core, from what was counted recently."""
        del join, rule
        passed = dict(zip(_COUNTED, np.array(now) - np.array(before), strict=True))
        elapsed = passed["time"]
        if not 0 < elapsed < np.inf or not passed["wanted"] > 0 or not passed["all"] > 0:
            return None
        arrived, done, wanted = (
            PARTS_OF_A_CORE * passed[name] / elapsed for name in ("arrived", "work", "wanted")
        )
        least = float(min(self.least.values()))
        recall = min(max(passed["found"] / passed["all"], 0.0), 1.0)
        amounts = [least]
        quality = [0.0]
        for amount, share in ((arrived, 0.0), (done, recall), (wanted, 1.0)):
            if amount > amounts[-1]:
                amounts.append(amount)
                quality.append(share)
        return QualityCurve(amounts, quality) if len(amounts) > 1 else None

    def resume(self, join: str, amount: int) -> None:
        """Set the share as it was."""
        work = self._operators[join].work
        if work is not None:
            work.ledger.go_on_with(amount / PARTS_OF_A_CORE)

    def converted(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """Return them as they are: shares have one unit."""
        return dict(amounts)

    def set(self, join: str, amount: int) -> None:
        """Set the share."""
        work = self._operators[join].work
        if work is not None and work.ledger.account.share != amount / PARTS_OF_A_CORE:
            work.ledger.allot(amount / PARTS_OF_A_CORE)


def resources_of(operators: Mapping[str, Operator], rule: SharingRule) -> list[Resource]:
    """Return what operators of one shard share."""
    shared: list[Resource] = []
    if rule.whole:
        shared.append(SharedMemory(operators, rule))
    if rule.cpu is not None:
        shared.append(SharedProcessor(operators, rule.cpu))
    return shared


def _alive(plan: Plan, store: Store, before: list[float], now: list[float]) -> float:
    """Return how many rows of a join are alive at a time, by recent rates."""
    elapsed = now[0] - before[0]
    if not 0 < elapsed < np.inf:
        return float(sum(store.memory.streams["held"]))
    came = zip(before[1:], now[1:], lengths_of(plan), strict=True)
    return sum((last - first) / elapsed * life for first, last, life in came)


def _size_of_row(limits: Limits) -> float:
    """Return how much of the budget a row takes up: 1, or its bytes on average."""
    rows = limits.rows_now
    return limits.amount / rows if limits.in_bytes and rows else 1.0
