"""Points of a figure of importance: a contender in a setting, what it found, means over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from penstock.studies.importance_contenders import CONTENDERS, OPTIMUM
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
]

Setting: TypeAlias = PapersScale | UsersScale

_MOST_SKEWED = 0.5


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
    tuples: int
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
