"""For how many rows a row stands that took a step by lot: 1 / its chance, or nearly so.

Chances go up and down from review to review, with the account and the throttle. For some dozen
rows a step may have a chance of a hundredth of what is usual, or less. Most often none of these
rows takes the step, and nothing shows that they were there; now and then one does, and by 1 / its
chance would stand for hundreds. Half of all estimates would then be somewhat low with a small
variance, and a few be much too high: no interval holds for both.

So a row whose chance is below a quarter of the mean chance of late, of rows of its stream with keys
of its grade, stands for 1 / (a quarter of the mean). What is missing is made up for by the rows
like it that come next: they stand for a few more. In the mean of all draws, rows stand for as many
as there are. It is assumed that what a row finds does not depend on whether its chance was rare
just then; where no chance is, every row stands for 1 / its chance, and the estimate is unbiased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.step_weights import weigh
from penstock.strategies import GRADES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats, Integers


class StepWeights:
    """What rows stand for that probe, and that are inserted.

    Parameters
    ----------
    streams
        Number of streams.

    Examples
    --------
    Half of the rows are inserted, except for two that have next to no chance:

    >>> weights = StepWeights(2)
    >>> rows = np.zeros(6, [("stream", np.int16), ("blank", np.int16)])
    >>> chances = np.array([[1.0, each] for each in (0.5, 0.5, 0.001, 0.001, 0.5, 0.5)])
    >>> weights.of(rows, None, chances)[:, 1].round(2).tolist()
    [2.0, 2.0, 8.13, 8.26, 2.12, 2.12]
    """

    def __init__(self, streams: int) -> None:
        shape = 2, streams, GRADES
        self._means = np.zeros(shape)
        self._debts = np.zeros(shape)

    def of(self, arrivals: Array, grades: Integers | None, chances: Floats) -> Floats:
        """Return for how many rows each of the next arrivals stands, by step.

        Parameters
        ----------
        arrivals, grades
            The arrivals, and the grades of their keys; None where frequencies are not observed.
        chances
            With which each probes, and is inserted.
        """
        return _weights(arrivals, grades, chances, self._means.copy(), self._debts.copy())

    def take_in(self, arrivals: Array, grades: Integers | None, chances: Floats) -> None:
        """Go on after arrivals that were dealt with."""
        _weights(arrivals, grades, chances, self._means, self._debts)

    def save(self) -> dict[str, Array]:
        """Return what earlier rows have left, for `restore`."""
        return {"means": self._means, "debts": self._debts}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        self._means, self._debts = saved["means"].copy(), saved["debts"].copy()


def _weights(
    arrivals: Array, grades: Integers | None, chances: Floats, means: Floats, debts: Floats
) -> Floats:
    weights = np.empty(chances.shape)
    graded = np.zeros(arrivals.size, np.int64) if grades is None else grades
    weigh(arrivals, graded, np.ascontiguousarray(chances), means, debts, weights)
    return weights
