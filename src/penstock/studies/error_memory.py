"""Error of an average against memory: the study, for an attribute of either stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.report.panels_plot import Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.frequency_scenario import FrequencyScenario
from penstock.studies.samplers import OURS, PRINTED
from penstock.studies.sampling_error import (
    ErrorPoint,
    ErrorRow,
    errors_of,
    grid,
    headings_of,
    lines,
    run,
    seeds_note,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from penstock.studies.sampling_error import Errors

__all__ = ["study_of_memory"]

# A run has two clusters or so of the largest kind: one says little.
_SEEDS = 40
# Of Penstock's own joins, which are run.
_FEWER = 8

_ALL = tuple(percent / 100 for percent in range(10, 101, 10))

# Where the figures beside the error are shown.
_FEW = (0.1, 0.2, 0.5, 1.0)

_SHOWN: dict[str, Callable[[Errors], npt.NDArray[np.float64]]] = {
    "error": lambda errors: errors.ratio[:, 0],
    "mean of relative errors": lambda errors: errors.relative[:, 0],
    "estimated count of true": lambda errors: errors.count,
    "windows without a sample": lambda errors: errors.empty,
    "rows held of those allowed": lambda errors: errors.held,
}


def _table(rows: Sequence[ErrorRow]) -> Table:
    errors = errors_of(rows)
    memories = rows[0].memories
    cells = [
        (
            f"{what}, %",
            f"{100 * memory:g}",
            *(_cell(figure(found)[at]) for found in errors.values()),
        )
        for what, figure in _SHOWN.items()
        for at, memory in enumerate(memories)
        if what == "error" or memory in _FEW
    ]
    first = (
        f"Error: the sum of |estimate - truth| over the sum of |truth|, of all windows. "
        f"{seeds_note(errors)}"
    )
    second = (
        "100 % of memory is what a full window really holds: 0.8 r1 W1 rows, as the paper's "
        "arrivals bring 0.8 of the rate. UNIFORM is allowed 32/34 of that."
    )
    headings = ("what", "memory\n%", *headings_of(errors))
    return Table(headings, cells, [first, second])


def _cell(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f}"


def _draw(rows: Sequence[ErrorRow], path: Path) -> None:
    errors = errors_of(rows)
    memories = rows[0].memories
    rows_of_panels = (
        ("error", "error of the average (% of it)", 0.6),
        ("estimated count of true", "estimated count (% of the true one)", 1.2),
    )
    panels = [
        Panel(title, lines(errors, who, memories, _SHOWN[what]), y_top=top, y_title=axis)
        for what, axis, top in rows_of_panels
        for title, who in (("As printed", PRINTED), ("Penstock", OURS))
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="How wrong is an average over a sampled join?",
        subtitle=f"Inversely correlated keys, Z = 2; average of an attribute of "
        f"{rows[0].of.upper()}, mu = sigma = 100",
        x_title="memory (% of a full window)",
        y_title="",
        columns=2,
        x_percent=True,
    )


def study_of_memory(
    *, name: str, title: str, reference: str, of: str
) -> Study[ErrorPoint, ErrorRow]:
    """Make the study of an attribute of one of the streams."""
    return Study(
        id=name,
        title=title,
        reference=reference,
        grid=grid([FrequencyScenario("IC", seed=seed) for seed in range(_SEEDS)], _FEWER, of, _ALL),
        quick_grid=grid(
            [FrequencyScenario("IC", windows=8, seed=seed) for seed in range(3)], 1, of, [0.1, 0.5]
        ),
        run=run,
        table=_table,
        draw=_draw,
    )
