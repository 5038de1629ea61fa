"""PPS-CLUSTER: rows drawn by the number of their matches, each with all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.goals import Goal, Sample
from penstock.statistics.sampling_fraction import fraction_by_size
from penstock.strategies.sampling import SamplingStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statistics.outlook import Outlook
    from penstock.strategies.base import Floats, Needs
    from penstock.strategies.sampling import Population
    from penstock.strategies.view import Rows


@dataclass(frozen=True)
class PpsCluster(SamplingStrategy):
    """Draw rows with chances by size, the matches to be expected; give all their matches.

    Large clusters, which make up most of a total, are not missed. The sizes follow from the
    keys' frequencies; if they are wrong the estimates are less precise, but still unbiased,
    since results are weighted by the chance that was used.

    References
    ----------
    Strategy 3 of `srivastava04` 4.3.1; the fraction by footnote 2's iterative procedure, where
    chances would exceed 1. Departs from it in that no size is below a fiftieth of the average,
    so that no result can have an extreme weight.

    Examples
    --------
    >>> from penstock.strategies.sampling import Population
    >>> alive = Population(1000.0, np.array([0.5, 5.0]), np.array([0.9, 0.1]), np.zeros(0))
    >>> PpsCluster().fraction(190, [alive])  # 900 rows with a chance of 0.1, 100 of 1
    0.2
    """

    name: ClassVar[str] = "pps-cluster"
    serves: ClassVar[tuple[type[Goal], ...]] = (Sample,)
    needs: ClassVar[Needs] = replace(SamplingStrategy.needs, frequencies=True)
    by_size: ClassVar[bool] = True

    def expected(self, outlook: Outlook, rows: Rows) -> Floats:
        """Return what the keys' frequencies say."""
        return outlook.pace * rows.likeliness

    def fraction(self, rows: float, populations: Sequence[Population], least: float = 0.0) -> float:
        """Return k for which the sum of min(1, k size) over all rows is M."""
        del least
        sizes = np.concatenate([each.sizes for each in populations])
        alive = np.concatenate([each.rows * each.shares for each in populations])
        return fraction_by_size(rows, sizes, alive)
