"""Random problems of window harvesting, as in section 6.1 of `gedik05`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from penstock.statistics.harvest_model import HarvestModel

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KINDS", "TITLES", "Kind", "problem"]

Floats = npt.NDArray[np.float64]
Kind = Literal["flat", "uniform", "bells", "skewed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

TITLES: Mapping[str, str] = {
    "flat": "no time correlation",
    "uniform": "scores at random",
    "bells": "a lag for each pair",
    "skewed": "few good parts",
}
"""How the distributions are called above a panel."""


def problem(kind: Kind, seed: int, *, streams: int = 3, count: int = 10) -> HarvestModel:
    """Return a problem with random rates, selectivities and scores.

    Rates are uniform from 100 to 500 as in the paper. It says no more than that selectivities are
    random, and nothing of scores, so there are several distributions.

    Parameters
    ----------
    kind
        ``"flat"``: all sub-windows alike. ``"uniform"``: scores uniform from 0 to 1. ``"bells"``:
        for each direction and window a bell curve at a lag that may lie outside the window.
        ``"skewed"``: cubes of exponential scores, with selectivities over three powers of ten.
    seed
        The same seed and parameters give the same problem.
    streams, count
        m, and n sub-windows of 1 s in each window.

    Examples
    --------
    >>> model = problem("bells", seed=1)
    >>> model.streams, model.counts.tolist()
    (3, [10, 10, 10])
    """
    generator = np.random.default_rng([seed, streams, count, KINDS.index(kind)])
    shape = (streams, streams, count)
    rates = generator.uniform(100.0, 500.0, streams)
    # A partial result has 15 matches in the next window on average, whatever its length.
    selectivity = generator.uniform(0.0, 0.1 / count, shape[:2])
    scores: Floats = np.ones(shape)
    if kind == "uniform":
        scores = generator.random(shape)
    elif kind == "bells":
        lags = generator.uniform(-0.5 * count, 1.5 * count, (streams, streams, 1))
        widths = generator.uniform(0.05 * count, 0.4 * count, (streams, streams, 1))
        scores = np.exp(-(((np.arange(count) + 0.5 - lags) / widths) ** 2) / 2.0)
    elif kind == "skewed":
        scores = generator.exponential(size=shape) ** 3
        selectivity = 10.0 ** generator.uniform(-5.0, -2.0, shape[:2])
    return HarvestModel.of(
        rates=rates,
        windows=np.full(streams, float(count)),
        length=1.0,
        selectivity=selectivity,
        scores=scores,
    )
