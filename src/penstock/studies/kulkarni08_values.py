"""Figure 4 of Kulkarni and Ravishankar with more numbers of values: how results fall with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import save_panels_plot
from penstock.report.tables import Table
from penstock.studies.importance_contenders import CONTENDERS
from penstock.studies.importance_points import (
    ImportancePoint,
    ImportanceRow,
    Mean,
    grid,
    means,
    measure,
    panel_row,
)
from penstock.studies.importance_settings import SLOW, papers_scale
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

__all__ = ["STUDY", "deviations"]

_DOMAINS = (10, 12, 14, 16, 18, 20)
_CONTENDERS = ("fifo", "ijoin")
_ZIPFS = (0.0, 1.0)


def deviations(values: npt.ArrayLike, results: npt.ArrayLike) -> tuple[float, float]:
    """Return how far results are from a straight line, and from a part of 1 / values, at most.

    Both are fitted by least squares; distances are relative to the mean of the results.

    Examples
    --------
    >>> line, inverse = deviations([10, 15, 20], [1.0, 2 / 3, 0.5])
    >>> round(line, 3), round(inverse, 3)
    (0.077, 0.0)
    >>> line, inverse = deviations([10, 15, 20], [1.0, 0.75, 0.5])
    >>> round(line, 3), round(inverse, 3)
    (0.0, 0.082)
    """
    x, y = np.asarray(values, np.float64), np.asarray(results, np.float64)
    line = np.polyval(np.polyfit(x, y, 1), x)
    inverse = float((y / x).sum() / (1 / x**2).sum()) / x
    return tuple(float(np.abs(y - each).max() / y.mean()) for each in (line, inverse))  # type: ignore[return-value]


def _table(rows: Sequence[ImportanceRow]) -> Table:
    found = means(rows, "results")
    domains = sorted({row.x for row in rows})
    lines = []
    for (setting, name), by_x in found.items():
        cells = [_cell(by_x.get(x)) for x in domains]
        lines.append((setting, CONTENDERS[name].words, *cells, *_judged(by_x)))
    headings = (
        "streams",
        "scheme",
        *(f"{x:g}" for x in domains),
        "from a line,\n%",
        "from 1 / values,\n%",
    )
    note = (
        "Results per row that came, by the number of values. The last columns have the greatest "
        "distance from the best straight line and from the best multiple of 1 / values, in "
        "percent of the mean."
    )
    return Table(headings, lines, [note])


def _cell(mean: Mean | None) -> str:
    if mean is None:
        return ""
    spread = "" if np.isnan(mean.spread) else f" ± {mean.spread:.2g}"
    return f"{mean.value:.3g}{spread}"


def _judged(by_x: Mapping[float, Mean]) -> tuple[str, str]:
    line, inverse = deviations(list(by_x), [mean.value for mean in by_x.values()])
    return f"{100 * line:.1f}", f"{100 * inverse:.1f}"


def _draw(rows: Sequence[ImportanceRow], path: Path) -> None:
    settings = list(dict.fromkeys(row.setting for row in rows))
    panels = [
        panel
        for zipf in _ZIPFS
        for panel in panel_row(
            rows,
            [each for each in settings if each.endswith(f"Zipf {zipf:g}")],
            "results",
            y_title="results per row",
        )
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="Do results fall linearly with the number of values?",
        subtitle="10 rows of memory, all rows equally important",
        x_title="values of the join attribute",
        y_title="",
        columns=len(settings) // len(_ZIPFS),
    )


def _grid(
    domains: Sequence[int], seconds: Mapping[str, int], seeds: int
) -> tuple[ImportancePoint, ...]:
    settings = {}
    for domain in domains:
        settings[float(domain)] = [
            replace(
                own,
                streams=replace(own.streams, domain=domain, importance="equal", duration=length),
            )
            for speed, length in seconds.items()
            for zipf in _ZIPFS
            for own in [papers_scale(speed, zipf)]
        ]
    return grid(settings, _CONTENDERS, seeds)


STUDY = Study(
    id="kulkarni08-values",
    title="results against many numbers of values: linear, or in proportion to 1 / values",
    reference="Kulkarni and Ravishankar 2008, section 5.3, Figure 4",
    grid=_grid(_DOMAINS, {SLOW: 600}, seeds=2),
    quick_grid=_grid((10, 15, 20), {SLOW: 60}, seeds=1),
    run=measure,
    table=_table,
    draw=_draw,
)
