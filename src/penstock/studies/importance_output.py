"""Tables and panels of a figure of importance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel
from penstock.report.tables import Table
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM
from penstock.studies.importance_points import ImportanceRow, Mean, means

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["panel_row", "tabulate"]

Floats = npt.NDArray[np.float64]

# Cells of tables, and what they are of; results and importance are per row that came.
_MEASURES = ("importance", "results", "fairness")


def tabulate(rows: Sequence[ImportanceRow], x_heading: str, notes: Sequence[str] = ()) -> Table:
    """Make a table: lines for settings, x and measures, a column for each contender."""
    contenders = [name for name in CONTENDERS if any(row.contender == name for row in rows)]
    found = {of: means(rows, of) for of in _MEASURES}
    lines = []
    for setting in dict.fromkeys(row.setting for row in rows):
        for x in sorted({row.x for row in rows if row.setting == setting}):
            for of in _MEASURES:
                cells = [
                    _cell(found[of].get((setting, name), {}).get(x), of) for name in contenders
                ]
                lines.append((setting, f"{x:,g}", of, *cells))
    headings = ("streams", x_heading, "measure")
    explained = (
        "Importance and results are per row that came, fairness is in percent; ± is the standard "
        "deviation between streams. The columns that shed first have the paper's order, where a "
        "row that is refused a place joins nothing; for FIFO, RAND and IJOIN, which refuse "
        "no row, both orders are the same."
    )
    return Table(
        (*headings, *(CONTENDERS[name].heading for name in contenders)),
        lines,
        [explained, *notes],
    )


def _cell(mean: Mean | None, of: str) -> str:
    if mean is None or np.isnan(mean.value):
        return ""
    value, spread = mean
    if of == "fairness":
        return _with_spread(100 * value, 100 * spread, 1 if value < 0.1 else 0)
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return _with_spread(value, spread, digits)


def _with_spread(value: float, spread: float, digits: int) -> str:
    """Return a number and its spread as text.

    >>> _with_spread(1234.56, 7.8, 0)
    '1,235 ± 8'
    """
    text = f"{value:,.{digits}f}"
    return text if np.isnan(spread) else f"{text} ± {spread:,.{digits}f}"


def panel_row(
    rows: Sequence[ImportanceRow],
    settings: Sequence[str],
    of: str = "importance",
    *,
    hidden: Iterable[str] = (EXACT, OPTIMUM),
    y_title: str = "",
) -> list[Panel]:
    """Return panels beside each other, one for each setting, with one y-axis.

    Parameters
    ----------
    rows
        What was found.
    settings
        Their names; those of which there are no rows are left out.
    of
        What is drawn: a column of `ImportanceRow`, or ``"share"``: importance as a part of EXACT's.
    hidden
        Contenders to leave out.
    y_title
        Of the row.
    """
    found = means(rows, "importance" if of == "share" else of)
    hidden = set(hidden)

    def values(setting: str, name: str) -> Floats:
        own = found[setting, name]
        whole = found[setting, EXACT] if of == "share" else {}
        return np.array([each.value / (whole[x].value if whole else 1) for x, each in own.items()])

    shown = {
        setting: [
            Line(
                CONTENDERS[name].pen,
                np.array(list(found[setting, name]), np.float64),
                values(setting, name),
            )
            for name in CONTENDERS
            if (setting, name) in found and name not in hidden
        ]
        for setting in settings
        if any(row.setting == setting for row in rows)
    }
    percent = of in {"fairness", "share"}
    top = max((float(np.nanmax(line.y)) for lines in shown.values() for line in lines), default=1.0)
    return [
        Panel(
            setting,
            lines,
            y_top=1.0 if percent else 1.05 * top,
            y_title=y_title or of,
            y_percent=percent,
        )
        for setting, lines in shown.items()
    ]
