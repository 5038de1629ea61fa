"""Our own study: how recall falls when the streams change, and recovers as a join learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.predicates import Equal
from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.contenders import CONTENDERS, join_of
from penstock.studies.study import Study
from penstock.studies.workload import (
    ARRIVALS_PER_RATE,
    Workload,
    exact_times,
    first_stream_windowed,
    result_times,
    workload,
)
from penstock.testing import age_model, frequency_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.studies.workload import Scenario

__all__ = ["STUDY", "DriftPoint", "DriftRow", "DriftingCurve", "DriftingKeys"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_MEMORY = 0.1
# Per window.
_BINS = 5
# Recall is back where it reaches this share of the best contender's at the end.
_NEAR = 0.9
# Windows at the end over which that is measured.
_LAST = 3


@dataclass(frozen=True)
class DriftingCurve:
    """Streams under the age model whose curve changes in the middle.

    The first stream stays the same. From the middle on, the second one chooses its partners by the
    second curve.

    Parameters
    ----------
    before, after
        The curves.
    rate_1, rate_2
        r1 and r2; the streams really bring 0.8 of it.
    window
        W1.
    windows
        How long the streams are, in windows.
    seed
        Of the streams.
    """

    before: str = "DEC"
    after: str = "INC"
    rate_1: float = 20.0
    rate_2: float = 100.0
    window: float = 500.0
    windows: float = 20.0
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in panels and tables."""
        return f"age curve: {self.before}, then {self.after}"

    def make(self) -> Workload:
        """Make the streams; the curve that goes with them is the one before the change."""
        duration = self.windows * self.window
        one, other = (
            age_model(
                curve=curve,
                rate_1=self.rate_1,
                rate_2=self.rate_2,
                window=self.window,
                duration=duration,
                results_per_row=self.rate_2 / self.rate_1,
                seed=self.seed,
            )
            for curve in (self.before, self.after)
        )
        # The same seed draws the same times of arrival, whatever the curve.
        half = duration / 2
        s2 = pa.concat_tables(
            [
                one.s2.filter(pc.less(one.s2["time"], half)),
                other.s2.filter(pc.greater_equal(other.s2["time"], half)),
            ]
        )
        return Workload(
            streams=first_stream_windowed(self.window),
            on=Equal("id"),
            tables={"s1": one.s1, "s2": s2},
            curve=one.curve,
            rate=ARRIVALS_PER_RATE * self.rate_1,
            window=self.window,
            measured_from=2 * self.window,
        )


