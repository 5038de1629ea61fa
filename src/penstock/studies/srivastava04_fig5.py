"""Figure 5 of Srivastava and Widom: the age curve of the trace of two sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import Pen
from penstock.report.tables import Table
from penstock.statistics.age_curve import AgeCurve
from penstock.studies.study import Study
from penstock.studies.two_sites import GRANULARITY_MS, WINDOW_MS, TwoSites
from penstock.studies.workload import workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from penstock.studies.workload import Workload

__all__ = ["STUDY", "CurvePoint", "CurveRow"]

Floats = npt.NDArray[np.float64]

_PENS: Mapping[str, Pen] = {
    "sample": Pen("from 1 in 200 rows", "#E69F00", width=1.2),
    "pass": Pen("from the whole trace", "#0072B2", width=1.6),
    "law": Pen("by the law of the delay", "#222222", (0, (4, 3)), width=1.6),
}
# As many as 600 rows, a tenth of a full window, have of monitored rows.
_SHARE = 0.005
# Ages that the picture shows, in seconds: before and after them next to nothing happens.
_SHOWN = (58.0, 76.0)


@dataclass(frozen=True)
class CurvePoint:
    """One way to know the age curve of a trace: a name of `_PENS`."""

    scenario: TwoSites
    way: str


@dataclass(frozen=True, eq=False)
class CurveRow:
    """An age curve.

    Attributes
    ----------
    way
        How it is known.
    results_per_row
        n1, results of a row over its life.
    best_age
        k_opt, in seconds.
    shares
        p1 as fractions of n1, for each 0.1 s of the window, the newest first.
    """

    way: str
    results_per_row: float
    best_age: float
    shares: Floats

    @property
    def peak(self) -> float:
        """The age at which most results come, in seconds, over half a second on either side."""
        smooth = np.convolve(self.shares, np.full(11, 1 / 11), mode="same")
        return (int(smooth.argmax()) + 0.5) * GRANULARITY_MS / 1000

    def share_between(self, low: float, high: float) -> float:
        """Return the share of the results that come between two ages, in seconds."""
        parts = 1000 / GRANULARITY_MS
        return float(self.shares[round(low * parts) : round(high * parts)].sum())


def _run(point: CurvePoint) -> CurveRow:
    made = workload(point.scenario)
    if point.way == "law":
        matches = made.curve
    else:
        matches = _seen(made, _SHARE if point.way == "sample" else 1.0, point.scenario.seed)
    curve = AgeCurve(matches)
    best = curve.best_age * GRANULARITY_MS / 1000
    return CurveRow(point.way, curve.total, best, matches / curve.total)


def _seen(made: Workload, share: float, seed: int) -> Floats:
    """Count results by age, of rows whose whole window is in the trace; of a share of these."""
    s1, s2 = made.tables["s1"], made.tables["s2"]
    lived = s1["time"].to_numpy() + WINDOW_MS <= s2["time"].to_numpy()[-1]
    monitored = lived & (np.random.default_rng(seed).random(len(lived)) < share)
    result = made.join().replay({"s1": s1.filter(monitored), "s2": s2}).result
    ages = result["time"].to_numpy() - _times_of(result["s1"])
    edges = np.arange(0, WINDOW_MS + 1, GRANULARITY_MS)
    # Bucket k has ages above its lower edge and up to its upper one, as in the paper.
    counts = np.diff(np.searchsorted(np.sort(ages), edges, side="right"))
    return np.asarray(counts / monitored.sum(), np.float64)


def _times_of(rows: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    times: npt.NDArray[np.int64] = rows.combine_chunks().field("time").to_numpy()
    return times


def _table(rows: Sequence[CurveRow]) -> Table:
    headings = (
        "age curve",
        "results\nper row",
        "peak\ns",
        "best age\ns",
        "% before\n61 s",
        "% from 61\nto 69 s",
        "% after\n69 s",
    )
    lines = [
        (
            _PENS[row.way].label,
            f"{row.results_per_row:.2f}",
            f"{row.peak:.1f}",
            f"{row.best_age:.1f}",
            *(
                f"{100 * row.share_between(low, high):.1f}"
                for low, high in ((0, 61), (61, 69), (69, 120))
            ),
        )
        for row in rows
    ]
    return Table(headings, lines, ("The paper has the peak at 63 s and the best age at 68.8 s.",))


def _draw(rows: Sequence[CurveRow], path: Path) -> None:
    # Middles of the parts, and percent of the results per part.
    ages = (np.arange(WINDOW_MS // GRANULARITY_MS) + 0.5) * GRANULARITY_MS / 1000
    shown = (ages >= _SHOWN[0]) & (ages <= _SHOWN[1])
    found = {row.way: row for row in rows}
    lines = [
        Line(pen, ages[shown], 100 * found[way].shares[shown])
        for way, pen in _PENS.items()
        if way in found
    ]
    best = found["pass"].best_age
    save_panels_plot(
        path,
        panels=[Panel("", lines, (best, f"most results per\ntime up to {best:.1f} s"))],
        title="At what age do rows find their partners?",
        subtitle="Two sites, 50 rows per second each, joined a minute apart; the window is 120 s",
        x_title="age of the row (seconds)",
        y_title="results in each 0.1 s (% of a row's)",
        y_percent=False,
        x_limits=_SHOWN,
    )


STUDY = Study(
    id="srivastava04-fig5",
    title="age curve of a trace of two sites",
    reference="Srivastava and Widom 2004, section 6.1, Figure 5",
    grid=tuple(CurvePoint(TwoSites(), way) for way in _PENS),
    quick_grid=tuple(CurvePoint(TwoSites(minutes=6), way) for way in _PENS),
    run=_run,
    table=_table,
    draw=_draw,
)
