from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock.bench import queries
from penstock.bench.files import SCHEMA
from penstock.budget import Budget
from penstock.goals import MaxSubset
from penstock.join import Join

if TYPE_CHECKING:
    from collections.abc import Callable


class Recorder:
    """Stands in for Spark's reader and its frames: remembers what it was told."""

    def __init__(self, told: tuple[object, ...] = ()) -> None:
        self.told = told

    def __getattr__(self, name: str) -> Callable[..., Recorder]:
        return lambda *arguments, **options: Recorder(
            (*self.told, (name, *arguments, *options.items()))
        )


@pytest.fixture
def spark() -> Any:  # noqa: ANN401
    return SimpleNamespace(readStream=Recorder())


def test_a_file_of_each_stream_in_a_micro_batch(spark: Any) -> None:  # noqa: ANN401
    frames: Any = queries.sources(spark, Path("files"))
    assert list(frames) == ["left", "right"]
    assert frames["right"].told == (
        ("schema", SCHEMA),
        ("option", "maxFilesPerTrigger", 1),
        ("parquet", "files/right"),
    )


def test_the_floor_goes_to_python_through_a_shuffle_and_back(spark: Any) -> None:  # noqa: ANN401
    frame: Any = queries.floor(spark, Path("files"), 2)
    steps = [step for step in frame.told if step[0] not in {"schema", "option", "parquet"}]
    assert [step[0] for step in steps] == ["mapInArrow", "union", "repartition", "mapInArrow"]
    assert steps[2] == ("repartition", 2, "k")
    batches = iter([pa.record_batch({"k": [1, 2]})])
    assert steps[0][1](batches) is batches


def test_sparks_own_join_has_watermarks_and_our_window(spark: Any) -> None:  # noqa: ANN401
    frame: Any = queries.spark_join(spark, Path("files"), 125)
    *of_left, (_, right, on), where = frame.told
    assert ("withWatermark", "at", "0 seconds") in of_left
    assert ("withWatermark", "at", "0 seconds") in right.told
    assert on == ("on", "k")
    reach = "INTERVAL 1250 MILLISECONDS"
    assert where == ("where", f"right.at BETWEEN left.at - {reach} AND left.at + {reach}")


@pytest.mark.parametrize(("strategy", "rows"), [(None, None), ("fifo", 25)])
def test_our_join_has_the_window_and_the_budget(
    strategy: str | None,
    rows: int | None,
    spark: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[tuple[Join, dict[str, object], int]] = []

    def stream(join: Join, frames: dict[str, object], *, shards: int) -> None:
        joined.append((join, frames, shards))

    monkeypatch.setattr(Join, "stream", stream)
    queries.our_join(spark, Path("files"), 125, 2, strategy=strategy, rows=rows)
    ((join, frames, shards),) = joined
    assert list(frames) == list(join.streams) == ["left", "right"]
    assert {stream.window for stream in join.streams.values()} == {"1250 milliseconds"}
    assert join.goal == MaxSubset(strategy=strategy)
    assert join.budget == (None if rows is None else Budget(rows=rows))
    assert shards == 2
