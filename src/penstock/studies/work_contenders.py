"""The contenders of the studies of CPU, with one name and one look everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.plot_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Pen
from penstock.statistics.work_output import (
    by_partner,
    coin_flip,
    insert_no_probe,
    max_subset,
    probe_no_insert,
)
from penstock.studies.contenders import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.statistics.work_output import Steps, WorkModel

__all__ = ["BY_VALUE", "OFFLINE", "ONLINE", "WORK_CONTENDERS", "WorkContender"]


@dataclass(frozen=True)
class WorkContender(Look):
    """A strategy in the studies of CPU.

    Attributes
    ----------
    steps
        Returns the chances of rows for an amount of work, by formula.
    """

    steps: Callable[[WorkModel, float], Steps]


# In drawing order: the last lies on top.
ONLINE: Mapping[str, WorkContender] = {
    "insert-no-probe": WorkContender("INP", Pen("INP", VERMILION), insert_no_probe),
    "coin-flip": WorkContender("CF", Pen("CF", ORANGE), coin_flip),
    "probe-no-insert": WorkContender("PNI", Pen("PNI", BLUE), probe_no_insert),
    "max-subset": WorkContender(
        "max-subset", Pen("Online Max-Subset", PURPLE, (0, (6, 2))), max_subset
    ),
    "by-partner": WorkContender("by-partner", Pen("by-partner", GREEN), by_partner),
}
"""By the names of the strategies."""

BY_VALUE = ("max-subset", "by-partner")
"""Those that need to know the frequencies of values."""

OFFLINE: Mapping[str, Look] = {
    "inserted-pay": Look(
        "optimum,\nif inserted\nrows pay",
        Pen("optimum, if only\ninserted rows pay", GREY, (0, (4, 3)), width=1.6),
    ),
    "exact": Look("optimum", Pen("optimum, if all rows\npay (Definition 5)", BLACK, width=3.2)),
    "induced": Look(
        "optimum,\ninduced",
        Pen("optimum with all results\nof its rows (Definition 6)", BLACK, "none", dot="o"),
    ),
    "greedy": Look("greedy", Pen("greedy (Fig. 1)", ORANGE, (0, (2, 1)))),
}
"""What can be found by knowing all rows in advance."""

WORK_CONTENDERS: Mapping[str, Look] = {**OFFLINE, **ONLINE}
