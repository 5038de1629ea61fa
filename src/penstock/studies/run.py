"""How the points of a study are measured: one after the other here, or spread over Spark."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from penstock.report.progress import silent_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.report.progress import Step
    from penstock.studies.study import Study

__all__ = ["measure_here", "measure_on_spark"]

Point = TypeVar("Point")
Row = TypeVar("Row")

# How often, in seconds, progress on Spark is reported.
_REPORT_EVERY = 0.5


def measure_here(
    study: Study[Point, Row], *, quick: bool = False, step: Step = silent_step
) -> list[Row]:
    """Measure the points of a study in this process.

    Parameters
    ----------
    study
        The study.
    quick
        Whether to measure only its quick grid.
    step
        Reports progress; see `penstock.report.progress`.

    Returns
    -------
    list
        What was found at each point, in the grid's order.
    """
    grid = study.quick_grid if quick else study.grid
    found = []
    with step(f"Measuring {len(grid)} points ...") as tell:
        for number, point in enumerate(grid):
            tell(_how_far(number, len(grid)))
            found.append(study.run(point))
    return found


def measure_on_spark(
    study: Study[Point, Row],
    start: Callable[[], SparkSession],
    *,
    quick: bool = False,
    step: Step = silent_step,
) -> list[Row]:
    """Measure the points of a study on Spark, each as a task of its own.

    Before that, one point of each kind is measured here. This compiles the kernels, so that
    Spark's workers find them on disk.

    Parameters
    ----------
    study
        The study.
    start
        Returns the session.
    quick, step
        As in `measure_here`.

    Returns
    -------
    list
        What was found at each point, in the grid's order.
    """
    grid = study.quick_grid if quick else study.grid
    with step("Compiling the kernels (first run only) ..."):
        for point in study.quick_grid:
            study.run(point)
    with step("Starting Spark ..."):
        context = start().sparkContext
    done = context.accumulator(0)
    run = study.run

    def measure(numbered: tuple[int, Point]) -> tuple[int, Row]:
        number, point = numbered
        found = run(point)
        done.add(1)
        return number, found

    words = f"Measuring {len(grid)} points on Spark ..."
    with step(words) as tell, _reporting(lambda: tell(_how_far(done.value, len(grid)))):
        # One point to a task: whichever worker is free takes the next.
        tasks = context.parallelize(list(enumerate(grid)), len(grid))
        found = dict(tasks.map(measure).collect())
    return [found[number] for number in range(len(grid))]


@contextmanager
def _reporting(tell: Callable[[], object]) -> Iterator[None]:
    """Report progress regularly, for as long as the body runs."""
    over = threading.Event()

    def go() -> None:
        while not over.wait(_REPORT_EVERY):
            tell()

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _how_far(done: int, points: int) -> str:
    """Return words on how many points are done.

    >>> _how_far(3, 120)
    '3 of 120 done'
    """
    return f"{done} of {points} done"
