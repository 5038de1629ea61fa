"""Points of a figure of importance: a contender in a setting, what it found, and how it is shown.

Means over seeds become tables, and panels of a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel
from penstock.report.tables import Table
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM
from penstock.studies.importance_settings import PapersScale, UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "ImportancePoint",
    "ImportanceRow",
    "Mean",
    "Setting",
    "best_of",
    "grid",
    "means",
    "measure",
    "panel_row",
    "tabulate",
]

Setting: TypeAlias = PapersScale | UsersScale
Floats = npt.NDArray[np.float64]

_MOST_SKEWED = 0.5
# Cells of tables, and what they are of; results and importance are per row that came.
_MEASURES = ("importance", "results", "fairness")


@dataclass(frozen=True)
class ImportancePoint:
    """One contender in one setting.

    Attributes
    ----------
    setting
        What is joined, with which memory and window; the seed is in it.
    x
        What the figure varies.
    contender
        A name of `CONTENDERS`.
    seed
        Of the streams.
    """

    setting: Setting
    x: float
    contender: str
    seed: int


@dataclass(frozen=True)
class ImportanceRow:
    """What was found at a point: see `ImportanceFound`."""

    setting: str
    x: float
    contender: str
    seed: int
    importance: float
    results: float
    fairness: float
    rows: int
    recomputations: float


class Mean(NamedTuple):
    """A mean over seeds, and the standard deviation between them; NaN for one seed."""

    value: float
    spread: float


def grid(
    settings: Mapping[float, Iterable[Setting]],
    contenders: Iterable[str],
    seeds: int,
) -> tuple[ImportancePoint, ...]:
    """Return a point for each combination of a setting, a seed and a contender.

    Parameters
    ----------
    settings
        By what the figure varies.
    contenders
        Names of `CONTENDERS`; those that cannot run at a user's scale are left out there.
    seeds
        How many streams of each setting.
    """
    contenders = tuple(contenders)
    return tuple(
        ImportancePoint(setting.seeded(seed), x, contender, seed)
        for x, own in settings.items()
        for setting in own
        for seed in range(seeds)
        for contender in contenders
        if _takes_part(contender, setting)
    )


def _takes_part(contender: str, setting: Setting) -> bool:
    if isinstance(setting, PapersScale):
        return True
    # The optimum gets a tenth of a user's scale. Where few keys make most of the results, that is
    # another problem: with fewer keys, each of the first ones has a larger part.
    skewed = setting.zipf > _MOST_SKEWED
    return CONTENDERS[contender].at_users_scale and not (contender == OPTIMUM and skewed)


def measure(point: ImportancePoint) -> ImportanceRow:
    """Measure a point."""
    found = point.setting.measure(point.contender)
    return ImportanceRow(point.setting.name, point.x, point.contender, point.seed, *found)


def means(rows: Iterable[ImportanceRow], of: str) -> dict[tuple[str, str], dict[float, Mean]]:
    """Return the means over seeds by x, for each setting and contender.

    Examples
    --------
    >>> rows = [
    ...     ImportanceRow("slow", 10.0, "fifo", seed, importance, 0.1, 0.9, 500, 0)
    ...     for seed, importance in enumerate([1.0, 3.0])
    ... ]
    >>> means(rows, "importance")["slow", "fifo"]
    {10.0: Mean(value=2.0, spread=1.4142135623730951)}
    """
    found: dict[tuple[str, str], dict[float, list[float]]] = {}
    for row in rows:
        by_x = found.setdefault((row.setting, row.contender), {})
        by_x.setdefault(row.x, []).append(getattr(row, of))
    return {
        key: {
            x: Mean(
                float(np.mean(each)), float(np.std(each, ddof=1)) if len(each) > 1 else float("nan")
            )
            for x, each in sorted(by_x.items())
        }
        for key, by_x in found.items()
    }


def best_of(
    rows: Sequence[ImportanceRow], setting: str, among: Iterable[str]
) -> dict[float, tuple[str, float]]:
    """Return the contender with the most importance at each x, and its lead over IJOIN, a share."""
    found = means(rows, "importance")
    ijoin = found[setting, "ijoin"]
    best = {}
    for x, own in ijoin.items():
        others = {name: found[setting, name][x].value for name in among if (setting, name) in found}
        name = max(others, key=lambda each: others[each])
        best[x] = name, others[name] / own.value - 1
    return best


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
