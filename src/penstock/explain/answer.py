"""What `penstock explain` says: tables, sentences, and figures for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock.explain.choice import ALIKE, OWN_CHOICE, Choice, choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from penstock.join import Join
    from penstock.planning import Prediction, RecallCurve

__all__ = ["Answer"]

_CLOCK = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, eq=False)
class Answer:
    """The prediction for a sample, and the words for it.

    Parameters
    ----------
    join
        The join, with its budget.
    prediction
        What is expected of it.
    wished
        The recall that rows are asked for.
    tried
        For strategies that were run over the sample, and for the join's own choice, the recall
        that they gave there. Empty if none was run.
    """

    join: Join
    prediction: Prediction
    wished: float
    tried: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The budget."""
        return self.prediction.rows or 0

    @property
    def needed(self) -> float:
        """Rows that the exact join holds on average."""
        return self.prediction.statistics.needed_rows

    def rows_for(self) -> dict[str, int]:
        """Give the rows that each strategy needs for the wished recall."""
        return {
            name: self.prediction.rows_for(self.wished, name) for name in self.prediction.recall
        }

    def streams(self) -> tuple[list[str], list[list[str]]]:
        """Give the table of the streams: headings and cells."""
        statistics = self.prediction.statistics
        word, size = self._unit()
        per = "rows per unit of time" if word is None else f"rows per {word}"
        headings = ["stream", "rows", per, "window", "rows in the window", "results per row"]
        return headings, [
            [
                name,
                f"{each.rows:,}",
                _short(each.rate * size),
                str(self.join.streams[name].window),
                f"{each.needed_rows:,.0f}",
                f"{each.results_per_row:.2f}",
            ]
            for name, each in statistics.streams.items()
        ]

    def strategies(self) -> tuple[list[str], list[list[str]]]:
        """Give the table of the strategies: headings and cells."""
        needed = self.rows_for()
        headings = [
            "strategy",
            f"recall with {self.rows:,} rows (%)",
            f"rows for {_percent(self.wished)} recall",
            "of the exact join's rows (%)",
        ]
        return headings, [
            [
                name,
                f"{100 * recall:.1f}",
                f"{needed[name]:,}",
                f"{100 * self._part(needed[name]):.0f}",
            ]
            for name, recall in self.prediction.recall.items()
        ]

    def trials(self) -> tuple[list[str], list[list[str]]]:
        """Give the table of what was tried: headings and cells."""
        return ["strategy", f"tried: recall in the sample with {self.rows:,} rows (%)"], [
            [name, f"{100 * recall:.1f}"] for name, recall in self.tried.items()
        ]

    def sample(self) -> str:
        """Say what the sample is."""
        statistics = self.prediction.statistics
        return (
            f"The sample spans {self._long(statistics.span)} and gives {statistics.results:,} "
            f"results. The exact join holds {self.needed:,.0f} rows of it on average."
        )

    @property
    def chosen(self) -> Choice:
        """The strategy to choose, and why."""
        return choose(self.prediction, self.tried, self._long)

    def choice(self) -> str:
        """Say which strategy to choose, and why."""
        if self.rows >= self.needed:
            return (
                f"With {self.rows:,} rows the join is exact on average, whatever the strategy; "
                f"bursts may take more."
            )
        name, why = self.chosen
        if name == OWN_CHOICE:
            return f"Choice: the join's own; leave the strategy out. {why}"
        divided = self.prediction.division.get(name)
        if divided is None:
            return f"Choice: {name}. {why}"
        rows = ", ".join(f"{each} {share:,.0f}" for each, share in divided.items())
        return f"Choice: {name}. {why} Rows of each stream: {rows}."

    def warnings(self) -> list[str]:
        """Say what is wrong with the sample."""
        statistics = self.prediction.statistics
        return [
            f'The sample ({self._long(statistics.span)}) is shorter than the window of "{name}" '
            f"({self.join.streams[name].window}): older rows were never seen to match, so more is "
            f"lost than it says here. Take a sample of two windows or more."
            for name in statistics.too_short
        ]

    def lines(self, curve: RecallCurve) -> dict[str, npt.NDArray[np.float64]]:
        """Give the lines of the picture by their words: the choice first, those alike as one."""
        best = self.prediction.best
        recall = self.prediction.recall
        order = sorted(recall, key=lambda name: (name != best, -recall[name]))
        groups: list[list[str]] = []
        for name in order:
            for group in groups:
                if np.abs(curve.recall[group[0]] - curve.recall[name]).max() < ALIKE:
                    group.append(name)
                    break
            else:
                groups.append([name])
        return {
            f"{100 * recall[group[0]]:.1f}%  " + ",\n".join(group): curve.recall[group[0]]
            for group in groups
        }

    def as_json(self, curve: RecallCurve) -> dict[str, object]:
        """Give everything for programs."""
        statistics = self.prediction.statistics
        seconds = statistics.units_per_second or 1
        streams: Mapping[str, object] = {
            name: {
                "rows": each.rows,
                "rate": each.rate * seconds,
                "window": each.window / seconds,
                "needed_rows": each.needed_rows,
                "results_per_row": each.results_per_row,
                "age_curve": each.curve.matches.tolist(),
                "row_bytes": each.row_bytes,
            }
            for name, each in statistics.streams.items()
        }
        return {
            "unit_of_time": "second" if statistics.units_per_second else "1",
            "span": statistics.span / seconds,
            "results": statistics.results,
            "streams": streams,
            "needed_rows": self.needed,
            "budget_rows": self.rows,
            "recall": dict(self.prediction.recall),
            "division": {name: dict(each) for name, each in self.prediction.division.items()},
            "wished_recall": self.wished,
            "rows_for_wished_recall": self.rows_for(),
            "choice": self.chosen.name,
            "why": self.choice(),
            "tried": dict(self.tried),
            "warnings": self.warnings(),
            "curve": {
                "rows": curve.rows.tolist(),
                "recall": {name: each.tolist() for name, each in curve.recall.items()},
            },
        }

    def _part(self, rows: float) -> float:
        return min(rows / self.needed, 1.0) if self.needed else 1.0

    def _unit(self) -> tuple[str | None, float]:
        """Choose the unit of time in which rates are read: the least that has a row or more."""
        statistics = self.prediction.statistics
        if statistics.units_per_second is None:
            return None, 1.0
        slowest = min(each.rate for each in statistics.streams.values())
        for word, seconds in reversed(_CLOCK):
            if slowest * statistics.units_per_second * seconds >= 1:
                return word, float(statistics.units_per_second * seconds)
        return _CLOCK[0][0], float(statistics.units_per_second * _CLOCK[0][1])

    def _long(self, units: float) -> str:
        """Say how long a time is."""
        per_second = self.prediction.statistics.units_per_second
        if per_second is None:
            return f"{_short(units)} units of time"
        seconds = units / per_second
        for word, size in _CLOCK:
            if seconds >= 2 * size:
                return f"{_short(seconds / size)} {word}s"
        return f"{_short(seconds)} seconds"


def _percent(share: float) -> str:
    return f"{100 * share:.10g}%"


def _short(number: float) -> str:
    """Write a number with two or three digits that count.

    >>> _short(0.01234), _short(7.04), _short(40.0), _short(12345.6)
    ('0.012', '7.0', '40', '12,346')
    """
    if number >= 20:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"
