"""Who finds the most important results: points, rows, tables and panels of the studies of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Line, Panel
from penstock.report.tables import Table
from penstock.studies.ijoin_streams import ImportanceStreams
from penstock.studies.importance_contenders import CONTENDERS, EXACT, OPTIMUM
from penstock.studies.papers_scale import PapersScale
from penstock.studies.users_scale import UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "COUNTED",
    "PRINTED",
    "SLOW",
    "SLOWER",
    "USERS",
    "ContestPoint",
    "ContestRow",
    "Mean",
    "best_of",
    "grid",
    "means",
    "measure",
    "panel_row",
    "papers",
    "tabulate",
]

Floats = npt.NDArray[np.float64]
Setting: TypeAlias = PapersScale | UsersScale

PRINTED, COUNTED, SLOW = "100 to 200/s", "5/s", "1 to 2/s"
SLOWER, USERS = "1 every 2 to 4 s", "user's scale"
"""What settings are called, by the rate of each stream: as Table 5 prints it; as Table 6 counts it,
1,000 decisions in 100 s; so slow that tuples mature; so slow that 10 tuples hold most of a window
of 10 s; and thousands of rows."""

# Rates and seconds.
_READINGS = {
    PRINTED: ((100.0, 200.0), 50),
    COUNTED: ((5.0, 5.0), 400),
    SLOW: ((1.0, 2.0), 1_000),
    SLOWER: ((0.25, 0.5), 2_000),
}

_MOST_SKEWED = 0.5
# Cells of tables, and what they are of; results and importance are per tuple that came.
_MEASURES = ("importance", "results", "fairness")


@dataclass(frozen=True)
class ContestPoint:
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
class ContestRow:
    """What was found at a point: see `Found`."""

    setting: str
    x: float
    contender: str
    seed: int
    importance: float
    results: float
    fairness: float
    tuples: int
    recomputations: float


class Mean(NamedTuple):
    """A mean over seeds, and the standard deviation between them; that is NaN of one."""

    value: float
    spread: float


def grid(
    settings: Mapping[float, Iterable[Setting]],
    contenders: Iterable[str],
    seeds: int,
) -> tuple[ContestPoint, ...]:
    """Give a point for each combination of a setting, a seed and a contender.

    Parameters
    ----------
    settings
        By what the figure varies.
    contenders
        Names of `CONTENDERS`; at a user's scale those take part who can.
    seeds
        How many streams of each setting.
    """
    contenders = tuple(contenders)
    return tuple(
        ContestPoint(setting.seeded(seed), x, contender, seed)
        for x, own in settings.items()
        for setting in own
        for seed in range(seeds)
        for contender in contenders
        if _takes_part(contender, setting)
    )


def _takes_part(contender: str, setting: Setting) -> bool:
    if isinstance(setting, PapersScale):
        return True
    # The optimum can do a tenth of a user's scale. Where few keys make most of the results, that
    # is another problem: of fewer keys, each of the first ones has a larger part.
    skewed = setting.zipf > _MOST_SKEWED
    return CONTENDERS[contender].at_users_scale and not (contender == OPTIMUM and skewed)


def papers(speed: str, zipf: float) -> PapersScale:
    """Give a reading of the paper's scale: `PRINTED`, `COUNTED`, `SLOW` or `SLOWER`."""
    rates, duration = _READINGS[speed]
    streams = ImportanceStreams(rates=rates, duration=duration, zipf=zipf)
    return PapersScale(f"{speed}, Zipf {zipf:g}", streams)


def measure(point: ContestPoint) -> ContestRow:
    """Measure a point."""
    found = point.setting.measure(point.contender)
    return ContestRow(point.setting.name, point.x, point.contender, point.seed, *found)


def means(rows: Iterable[ContestRow], of: str) -> dict[tuple[str, str], dict[float, Mean]]:
    """Give the means over seeds by x, for each setting and contender.

    Examples
    --------
    >>> rows = [
    ...     ContestRow("slow", 10.0, "fifo", seed, importance, 0.1, 0.9, 500, 0)
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
    rows: Sequence[ContestRow], setting: str, among: Iterable[str]
) -> dict[float, tuple[str, float]]:
    """Give who has the most importance at each x, and how much more than IJOIN, as a share."""
    found = means(rows, "importance")
    ijoin = found[setting, "ijoin"]
    best = {}
    for x, own in ijoin.items():
        others = {name: found[setting, name][x].value for name in among if (setting, name) in found}
        name = max(others, key=lambda each: others[each])
        best[x] = name, others[name] / own.value - 1
    return best


def tabulate(rows: Sequence[ContestRow], x_heading: str, notes: Sequence[str] = ()) -> Table:
    """Put rows into a table: lines for settings, x and measures, a column for each contender."""
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
        "Importance and results are per tuple that came, fairness is in percent; ± is the standard "
        "deviation between streams. The columns that shed first have the paper's order, where a "
        "tuple that is refused a place joins nothing; for FIFO, RAND and IJOIN, which refuse "
        "nobody, both orders are the same."
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
        return _of_digits(100 * value, 100 * spread, 1 if value < 0.1 else 0)
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return _of_digits(value, spread, digits)


def _of_digits(value: float, spread: float, digits: int) -> str:
    """Write a number and its spread.

    >>> _of_digits(1234.56, 7.8, 0)
    '1,235 ± 8'
    """
    text = f"{value:,.{digits}f}"
    return text if np.isnan(spread) else f"{text} ± {spread:,.{digits}f}"


def panel_row(
    rows: Sequence[ContestRow],
    settings: Sequence[str],
    of: str = "importance",
    *,
    hidden: Iterable[str] = (EXACT, OPTIMUM),
    y_title: str = "",
    title: str = "{}",
) -> list[Panel]:
    """Draw panels beside each other, one for each setting, with one y-axis.

    Parameters
    ----------
    rows
        What was found.
    settings
        Their names; those of which there are no rows are left out.
    of
        What is drawn: a name of a column of `ContestRow`, or ``"share"``, which is importance as a
        part of EXACT's.
    hidden
        Contenders that are not drawn.
    y_title
        Of the row.
    title
        Of a panel, with a place for the setting.
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
            title.format(setting),
            lines,
            y_top=1.0 if percent else 1.05 * top,
            y_title=y_title or of,
            y_percent=percent,
        )
        for setting, lines in shown.items()
    ]
