"""What a live benchmark showed: figures over time, as tables, targets, JSON and a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from penstock.bench.live.load import AnyLoad
from penstock.bench.live.plan import Plan
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.bench.figures import Target
    from penstock.bench.live.course import Course
    from penstock.bench.live.speed import Sample, Speed
    from penstock.report.plot_style import LineStyle

__all__ = ["LiveFigures", "Picture"]

_Joined = TypeVar("_Joined", bound=AnyLoad)
_Chosen = TypeVar("_Chosen", bound=Plan)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """How the figures are drawn.

    Attributes
    ----------
    title, subtitle, x_title
        Their words.
    colours
        Of the queries; the last is on top.
    styles
        Of the lines that are not solid.
    zero
        The second of the streams at which time is 0.
    shade
        Times between which the panels are shaded; None for none.
    """

    title: str
    subtitle: str
    x_title: str
    colours: Mapping[str, str]
    styles: Mapping[str, LineStyle] = field(default_factory=dict)
    zero: int
    shade: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class LiveFigures(ABC, Generic[_Joined, _Chosen]):
    """All figures of a live benchmark.

    Attributes
    ----------
    load
        What was joined.
    speed, samples
        What the calibration found, and what it measured.
    plan
        What was chosen by it.
    courses
        What each query did, by their short names.
    """

    headings: ClassVar[Sequence[str]]

    load: _Joined
    speed: Speed
    samples: tuple[Sample, ...]
    plan: _Chosen
    courses: Mapping[str, Course]

    @abstractmethod
    def sentences(self) -> str:
        """Return what was calibrated, and what was chosen by it."""

    @abstractmethod
    def cells(self, course: Course) -> tuple[str, ...]:
        """Return a query's row of the table."""

    @abstractmethod
    def targets(self) -> list[Target]:
        """Return the figures with bounds."""

    @abstractmethod
    def picture(self) -> Picture:
        """Return how they are drawn."""

    def tables(self) -> dict[str, Table]:
        """Return the figures of all queries, and those with bounds."""
        return {
            "queries": Table(
                self.headings,
                [self.cells(course) for course in self.courses.values()],
                [self.sentences()],
                names=1,
            ),
            "targets": Table(
                ["figure", "is", "wanted", ""],
                [target.cells() for target in self.targets()],
                names=1,
            ),
        }

    def as_json(self) -> dict[str, object]:
        """Return all figures as JSON types."""
        return {
            "load": asdict(self.load),
            "speed": asdict(self.speed),
            "samples": [asdict(sample) for sample in self.samples],
            "plan": asdict(self.plan),
            "queries": {name: course.as_json() for name, course in self.courses.items()},
            "targets": [
                asdict(target)
                | {"ratio": target.ratio if np.isfinite(target.ratio) else None}
                | {"reached": target.reached}
                for target in self.targets()
            ],
        }
