"""Table 5 of Kulkarni and Ravishankar: importance that is redefined once, and twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.report.panels_plot import save_panels_plot
from penstock.studies.importance_contenders import EXACT, OPTIMUM, OURS
from penstock.studies.importance_points import (
    ImportancePoint,
    ImportanceRow,
    grid,
    means,
    measure,
    panel_row,
    tabulate,
)
from penstock.studies.importance_settings import COUNTED, SLOW, papers_scale
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from penstock.report.tables import Table
    from penstock.studies.importance_settings import PapersScale

__all__ = ["STUDY"]

_TIMES = (0, 1, 2)
_CONTENDERS = (EXACT, OPTIMUM, "fifo", "rand", "size", "greedy", "ijoin", OURS)
_ZIPFS = (0.0, 1.0)


def _settings(times: int, seconds: dict[str, int]) -> list[PapersScale]:
    """Return the settings in which importance, a value's own, is redefined so many times."""
    found = []
    for speed, length in seconds.items():
        for zipf in _ZIPFS:
            own = papers_scale(speed, zipf)
            streams = replace(own.streams, importance="by value", redefined=times, duration=length)
            found.append(replace(own, streams=streams))
    return found


def _notes(rows: Sequence[ImportanceRow]) -> Iterator[str]:
    yield (
        "The importance of a value is drawn again half-way, or after one and two thirds of the "
        "time. The optimum is measured on fewer rows."
    )
    found = means(rows, "importance")
    for setting in dict.fromkeys(row.setting for row in rows):
        said = []
        for name in ("greedy", "ijoin", OURS):
            own, exact = found[setting, name], found[setting, EXACT]
            shares = [own[x].value / exact[x].value for x in own]
            said.append(f"{name} {', '.join(f'{100 * each:.1f}' for each in shares)}")
        yield f"{setting}, % of EXACT's importance: {'; '.join(said)}."


def _table(rows: Sequence[ImportanceRow]) -> Table:
    return tabulate(rows, "redefined", list(_notes(rows)))


def _draw(rows: Sequence[ImportanceRow], path: Path) -> None:
    settings = list(dict.fromkeys(row.setting for row in rows))
    panels = [
        panel
        for zipf in _ZIPFS
        for panel in panel_row(
            rows,
            [each for each in settings if each.endswith(f"Zipf {zipf:g}")],
            hidden=[EXACT],
            y_title="importance per row",
        )
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="What if importance is redefined while the join runs?",
        subtitle="10 rows of memory; the importance of a value is drawn again",
        x_title="times that importance is redefined",
        y_title="",
        columns=len(settings) // len(_ZIPFS),
    )


def _grid(seconds: dict[str, int], seeds: int) -> tuple[ImportancePoint, ...]:
    settings = {float(times): _settings(times, seconds) for times in _TIMES}
    return grid(settings, _CONTENDERS, seeds)


STUDY = Study(
    id="kulkarni08-redefined",
    title="importance, if it is redefined once and twice",
    reference="Kulkarni and Ravishankar 2008, section 5, Table 5",
    grid=_grid({COUNTED: 60, SLOW: 200}, seeds=2),
    quick_grid=_grid({SLOW: 60}, seeds=1),
    run=measure,
    table=_table,
    draw=_draw,
)