@dataclass(frozen=True)
class DriftingKeys:
    """Streams under the frequency model whose hot keys change in the middle.

    Keys follow Zipf's law, the same in both streams. From the middle on, every key is moved by half
    of the domain.

    Parameters
    ----------
    keys
        Different ones.
    zipf
        Z, how hot the hot ones are.
    rate_1, rate_2, window, windows, seed
        As in `DriftingCurve`.
    """

    keys: int = 1_000
    zipf: float = 1.0
    rate_1: float = 10.0
    rate_2: float = 2.5
    window: float = 500.0
    windows: float = 20.0
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in panels and tables."""
        return f"keys: Zipf {self.zipf:g}, then others are hot"

    def make(self) -> Workload:
        """Make the streams; under this model results are spread evenly over a row's life."""
        duration = self.windows * self.window
        made = frequency_model(
            zipf=self.zipf,
            correlation="DC",
            domain=self.keys,
            rate_1=self.rate_1,
            rate_2=self.rate_2,
            duration=duration,
            seed=self.seed,
        )
        alike = float((made.frequencies_1 * made.frequencies_2).sum())
        results = ARRIVALS_PER_RATE * self.rate_2 * self.window * alike
        return Workload(
            streams=first_stream_windowed(self.window),
            on=Equal("key"),
            tables={
                name: self._moved(table, duration / 2)
                for name, table in (("s1", made.s1), ("s2", made.s2))
            },
            curve=np.full(20, results / 20),
            rate=ARRIVALS_PER_RATE * self.rate_1,
            window=self.window,
            measured_from=2 * self.window,
        )

    def _moved(self, table: pa.Table, since: float) -> pa.Table:
        keys, times = (table[name].to_numpy() for name in ("key", "time"))
        moved = np.where(times < since, keys, (keys + self.keys // 2) % self.keys)
        return table.set_column(table.schema.get_field_index("key"), "key", pa.array(moved))


@dataclass(frozen=True)
class DriftPoint:
    """One contender on streams that change."""

    scenario: Scenario
    windows: float
    contender: str
    memory: float = _MEMORY


@dataclass(frozen=True, eq=False)
class DriftRow:
    """What was found at a point.

    Attributes
    ----------
    scenario, contender, memory
        The point, the scenario by its name.
    change
        When the streams change, in windows since they began.
    found, exact
        Results of the contender and of the exact join in each fifth of a window.
    """

    scenario: str
    contender: str
    memory: float
    change: float
    found: Counts
    exact: Counts

    def recall(self, start: float, end: float) -> float:
        """Return the recall between two times, in windows; NaN where there was nothing to find."""
        bins = slice(round(start * _BINS), round(end * _BINS))
        exact = int(self.exact[bins].sum())
        return int(self.found[bins].sum()) / exact if exact else float("nan")

    @property
    def end(self) -> float:
        """How long the streams are, in windows."""
        return self.exact.size / _BINS

    @property
    def ends(self) -> Floats:
        """The ends of windows, of which one begins at each bin; in windows."""
        return np.arange(_BINS, self.exact.size + 1) / _BINS

    def in_windows(self) -> Floats:
        """Return the recall of each of those windows."""
        return np.array([self.recall(end - 1, end) for end in self.ends])

    def after(self) -> Floats:
        """Return the recall of those that begin at the change or later."""
        return self.in_windows()[self.ends >= self.change + 1 - 1e-9]

    @property
    def settled(self) -> float:
        """Recall in the last windows."""
        return self.recall(self.end - _LAST, self.end)

    def back_after(self, recall: float) -> float:
        """Return when, after the change, the first window with this recall begins; NaN if none."""
        enough = np.flatnonzero(self.after() >= recall)
        return int(enough[0]) / _BINS if enough.size else float("nan")


def _run(point: DriftPoint) -> DriftRow:
    made = workload(point.scenario)
    rows = round(point.memory * made.full_rows)
    edges = np.linspace(0, point.windows, round(_BINS * point.windows) + 1)
    exact, _ = np.histogram(exact_times(point.scenario) / made.window, edges)
    times = result_times(made, join_of(point.contender, made, rows, seed=0))
    found, _ = np.histogram(times / made.window, edges)
    return DriftRow(
        point.scenario.name, point.contender, point.memory, point.windows / 2, found, exact
    )


def _table(rows: Sequence[DriftRow]) -> Table:
    headings = (
        "streams",
        "contender",
        "recall %\nbefore",
        "at worst\nafter",
        "at the\nend",
        "back after\nwindows",
    )
    best = {
        scenario: max(row.settled for row in rows if row.scenario == scenario)
        for scenario in dict.fromkeys(row.scenario for row in rows)
    }
    lines = [
        (
            row.scenario,
            CONTENDERS[row.contender].words,
            *(
                f"{100 * recall:.1f}"
                for recall in (
                    row.recall(min(2.0, row.change - 1), row.change),
                    float(np.nanmin(row.after())),
                    row.settled,
                )
            ),
            "never" if np.isnan(back) else f"{back:.1f}",
        )
        for row in rows
        for back in [row.back_after(_NEAR * best[row.scenario])]
    ]
    note = (
        f"Memory is {rows[0].memory:.0%} of a full window. Before: from the third window to the "
        f"change. At worst: over one window. At the end: over the last {_LAST} windows. Back: "
        f"when, after the change, the first window begins that is within {1 - _NEAR:.0%} of the "
        f"best recall at the end."
    )
    return Table(headings, lines, [note])


def _draw(rows: Sequence[DriftRow], path: Path) -> None:
    shown = []
    for scenario in dict.fromkeys(row.scenario for row in rows):
        found = {row.contender: row for row in rows if row.scenario == scenario}
        lines = [
            Line(
                CONTENDERS[name].pen,
                found[name].ends,
                found[name].in_windows(),
            )
            for name in CONTENDERS
            if name in found
        ]
        change = next(iter(found.values())).change
        shown.append(Panel(scenario, lines, (change, "here they change")))
    save_panels_plot(
        path,
        panels=shown,
        title="Does recall come back when the streams change?",
        subtitle=f"Memory for {rows[0].memory:.0%} of a full window; recall over the last window",
        x_title="time since the streams began (windows)",
        y_title="recall (% of the exact results)",
        columns=2,
        y_top=0.7,
        x_limits=(0.0, rows[0].end),
    )


def _grid(curve: DriftingCurve, keys: DriftingKeys) -> tuple[DriftPoint, ...]:
    return tuple(
        DriftPoint(scenario, scenario.windows, contender)
        for scenario, contenders in (
            (curve, ("recent", "prob", "age-first", "age", "choice", "choice-quick")),
            (keys, ("recent", "prob", "age", "choice", "choice-quick")),
        )
        for contender in contenders
    )


STUDY = Study(
    id="drift",
    title="recall over time when the age curve, or the hot keys, change half-way",
    reference="our own",
    grid=_grid(DriftingCurve(), DriftingKeys()),
    quick_grid=_grid(
        DriftingCurve(rate_1=2.0, rate_2=10.0, windows=8),
        DriftingKeys(rate_1=2.0, windows=8),
    ),
    run=_run,
    table=_table,
    draw=_draw,
)
