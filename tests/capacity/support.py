"""Joins of the generated streams, and what the paper's formulas say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import penstock as ps
from penstock.capacity import StreamStatistics
from penstock.statistics.age_curve import AgeCurve
from penstock.testing import AgeModel, FrequencyModel, age_model, frequency_model

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]

WINDOW = 500.0


def age_join(rows: int | None = None, window: float = WINDOW) -> ps.Join:
    """The join of section 6.2.1: only the window of s1 counts."""
    return ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=window),
            "s2": ps.Stream(time="time", window=0.0),
        },
        on=ps.Equal("id"),
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def frequency_join(rows: int | None = None, window_2: float = 0.0) -> ps.Join:
    return ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=WINDOW),
            "s2": ps.Stream(time="time", window=window_2),
        },
        on=ps.Equal("key"),
        budget=None if rows is None else ps.Budget(rows=rows),
    )


def age_streams(curve: str, **settings: float) -> AgeModel:
    settings.setdefault("duration", 20_000.0)
    return age_model(curve=curve, arrivals="mean-rate", seed=3, **settings)  # type: ignore[arg-type]


def frequency_streams(correlation: str, zipf: float) -> FrequencyModel:
    return frequency_model(
        correlation=correlation,  # type: ignore[arg-type]
        zipf=zipf,
        duration=40_000.0,
        rate_1=1.0,
        rate_2=1.0,
        arrivals="mean-rate",
        seed=3,
    )


def tables(model: AgeModel | FrequencyModel) -> dict[str, pa.Table]:
    return {"s1": model.s1, "s2": model.s2}


def equation_3(matches: Floats, share: float) -> float:
    """Recall of AGE with a share of the window's rows, straight from the paper."""
    parts = matches.size
    sums = np.concatenate([[0.0], np.cumsum(matches)])
    gains = sums[1:] / np.arange(1, parts + 1)
    best = int(np.argmax(gains)) + 1
    held = share * parts
    made = held * gains[best - 1] if held <= best else np.interp(held, range(parts + 1), sums)
    return float(made / sums[-1])


def section_3_3(own: Floats, partner: Floats, share: float) -> float:
    """Recall of PROB with a share of the window's rows, a part of the boundary value included."""
    made, room = 0.0, share
    for v in sorted(range(own.size), key=lambda v: -partner[v]):
        kept = min(own[v], room)
        made, room = made + kept * partner[v], room - kept
    return float(made / (own * partner).sum())


def stream(
    matches: list[float],
    *,
    rate: float = 1.0,
    window: float = 100.0,
    row_bytes: float = 0.0,
    own: tuple[float, ...] = (1.0,),
    partner: tuple[float, ...] = (1.0,),
) -> StreamStatistics:
    return StreamStatistics(
        rate=rate,
        window=window,
        curve=AgeCurve(matches),
        own=np.array(own),
        partner=np.array(partner),
        row_bytes=row_bytes,
    )
