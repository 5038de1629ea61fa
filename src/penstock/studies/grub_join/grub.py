"""GrubJoin: operator throttling and window harvesting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from penstock.statistics.harvest_frontier import best_harvest
from penstock.statistics.harvest_greedy import greedy
from penstock.statistics.harvest_model import HarvestModel
from penstock.statistics.harvest_orders import best_harvest_in_any_order
from penstock.statistics.join_orders import join_orders
from penstock.statistics.lag_histogram import LagHistogram
from penstock.statistics.lag_scores import all_lag_scores
from penstock.statistics.throttle import Throttle
from penstock.studies.grub_join.policy import Settings, selectivities

if TYPE_CHECKING:
    from penstock.studies.grub_join.policy import Interval

__all__ = ["Grub"]

Floats = npt.NDArray[np.float64]


class Grub:
    """GrubJoin as in the paper's section 5, or with Penstock's choice of harvest fractions.

    Parameters
    ----------
    solver
        ``"greedy"``: Figure 5, best-delta, double-sided. ``"best"``: `best_harvest`. Both with join
        orders by selectivity (5.3). ``"any-order"``: `best_harvest_in_any_order`.
    shredded
        omega, the share of rows that are shredded.
    boost
        gamma of the throttle.
    memory
        What was learned before an adaptation step counts so much after it.
    buckets_per_sub_window
        How fine histograms of lags are.
    effort
        Whether to count what setting the fractions takes: m (m - 1) comparisons for each setting
        that Figure 5 evaluates.
    """

    def __init__(
        self,
        solver: Literal["greedy", "best", "any-order"] = "best",
        *,
        shredded: float = 0.1,
        boost: float = 1.2,
        memory: float = 0.7,
        buckets_per_sub_window: int = 4,
        effort: bool = False,
    ) -> None:
        self.solver = solver
        self.shredded = shredded
        self.memory = memory
        self.buckets_per_sub_window = buckets_per_sub_window
        self.effort = effort
        self.throttle = Throttle(boost=boost)
        self.lags: list[LagHistogram] = []
        self.model: HarvestModel | None = None

    @property
    def fraction(self) -> float:
        """z, the throttle fraction now."""
        return self.throttle.fraction

    def begin(self, windows: Floats, length: float) -> Settings:
        """Begin with whole windows: z = 1."""
        self.windows, self.length = windows, length
        m = windows.size
        self.lags = [
            LagHistogram(
                -float(own),
                float(windows[0]),
                buckets=round(self.buckets_per_sub_window * float(own + windows[0]) / length),
            )
            for own in windows
        ]
        self.faced = self.found = np.zeros((m, m))
        return Settings.whole(join_orders(self.faced), shredded=self.shredded)

    def adapt(self, interval: Interval) -> Settings:
        """Set the throttle, learn from shredded rows, and choose what to probe."""
        z = self.throttle.adapt(
            popped=float(interval.popped.sum()), pushed=float(interval.pushed.sum())
        )
        self.faced = self.memory * self.faced + interval.faced
        self.found = self.memory * self.found + interval.found
        for histogram, counts in zip(self.lags, interval.lags, strict=True):
            histogram.fade(self.memory)
            histogram.counts += counts
        selectivity = selectivities(self.faced, self.found)
        counts = np.array([round(w / self.length) for w in self.windows.tolist()], np.int64)
        self.model = HarvestModel(
            rates=np.maximum(interval.pushed, 1) / interval.length,
            windows=self.windows,
            selectivity=selectivity,
            orders=join_orders(selectivity),
            counts=counts,
            scores=all_lag_scores(self.lags, length=self.length, counts=counts),
        )
        if self.solver == "greedy":
            harvest = greedy(self.model, z, way="double-sided")
        elif self.solver == "any-order":
            harvest = best_harvest_in_any_order(self.model, z)
        else:
            harvest = best_harvest(self.model, z, parts=True)
        effort = 0.0
        if self.effort:
            # Each step of Figure 5 takes one sub-window and evaluates m (m - 1) settings.
            steps = float((harvest.fractions * self.model.table.steps).sum())
            effort = steps * self.model.orders.size**2
        return Settings.harvesting(harvest, shredded=self.shredded, first_part=z, effort=effort)
