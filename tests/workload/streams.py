"""Joins whose needs differ, over the paper's streams."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.testing import age_model, frequency_model

if TYPE_CHECKING:
    from penstock.goals import Goal

WINDOW = 100.0

Made = tuple[ps.Join, dict[str, pa.Table]]
Correlation = Literal["DC", "IC", "UC"]


def join_of(name: str, *, goal: Goal | None = None, windows: tuple[float, float]) -> ps.Join:
    """Return a join of two streams of a name, on the column `id`."""
    return ps.Join(
        streams={
            f"{name}1": ps.Stream(time="time", window=windows[0]),
            f"{name}2": ps.Stream(time="time", window=windows[1]),
        },
        on=ps.Equal("id"),
        goal=ps.MaxSubset() if goal is None else goal,
    )


def by_age(name: str, curve: str, seed: int, *, duration: float, rate: float = 8.0) -> Made:
    """Return a join and its streams, under the age model."""
    made = age_model(
        curve=curve,
        rate_1=rate,
        rate_2=2 * rate,
        window=WINDOW,
        duration=duration,
        results_per_row=2.0,
        seed=seed,
    )
    join = join_of(name, windows=(WINDOW, 0.0), goal=ps.MaxSubset(strategy="age"))
    return join, {f"{name}1": made.s1, f"{name}2": made.s2}


def by_key(
    name: str, correlation: Correlation, seed: int, *, duration: float, rate: float = 4.0
) -> Made:
    """Return a join and its streams, under the frequency model with a Zipf of 2."""
    made = frequency_model(
        zipf=2.0,
        correlation=correlation,
        rate_1=rate,
        rate_2=rate,
        duration=duration,
        seed=seed,
    )
    join = join_of(name, windows=(WINDOW, WINDOW), goal=ps.MaxSubset(strategy="prob"))
    renamed = {
        f"{name}{number}": table.rename_columns(["id", "time", "value"])
        for number, table in ((1, made.s1), (2, made.s2))
    }
    return join, renamed


def followed_by(first: pa.Table, then: pa.Table, at: float) -> pa.Table:
    """Return a stream that goes over into another one at a time."""
    kinds = first.schema
    before = first.filter(pa.array(first["time"].to_numpy() < at))
    after = then.cast(kinds).filter(pa.array(then["time"].to_numpy() >= at))
    return pa.concat_tables([before, after])


def in_time(tables: dict[str, pa.Table], parts: int, duration: float) -> dict[str, list[pa.Table]]:
    """Cut all streams at the same times."""
    edges = np.linspace(0, duration, parts + 1)
    edges[-1] = np.inf
    cut = {}
    for name, table in tables.items():
        times = table["time"].to_numpy()
        cut[name] = [table.filter((times >= low) & (times < high)) for low, high in pairwise(edges)]
    return cut
