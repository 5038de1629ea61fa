"""RandomDrop: drop boxes before the input buffers, and whole windows behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from penstock.statistics.drop_boxes import best_drop_boxes, common_drop_box
from penstock.statistics.harvest_model import HarvestModel
from penstock.statistics.join_orders import join_orders
from penstock.statistics.throttle import Throttle
from penstock.studies.grub_join.policy import Settings, selectivities

if TYPE_CHECKING:
    from penstock.studies.grub_join.policy import Interval

__all__ = ["RandomDrop"]

Floats = npt.NDArray[np.float64]


class RandomDrop:
    """Rows are dropped by lot, as many of each stream as is best for the work that is allowed.

    As in the paper boxes are set by the rates of the streams. How much is allowed is known (the
    speed of the machine), or it follows from the same feedback as GrubJoin's.

    Parameters
    ----------
    boxes
        ``"best"``: one box for each stream, by the geometric programme. ``"common"``: the same
        share of all streams.
    speed
        Comparisons that the machine makes in a unit of time; None to follow the feedback.
    boost
        gamma of the throttle; of no use if the speed is known.
    """

    def __init__(
        self,
        boxes: Literal["best", "common"] = "best",
        *,
        speed: float | None = None,
        boost: float = 1.2,
    ) -> None:
        self.boxes = boxes
        self.speed = speed
        self.throttle = Throttle(boost=boost)

    @property
    def fraction(self) -> float:
        """z, the throttle fraction now."""
        return self.throttle.fraction

    def begin(self, windows: Floats, length: float) -> Settings:  # noqa: ARG002 -- as all policies
        """Begin without dropping any rows."""
        self.windows = windows
        m = windows.size
        self.faced = self.found = np.zeros((m, m))
        return Settings.whole(join_orders(self.faced), shredded=1.0)

    def adapt(self, interval: Interval) -> Settings:
        """Set the throttle, and the boxes by rates and selectivities."""
        self.faced = self.faced + interval.faced
        self.found = self.found + interval.found
        selectivity = selectivities(self.faced, self.found)
        m = self.windows.size
        model = HarvestModel(
            rates=np.maximum(interval.came, 1) / interval.length,
            windows=self.windows,
            selectivity=selectivity,
            orders=join_orders(selectivity),
            counts=np.ones(m, np.int64),
            scores=np.ones((m, m, 1)),
        )
        if self.speed is None:
            self.throttle.adapt(
                popped=float(interval.popped.sum()), pushed=float(interval.pushed.sum())
            )
        else:
            self.throttle.fraction = min(1.0, self.speed / model.full_cost)
        z = self.fraction
        if self.boxes == "best":
            boxes = best_drop_boxes(model, z)
        else:
            boxes = np.full(m, common_drop_box(model, z))
        return replace(Settings.whole(model.orders, shredded=1.0), boxes=boxes)
