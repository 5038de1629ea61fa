"""`WorkloadMetrics`: what all joins of a workload have done, and how they share the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.metrics import Metrics

__all__ = ["WorkloadMetrics"]


@dataclass(frozen=True)
class WorkloadMetrics:
    """What the joins of a workload have done so far.

    Attributes
    ----------
    joins
        The metrics of each join, by its name.

    Examples
    --------
    See `Workload`.
    """

    joins: Mapping[str, Metrics]

    def __getitem__(self, name: str) -> Metrics:
        """Return the metrics of one join."""
        return self.joins[name]

    @property
    def allotment(self) -> dict[str, int]:
        """Rows that each join may hold now; a budget in bytes, by the size of a join's rows."""
        return {name: each.budget_rows or 0 for name, each in self.joins.items()}

    @property
    def work_allotted(self) -> dict[str, float]:
        """Seconds of work that each join was allowed so far, where `cpu` is divided."""
        return {name: each.work_allowed for name, each in self.joins.items()}

    @property
    def recall(self) -> dict[str, float | None]:
        """The share of its results that each join has found, as estimated.

        Of importance, where that is the goal. None if nothing can be said.
        """
        found = {}
        for name, each in self.joins.items():
            known = each.importance_recall if each.importance else each.recall
            found[name] = None if known is None else known.value
        return found

    @property
    def least_recall(self) -> float | None:
        """The least recall of all joins; None if one of them is not known."""
        known = [each for each in self.recall.values() if each is not None]
        return min(known) if len(known) == len(self.joins) else None

    @property
    def emitted(self) -> int:
        """Results of all joins."""
        return sum(each.emitted for each in self.joins.values())

    @property
    def held_most(self) -> int:
        """Sum of the most rows that each join held at a time: an upper bound of all together."""
        return sum(each.held_most for each in self.joins.values())

    def summary(self) -> str:
        """Return a line for each join: results, recall, and what it may use and has used."""
        rows = [self._words(name) for name in self.joins]
        least = "" if self.least_recall is None else percent(self.least_recall)
        held = sum(self._held(name) for name in self.joins)
        rows.append(["all", f"{self.emitted:,}", least, f"{held:,}"])
        headings = ["", "results", "recall", "held"]
        if any(self.allotment.values()):
            headings.append("allotted")
            rows[-1].append(f"{sum(self.allotment.values()):,}")
        if any(self.work_allotted.values()):
            headings += ["work, s", "allowed, s"]
            work = sum(each.work for each in self.joins.values())
            rows[-1] += [f"{work:.4g}", f"{sum(self.work_allotted.values()):.4g}"]
        width = max(len(row[0]) for row in rows)
        widths = [width, 12, *[10] * (len(headings) - 2)]
        return "\n".join(
            " ".join(
                f"{word:{'<' if at == 0 else '>'}{size}}"
                for at, (word, size) in enumerate(zip(row, widths, strict=True))
            )
            for row in [headings, *rows]
        )

    def _words(self, name: str) -> list[str]:
        each, known = self.joins[name], self.recall[name]
        share = "not known" if known is None else percent(known)
        words = [name, f"{each.emitted:,}", share, f"{self._held(name):,}"]
        if any(self.allotment.values()):
            words.append(f"{self.allotment[name]:,}")
        if any(self.work_allotted.values()):
            words += [f"{each.work:.4g}", f"{each.work_allowed:.4g}"]
        return words

    def _held(self, name: str) -> int:
        return sum(stream.held for stream in self.joins[name].streams.values())

    def __str__(self) -> str:
        """Return the `summary`."""
        return self.summary()
