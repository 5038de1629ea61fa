"""The output of `penstock explain`: tables, sentences, and figures for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.capacity.recommendation import OWN_CHOICE, Recommendation, recommend
from penstock.wording import counted, megabytes, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.capacity import Prediction, RecallCurve
    from penstock.spec import Specification

__all__ = ["Explanation"]

# A window that is not needed is pointed out if its rows take at least this share of the memory.
_WORTHWHILE = 0.1
_CLOCK = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, eq=False)
class Explanation:
    """The prediction for a sample, as tables and text.

    Parameters
    ----------
    join
        The join, with its budget.
    prediction
        The expected recall of each strategy.
    target_recall
        The recall for which the needed rows are computed.
    tried
        The recall of strategies that were run over the sample, the join's own choice among them;
        empty if none was run.
    remarks
        What was done to the sample so that it could be joined.
    """

    join: Specification
    prediction: Prediction
    target_recall: float
    tried: Mapping[str, float] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """The budget in rows."""
        return self.prediction.rows or 0

    @property
    def needed(self) -> float:
        """Number of rows that the exact join holds on average."""
        return self.prediction.statistics.needed_rows

    def rows_for(self) -> dict[str, int]:
        """Return the rows that each strategy needs for the target recall."""
        return {
            name: self.prediction.rows_for(self.target_recall, name)
            for name in self.prediction.recall
        }

    def streams(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of the streams: headings and cells."""
        statistics = self.prediction.statistics
        word, size = self._unit()
        per = "rows per unit of time" if word is None else f"rows per {word}"
        headings = ["stream", "rows", per, "window", "rows in the window", "MB", "results per row"]
        return headings, [
            [
                name,
                f"{each.rows:,}",
                _short(each.rate * size),
                str(self.join.streams[name].window),
                f"{each.needed_rows:,.0f}",
                _amount(each.needed_bytes),
                f"{each.results_per_row:.2f}",
            ]
            for name, each in statistics.streams.items()
        ]

    def strategies(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of the strategies: headings and cells."""
        needed = self.rows_for()
        headings = [
            "strategy",
            f"recall (%) with {self._budget()}",
            f"rows for {_percent(self.target_recall)} recall",
            "MB",
            "of the exact join's rows (%)",
        ]
        return headings, [
            [
                name,
                f"{100 * recall:.1f}",
                f"{needed[name]:,}",
                _amount(self._bytes_of(needed[name])),
                f"{100 * self._part(needed[name]):.0f}",
            ]
            for name, recall in self.prediction.recall.items()
        ]

    def trials(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of the strategies that were tried: headings and cells."""
        return ["strategy", f"tried: recall (%) in the sample with {self._budget()}"], [
            [name, f"{100 * recall:.1f}"] for name, recall in self.tried.items()
        ]

    def sample(self) -> str:
        """Describe the sample in a sentence or two."""
        statistics = self.prediction.statistics
        return (
            f"The sample spans {self._format_time(statistics.span)} and gives "
            f"{statistics.results:,} results. "
            f"The exact join holds {self.needed:,.0f} rows of it on average, "
            f"{megabytes(statistics.needed_bytes)}."
        )

    @property
    def recommended(self) -> Recommendation:
        """The strategy to use, and the reason."""
        return recommend(self.prediction, self.tried, self._format_time)

    def choice(self) -> str:
        """Describe which strategy to use, and why."""
        if self.rows >= self.needed:
            return (
                f"With {self._budget()} the join is exact on average, whatever the strategy; "
                f"bursts may take more."
            )
        name, reason = self.recommended
        if name == OWN_CHOICE:
            return f"Choice: the join's own; leave the strategy out. {reason}"
        divided = self.prediction.division.get(name)
        if divided is None:
            return f"Choice: {name}. {reason}"
        rows = ", ".join(f"{each} {share:,.0f}" for each, share in divided.items())
        return f"Choice: {name}. {reason} Rows of each stream: {rows}."

    def hints(self) -> list[str]:
        """Describe which windows are not needed, and what a join without them would hold."""
        statistics = self.prediction.statistics
        zero = "0" if statistics.units_per_second is None else '"0 seconds"'
        found = []
        for name in statistics.one_sided:
            stream = statistics.streams[name]
            size = statistics.needed_bytes
            if stream.needed_bytes < _WORTHWHILE * size:
                continue
            kept = 1 - (stream.waited or 0.0)
            left = counted(self.needed - stream.needed_rows, "row")
            found.append(
                f'In {percent(kept)} of the results the row of "{name}" comes last, so these rows '
                f"need not be kept. With --window {name}={zero} (in Python window={zero}) the "
                f"exact join holds {left} ({megabytes(size - stream.needed_bytes)}) "
                f"instead of {self.needed:,.0f} ({megabytes(size)}) and finds {percent(kept)} of "
                f"the results."
            )
        return found

    def warnings(self) -> list[str]:
        """Describe what is wrong with the sample, and what was done to it."""
        statistics = self.prediction.statistics
        return [*self.remarks] + [
            f"The sample ({self._format_time(statistics.span)}) is shorter than the window of "
            f'"{name}" ({self.join.streams[name].window}): matches of older rows are missing from '
            f"it, so the real recall is lower than predicted. Take a sample of two windows or more."
            for name in statistics.too_short
        ]

    def as_json(self) -> dict[str, object]:
        """Return the figures of the sample, for programs."""
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
                "needed_bytes": each.needed_bytes,
                "waited": each.waited,
            }
            for name, each in statistics.streams.items()
        }
        return {
            "unit_of_time": "second" if statistics.units_per_second else "1",
            "span": statistics.span / seconds,
            "results": statistics.results,
            "streams": streams,
            "needed_rows": self.needed,
            "needed_bytes": statistics.needed_bytes,
            "wished_recall": self.target_recall,
            "hints": self.hints(),
        }

    def memory_json(self, curve: RecallCurve) -> dict[str, object]:
        """Return the figures of the limit of memory, for programs."""
        return {
            "budget_rows": self.rows,
            "budget_bytes": self._bytes(),
            "recall": dict(self.prediction.recall),
            "division": {name: dict(each) for name, each in self.prediction.division.items()},
            "rows_for_wished_recall": self.rows_for(),
            "bytes_for_wished_recall": {n: self._bytes_of(r) for n, r in self.rows_for().items()},
            "choice": self.recommended.name,
            "why": self.choice(),
            "tried": dict(self.tried),
            "curve": {
                "rows": curve.rows.tolist(),
                "recall": {name: each.tolist() for name, each in curve.recall.items()},
            },
        }

    def _budget(self) -> str:
        return f"{counted(self.rows, 'row')} ({megabytes(self._bytes())})"

    def _bytes(self) -> float:
        """Return the budget in bytes: as it was given, or the size of its rows."""
        budget = self.join.budget
        given = None if budget is None else budget.memory_bytes
        return self._bytes_of(self.rows) if given is None else float(given)

    def _bytes_of(self, rows: float) -> float:
        """Return the size of rows that are mixed from the streams as the exact join's are."""
        needed = self.prediction.statistics.needed_bytes
        if not self.needed or not needed:
            return 0.0
        return rows * (needed / self.needed + self.prediction.kept_beside)

    def _part(self, rows: float) -> float:
        return min(rows / self.needed, 1.0) if self.needed else 1.0

    def _unit(self) -> tuple[str | None, float]:
        """Choose the unit of time for rates: the smallest in which every stream has a row."""
        statistics = self.prediction.statistics
        if statistics.units_per_second is None:
            return None, 1.0
        slowest = min(each.rate for each in statistics.streams.values())
        for word, seconds in reversed(_CLOCK):
            if slowest * statistics.units_per_second * seconds >= 1:
                return word, float(statistics.units_per_second * seconds)
        return _CLOCK[0][0], float(statistics.units_per_second * _CLOCK[0][1])

    def _format_time(self, units: float) -> str:
        """Write a length of time as text."""
        per_second = self.prediction.statistics.units_per_second
        if per_second is None:
            return f"{_short(units)} units of time"
        seconds = units / per_second
        for word, size in _CLOCK:
            if seconds >= 2 * size:
                return f"{_short(seconds / size)} {word}s"
        return f"{_short(seconds)} seconds"


def _amount(size: float) -> str:
    """Write a number of bytes as megabytes, for a column that says so.

    >>> _amount(1_537_115), _amount(0)
    ('1.5', '0')
    """
    return megabytes(size).removesuffix(" MB")


def _percent(share: float) -> str:
    return f"{100 * share:.10g}%"


def _short(number: float) -> str:
    """Write a number with two or three significant digits.

    >>> _short(0.01234), _short(7.04), _short(40.0), _short(12345.6)
    ('0.012', '7.0', '40', '12,346')
    """
    if number >= 20:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"
