"""`Sample()` without a strategy: which one it takes, and what it says of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.testing import age_model, frequency_model

if TYPE_CHECKING:
    from collections.abc import Mapping


def metrics(
    tables: Mapping[str, pa.Table],
    key: str,
    window: float,
    rows: int,
    **said: Any,  # noqa: ANN401
) -> ps.Metrics:
    streams = {
        "s1": ps.Stream(time="time", window=window),
        "s2": ps.Stream(time="time", window=0.0),
    }
    budget = ps.Budget(rows=rows)
    join = ps.Join(streams=streams, on=ps.Equal(key), goal=ps.Sample(**said), budget=budget)
    return join.replay(tables).metrics


def test_clusters_of_unequal_size_are_drawn_by_size() -> None:
    """Inversely correlated keys: a few rows have most of the results."""
    made = frequency_model(
        zipf=1.0, correlation="IC", rate_1=5.0, rate_2=5.0, duration=1_000.0, seed=1
    )
    found = metrics({"s1": made.s1, "s2": made.s2}, "key", 100.0, rows=100)
    assert found.strategy == "cluster"
    assert found.follows == {"eq-cluster": 0, "pps-cluster": 1}
    assert found.choice is not None
    assert "numbers of matches are not known" in found.choice
    assert "pps-cluster: a total has 0." in found.choice
    assert found.choice.endswith(" of the variance that it has with eq-cluster")


def test_clusters_whose_size_no_value_tells_are_drawn_alike() -> None:
    """The age model: every key is new, so that its frequency says nothing."""
    made = age_model(curve="BELL", duration=4_000.0, seed=1)
    found = metrics({"s1": made.s1, "s2": made.s2}, "id", made.window, rows=100)
    assert found.follows == {"eq-cluster": 1, "pps-cluster": 0}


def test_clusters_that_are_large_unexpectedly_are_drawn_alike() -> None:
    """Keys that were never seen before come in bursts and have half of the results.

    By frequencies they are small, so that those in a sample by size would stand for very many.
    """
    draw, rows = np.random.default_rng(1), 3_000
    times = [np.sort(draw.uniform(0, 600, rows)) for _ in range(2)]
    new = [
        np.where(draw.random(rows) < part, t // 25, -1)
        for part, t in zip((0.3, 0.5), times, strict=True)
    ]
    known = [draw.integers(0, 50, rows), np.minimum(draw.zipf(1.5, rows), 49)]
    tables = {}
    for s, lag in enumerate((0, 1)):
        keys = np.where(new[s] >= 0, 1_000 + new[s] - lag, known[s])
        tables[f"s{s + 1}"] = pa.table({"time": times[s], "key": keys})
    found = metrics(tables, "key", 60.0, rows=60)
    assert found.follows == {"eq-cluster": 1, "pps-cluster": 0}


def test_a_few_large_clusters_among_very_many_are_not_missed() -> None:
    """Inversely correlated, Zipf 2: a row in hundreds has nearly all results."""
    made = frequency_model(
        zipf=2.0, correlation="IC", rate_1=5.0, rate_2=5.0, duration=600.0, seed=2
    )
    found = metrics({"s1": made.s1, "s2": made.s2}, "key", 100.0, rows=100)
    assert found.follows == {"eq-cluster": 0, "pps-cluster": 1}


def test_results_are_drawn_one_by_one_where_their_number_is_known_and_clusters_are_alike() -> None:
    made = age_model(curve="BELL", duration=2_000.0, seed=1)
    matched = Counter(made.s2["id"].to_pylist())
    told = made.s1.append_column("n", pa.array([matched[key] for key in made.s1["id"].to_pylist()]))
    tables = {"s1": told, "s2": made.s2}
    found = metrics(tables, "id", made.window, rows=100, of="s1", matches={"s1": "n"})
    assert found.strategy == "uniform"
    assert found.choice is not None
    assert "columns of s1 are alike in a whole cluster" in found.choice
    other = metrics(tables, "id", made.window, rows=100, of="s2")
    assert other.strategy == "cluster"


def test_the_fraction_follows_the_rate() -> None:
    """Five times fewer rows: about five times as many of them fit."""
    fast, slow = np.arange(0, 1_000, 0.2), np.arange(1_000, 3_000, 1.0)
    times = np.concatenate([fast, slow])
    table = pa.table({"time": times, "key": np.arange(times.size) % 20})
    before = table.slice(0, fast.size)
    fractions = []
    for given in (before, table):
        found = metrics({"s1": given, "s2": given}, "key", 100.0, rows=50, strategy="eq-cluster")
        assert found.held_most <= 50
        assert found.fraction is not None
        fractions.append(found.fraction)
    assert 0.05 < fractions[0] < 0.15  # 50 rows of 500
    assert 3.5 < fractions[1] / fractions[0] < 6
