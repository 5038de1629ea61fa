"""What a study is: a grid of points, what is measured at each, and how that is shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from penstock.report.tables import Table

__all__ = ["Study", "as_json"]

Point = TypeVar("Point")
Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Study(Generic[Point, Row]):
    """One figure or table, run again.

    The points are independent, so they can be measured anywhere and in any order: in this process,
    or spread over Spark. All randomness follows from a seed in the point.

    Attributes
    ----------
    id
        Its name on the command line and on the pages.
    title
        What it shows, in a few words.
    reference
        Paper and figure, or that it is our own.
    grid
        The points; frozen dataclasses, which can be pickled.
    quick_grid
        A few of them, or smaller ones, that take seconds. One of each kind, so that to run them
        compiles all that the others need.
    run
        Measures one point. A function of a module, so that it can be pickled.
    table
        Makes a table of the rows of all points, in the grid's order.
    draw
        Draws the same rows, and saves the picture in a file.
    """

    id: str
    title: str
    reference: str
    grid: Sequence[Point]
    quick_grid: Sequence[Point]
    run: Callable[[Point], Row]
    table: Callable[[Sequence[Row]], Table]
    draw: Callable[[Sequence[Row], Path], None]


def as_json(value: object) -> Any:  # noqa: ANN401 -- any JSON type
    """Return dataclasses and arrays as JSON types; null for numbers that are not finite.

    Examples
    --------
    >>> as_json({"recall": np.array([0.5, np.nan]), "rows": (1, 2)})
    {'recall': [0.5, None], 'rows': [1, 2]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(asdict(value))
    if isinstance(value, dict):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
