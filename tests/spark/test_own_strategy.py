"""A user's own strategies on Spark, with a restart: nothing is registered anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.strategies import (
    Admit,
    Decision,
    LowestRating,
    Probe,
    Resource,
    Retain,
    Rows,
    Strategy,
    View,
)
from penstock.testing import canonical_rows
from tests.spark.support import counts, in_parts, run_and_stop

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _tables(rows: int) -> dict[str, pa.Table]:
    draw = np.random.default_rng(3)
    return {
        name: pa.table(
            {"t": np.arange(rows), "k": ["x" * size for size in draw.integers(1, 20, rows)]}
        )
        for name in ("r", "s")
    }


def test_own_strategies_survive_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    # Classes of a function, as of a script or a notebook, go to the workers with the join.
    @dataclass(frozen=True)
    class Shortest(Strategy):
        name: ClassVar[str] = "shortest"

        def decide(self, view: View) -> Decision:
            return view.previous or Decision(retain=Retain(LowestRating()))

        def rate(self, view: View, rows: Rows) -> npt.NDArray[np.float64]:
            lengths: npt.NDArray[np.float64] = pc.utf8_length(rows.column("k")).to_numpy()
            return -lengths.astype(np.float64)

    @dataclass(frozen=True)
    class MoreAndMore(Strategy):
        """Admits and probes less from review to review: a restart must know the last decision."""

        name: ClassVar[str] = "more-and-more"
        spends: ClassVar[Resource] = Resource.CPU

        def decide(self, view: View) -> Decision:
            if view.previous is None:
                return Decision()
            newer = np.zeros((2, 2, 4))
            newer[:, :, :2] = 1.0  # the newer half of each window, less at each review
            if view.previous.probe.sub_windows is not None:
                newer = 0.9 * np.asarray(view.previous.probe.sub_windows, np.float64)
            return Decision(
                admit=Admit(0.95 * float(view.previous.admit.chances)),
                probe=Probe(0.95 * float(view.previous.probe.chances), newer),
            )

    join = ps.Join(
        streams={name: ps.Stream(time="t", window=200) for name in ("r", "s")},
        on=ps.Equal("k"),
        goal=ps.MaxSubset(strategy={"memory": Shortest(), "cpu": MoreAndMore()}),
        budget=ps.Budget(rows=40),
    )
    batches = in_parts(_tables(1500), 4)
    stopped = run_and_stop(spark, join, batches, tmp_path / "first", before=2)
    stopped.copy(tmp_path / "copy")
    query = stopped.resume(spark, tmp_path / "copy")
    assert query.exception() is None
    expected = join.replay(batches, shards=2, ended=False)
    assert stopped.rows(spark, tmp_path / "copy") == canonical_rows(expected.result)
    metrics = ps.progress(query)
    assert metrics.streams["r"].not_probed == expected.metrics.streams["r"].not_probed > 100
    # Older parts of windows were never probed, but keys are counted: what was lost is known.
    assert metrics.recall == expected.metrics.recall
    assert metrics.unseen == 0
    assert counts(metrics) == counts(expected.metrics)
    assert metrics.strategy == "shortest + more-and-more"
    assert metrics.streams["r"].not_admitted == expected.metrics.streams["r"].not_admitted > 100
