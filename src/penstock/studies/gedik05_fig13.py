"""Figure 13 of Gedik et al.: the gain of GrubJoin against the number of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import PURPLE, Pen
from penstock.report.tables import Table
from penstock.studies.grub_points import (
    ALIGNED,
    APART,
    DEVIATIONS,
    PENS,
    GrubPoint,
    GrubRow,
    gain_with_error,
    mean_rows,
    measure_grub,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["STUDY"]

_STREAMS = (3, 4, 5)
_SMALL, _LARGE = 10, 100  # rows: as in the paper, and one second
_SEEDS = 10

_PENS = {**PENS, "grub-any-order": Pen("GrubJoin, orders\nchosen with parts", PURPLE)}
_HARVESTING = ("grub-greedy", "grub", "grub-any-order")


def _key(point: GrubPoint) -> tuple[str, int, int]:
    return ("not aligned" if any(point.lags) else "aligned", point.buffer, len(point.lags))


def _table(rows: Sequence[GrubRow]) -> Table:
    found = mean_rows(rows, _key)
    seeds: dict[tuple[object, str], list[float]] = {}
    for row in rows:
        seeds.setdefault((_key(row.point), row.point.contender), []).append(row.output)
    lines = []
    for key in dict.fromkeys(_key(row.point) for row in rows):
        peer = seeds[key, "random-drop"]
        outputs = [f"{found[key, contender][0]:,.0f}" for contender in _PENS]
        works = [f"{100 * found[key, contender][1]:.0f}" for contender in _PENS]
        gains = [gain_with_error(seeds[key, each], peer) for each in _HARVESTING]
        lines.append((key[0], str(key[1]), str(key[2]), *outputs, *gains, *works))
    names = [pen.label.replace("\n", " ") for pen in _PENS.values()]
    headings = (
        "streams",
        "buffer\nrows",
        "m",
        *(f"{name}\nresults/s" for name in names),
        "gain\nas printed",
        "gain\nbest_harvest",
        "gain\norders chosen",
        *(f"{name}\nwork %" for name in names),
    )
    note = (
        "100 rows per second of each stream. Gains are of the mean outputs over RandomDrop's, "
        "± their standard error by the seeds."
    )
    return Table(headings, lines, [note], names=1)


def _draw(rows: Sequence[GrubRow], path: Path) -> None:
    found = mean_rows([row for row in rows if row.point.buffer == _SMALL], _key)
    streams = sorted({len(row.point.lags) for row in rows})
    top = 1.05 * max(each[0] for each in found.values()) / 1000.0
    panels = [
        Panel(
            name,
            [
                Line(
                    pen,
                    np.array(streams, np.float64),
                    np.array([found[(name, _SMALL, m), contender][0] for m in streams]) / 1000.0,
                )
                for contender, pen in _PENS.items()
            ],
            y_top=top,
        )
        for name in ("aligned", "not aligned")
    ]
    save_panels_plot(
        path,
        panels=panels,
        title="Does harvesting gain more with more streams?",
        subtitle="epsilon join of streams of 100 rows/s, windows of 20 s; simulated",
        x_title="number of streams",
        y_title="results per second (thousands)",
        columns=2,
        y_percent=False,
    )


def _grid(
    streams: Sequence[int], seeds: int, buffer: int = _SMALL, duration: float = 60.0
) -> tuple[GrubPoint, ...]:
    return tuple(
        GrubPoint(
            contender,
            100.0,
            lags[:m],
            DEVIATIONS[:m],
            buffer=buffer,
            duration=duration,
            seed=seed,
        )
        for lags in (ALIGNED, APART)
        for m in streams
        for contender in _PENS
        for seed in range(seeds)
    )


STUDY = Study(
    id="gedik05-fig13",
    title="output of GrubJoin and RandomDrop against the number of streams",
    reference="Gedik, Wu, Yu and Liu 2005, figure 13",
    grid=(*_grid(_STREAMS, _SEEDS), *_grid(_STREAMS, _SEEDS, _LARGE)),
    quick_grid=_grid((3, 4), 1, duration=30.0),
    run=measure_grub,
    table=_table,
    draw=_draw,
)
