"""Points of the studies of GrubJoin against RandomDrop: figures 2 and 11 to 15 of `gedik05`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from penstock.report.plot_style import BLACK, BLUE, GREEN, ORANGE, VERMILION, Pen
from penstock.studies.grub_join import Grub, Machine, RandomDrop, simulate
from penstock.testing import lagged_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from penstock.studies.grub_join import Policy

__all__ = [
    "ALIGNED",
    "APART",
    "CONTENDERS",
    "DEVIATIONS",
    "PENS",
    "SPEED",
    "GrubPoint",
    "GrubRow",
    "gain",
    "gain_with_error",
    "mean_rows",
    "measure_grub",
]

Floats = npt.NDArray[np.float64]

SPEED: Final = 3.6e6
"""Comparisons per second of the simulated machine: what the exact join of three aligned streams
takes at 100 rows per second each, from where on the paper's machine has to shed load."""

ALIGNED: Final = (0.0, 0.0, 0.0, 0.0, 0.0)
"""Lags of up to five streams."""
APART: Final = (0.0, 5.0, 15.0, 10.0, 2.0)
"""The paper gives the first three."""
DEVIATIONS: Final = (2.0, 2.0, 50.0, 50.0, 50.0)
"""The paper gives the first three."""

CONTENDERS: Mapping[str, Callable[[], Policy]] = {
    "random-drop": lambda: RandomDrop("best"),
    "common-drop": lambda: RandomDrop("common"),
    "known-speed": lambda: RandomDrop("common", speed=SPEED),
    "grub-greedy": lambda: Grub("greedy"),
    "grub": lambda: Grub("best"),
    "grub-any-order": lambda: Grub("any-order"),
    "grub-effort": lambda: Grub("greedy", effort=True),
}
"""RandomDrop with a box for each stream, with one for all, and with one for all by the speed of
the machine; GrubJoin as printed, with `best_harvest`, and with join orders chosen together with the
harvest; as printed, where setting harvest fractions takes time."""

PENS: Mapping[str, Pen] = {
    "known-speed": Pen("one box for all,\nspeed known", GREEN, (0, (2, 1))),
    "common-drop": Pen("RandomDrop,\none box for all", ORANGE, (0, (2, 1))),
    "random-drop": Pen("RandomDrop", BLUE),
    "grub-greedy": Pen("GrubJoin\nas printed", VERMILION, (0, (6, 2))),
    "grub": Pen("GrubJoin with\nbest_harvest", BLACK),
}


@dataclass(frozen=True)
class GrubPoint:
    """One run.

    Attributes
    ----------
    contender
        A name of `CONTENDERS`.
    rate
        Rows per second of each stream.
    lags, deviations
        tau and kappa of each stream.
    interval, buffer
        Delta in seconds, and rows that a buffer holds.
    changes
        When rates change, and by which factor.
    duration, counts_from
        Of the run, in seconds.
    seed
        Of the streams and the draws.
    """

    contender: str
    rate: float = 200.0
    lags: tuple[float, ...] = APART[:3]
    deviations: tuple[float, ...] = DEVIATIONS[:3]
    interval: float = 5.0
    buffer: int = 10
    changes: tuple[tuple[float, float], ...] = ()
    duration: float = 60.0
    counts_from: float = 20.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class GrubRow:
    """What a run has shown.

    Attributes
    ----------
    point
        The run.
    output
        Results per second.
    work
        Comparisons as a share of what the machine can make.
    dropped
        Rows per second that full buffers refused.
    times, fractions, rates
        By adaptation step.
    """

    point: GrubPoint
    output: float
    work: float
    dropped: float
    times: Floats
    fractions: Floats
    rates: Floats


def measure_grub(point: GrubPoint) -> GrubRow:
    """Run a point."""
    streams = lagged_streams(
        rate=point.rate,
        duration=point.duration,
        lags=point.lags,
        deviations=point.deviations,
        changes=point.changes,
        seed=point.seed,
    )
    machine = Machine(speed=SPEED, interval=point.interval, buffer=point.buffer)
    run = simulate(
        streams,
        CONTENDERS[point.contender](),
        machine,
        duration=point.duration,
        counts_from=point.counts_from,
        seed=point.seed,
    )
    return GrubRow(
        point, run.output, run.work / SPEED, run.dropped, run.times, run.fractions, run.rates
    )


def mean_rows(
    rows: Iterable[GrubRow], key: Callable[[GrubPoint], object]
) -> dict[tuple[object, str], tuple[float, float, float]]:
    """Return output, work and dropped rows by key and contender, the means over the seeds."""
    found: dict[tuple[object, str], list[tuple[float, float, float]]] = {}
    for row in rows:
        figures = (row.output, row.work, row.dropped)
        found.setdefault((key(row.point), row.point.contender), []).append(figures)
    means = {place: np.mean(each, axis=0).tolist() for place, each in found.items()}
    return {place: (each[0], each[1], each[2]) for place, each in means.items()}


def gain(found: float, peer: float) -> str:
    """Return by how much more was found than by a peer, as text.

    >>> gain(25.0, 10.0)
    '+150 %'
    """
    return f"{100.0 * (found / peer - 1.0):+.0f} %" if peer > 0.0 else "none found"


def gain_with_error(found: Sequence[float], peer: Sequence[float]) -> str:
    """Return by how much more was found on average, with its standard error, as text.

    Parameters
    ----------
    found, peer
        Of the same seeds, in the same order.

    Examples
    --------
    >>> gain_with_error([24.0, 26.0, 25.0], [10.0, 10.0, 10.0])
    '+150 % ± 6'
    >>> gain_with_error([24.0], [10.0])  # one seed says nothing of the error
    '+140 %'
    """
    of_grub, of_peer = np.array(found), np.array(peer)
    text = gain(float(of_grub.mean()), float(of_peer.mean()))
    if len(found) < 2 or not of_peer.mean() > 0.0:
        return text
    ratio = of_grub.mean() / of_peer.mean()
    apart = of_grub - ratio * of_peer  # of the ratio of two means, by the delta method
    error = apart.std(ddof=1) / (of_peer.mean() * np.sqrt(apart.size))
    return f"{text} ± {100.0 * error:.0f}"
