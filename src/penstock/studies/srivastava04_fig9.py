"""Figure 9 of Srivastava and Widom: error of an average, against the attribute's variation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.panels_plot import Panel, save_panels_plot
from penstock.report.tables import Table
from penstock.studies.frequency_scenario import FrequencyScenario
from penstock.studies.samplers import OURS, PRINTED
from penstock.studies.sampling_error import (
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

    import numpy as np
    import numpy.typing as npt

    from penstock.studies.sampling_error import Errors

__all__ = ["STUDY"]

_MEMORY = 0.1
_VARIATIONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)
# Which keys are frequent in both streams is drawn once for a pair of streams.
_SEEDS = 40
_FEWER = 12

_SHOWN: dict[str, Callable[[Errors], npt.NDArray[np.float64]]] = {
    "error": lambda errors: errors.ratio[0],
    "mean of relative errors": lambda errors: errors.relative[0],
}


def _table(rows: Sequence[ErrorRow]) -> Table:
    errors = errors_of(rows)
    cells = [
        (
            f"{what}, %",
            f"{variation:g}",
            *(f"{100 * figure(found)[at]:.1f}" for found in errors.values()),
        )
        for what, figure in _SHOWN.items()
        for at, variation in enumerate(rows[0].variations)
    ]
    for what, figures in (
        ("estimated count of true, %", [found.count[0] for found in errors.values()]),
        ("windows without a sample, %", [found.empty[0] for found in errors.values()]),
    ):
        cells.append((what, "", *(f"{100 * figure:.1f}" for figure in figures)))
    equal = rows[0].variations.index(1.0)
    note = (
        f"Memory is {_MEMORY:.0%} of the 0.8 r1 W1 rows of a full window, and 32/34 of that for "
        f"UNIFORM. Where sigma is mu: {seeds_note(errors, equal)}"
    )
    return Table(("what", "sigma\n/ mu", *headings_of(errors)), cells, [note])


def _draw(rows: Sequence[ErrorRow], path: Path) -> None:
    errors = errors_of(rows)
    save_panels_plot(
        path,
        panels=[
            Panel(title, lines(errors, samplers, rows[0].variations, _SHOWN["error"]))
            for title, samplers in (("As printed", PRINTED), ("Penstock", OURS))
        ],
        title="How wrong is an average if values differ more?",
        subtitle=f"Uncorrelated keys, Z = 2; the averaged attribute is in S1; memory {_MEMORY:.0%}",
        x_title="coefficient of variation (sigma / mu)",
        y_title="error of the average (% of it)",
        columns=2,
        y_top=1.0,
        x_limits=(0.0, max(rows[0].variations)),
    )


STUDY = Study(
    id="srivastava04-fig9",
    title="error of an average over a sampled join against the variation of the attribute",
    reference="Srivastava and Widom 2004, section 6.2.4, Figure 9",
    grid=grid(
        [FrequencyScenario("UC", seed=seed) for seed in range(_SEEDS)],
        _FEWER,
        "s1",
        [_MEMORY],
        _VARIATIONS,
    ),
    quick_grid=grid(
        [FrequencyScenario("UC", windows=8, seed=seed) for seed in range(3)],
        1,
        "s1",
        [_MEMORY],
        [0.5, 1.0],
    ),
    run=run,
    table=_table,
    draw=_draw,
)
