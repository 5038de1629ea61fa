from __future__ import annotations

import json
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock import cli
from penstock.bench.live import (
    Burst,
    BurstFigures,
    Harvest,
    HarvestFigures,
    LiveFigures,
    Phases,
    bench_live,
)
from penstock.bench.live.real_time import monitor
from penstock.bench.live.speed import Speed
from penstock.errors import SessionError
from penstock.spark import session
from tests.bench.test_live_figures import burst, harvest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.bench.live.load import AnyLoad


class Query:
    """Stands in for a query, and for whatever starts it."""

    def __init__(self, offsets: list[tuple[str | None, str]]) -> None:
        self.recentProgress = [
            SimpleNamespace(
                timestamp=f"1970-01-01T00:02:{number:02}.500Z",
                durationMs={"triggerExecution": 250},
                sources=[
                    SimpleNamespace(description="RateStreamV2[...]", startOffset=a, endOffset=b),
                    SimpleNamespace(description="RateStreamV2[...]", startOffset=a, endOffset=b),
                    SimpleNamespace(description="another", startOffset="{}", endOffset="{}"),
                ],
                sink=SimpleNamespace(numOutputRows=100 * number),
            )
            for number, (a, b) in enumerate(offsets)
        ]
        self.lastProgress = self.recentProgress[-1]
        self.isActive = True
        self.stopped = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self if name == "writeStream" else lambda *_, **__: self

    def exception(self) -> None:
        """Nothing went wrong."""

    def stop(self) -> None:
        self.stopped = True


def ticking(start: float) -> Any:  # noqa: ANN401
    times = count(int(start))
    return lambda: float(next(times))


def test_micro_batches_are_read_from_what_spark_reports(tmp_path: Path) -> None:
    log = tmp_path / "sources" / "0" / "0"
    log.parent.mkdir(parents=True)
    log.write_text("v1\n120000")
    # The first has no rows, and the last none of the streams' time.
    query = Query([("null", "0"), ("0", "2"), ("2", "3"), ("3", "5"), ("5", "6")])
    said: list[str] = []
    frame: Any = query
    found = monitor(frame, tmp_path, trigger=1, seconds=4, tell=said.append, clock=ticking(120))
    assert [batch.read for batch in found.batches] == [(2, 2), (3, 3), (4, 4)]
    assert [batch.results for batch in found.batches] == [100, 200, 300]
    assert [batch.began for batch in found.batches] == [1.5, 2.5, 3.5]
    assert found.batches[0].ended == 1.75
    assert found.stopped >= 9
    assert said[0].endswith("of 4, joined until 6")
    assert query.stopped


def test_a_source_that_does_not_begin_is_an_error(tmp_path: Path) -> None:
    frame: Any = Query([("null", "0")])
    clock = ticking(0)
    with pytest.raises(SessionError, match="the source of the streams must begin within 120 s"):
        monitor(frame, tmp_path, trigger=1, seconds=4, tell=len, clock=lambda: 50 * clock())
    assert frame.stopped


@pytest.mark.parametrize("command", ["burst", "harvest"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seconds", "3"], "seconds must be 4 or more; got 3"),
        (["--json", "."], "--json must be a file that can be written (it is a folder)"),
        (["--plot", "live.gif"], "--plot must be a folder, or a file that ends in .png"),
        (["--write", "page.md"], "--write must be a page with a line <!-- queries: begin -->"),
    ],
)
def test_bad_options_are_one_line_before_spark_starts(
    command: str,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", command, *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("figures", [burst(), harvest()], ids=["burst", "harvest"])
def test_the_command_prints_tables_draws_and_writes(
    figures: LiveFigures[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: None)
    monkeypatch.setattr("penstock.bench.live.bench_live", lambda *_, **__: figures)
    ends = [
        f"<!-- {name}: {end} -->" for name in ("queries", "targets") for end in ("begin", "end")
    ]
    (tmp_path / "page.md").write_text("\n".join(ends))
    name = figures.load.name
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", name, "--json", "live.json", "--write", "page.md"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Calibration: a micro-batch of the exact join takes 0.25 s")
    assert figures.targets()[-1].words in shown
    assert f"The picture: penstock-{name}.png" in shown
    assert (tmp_path / f"penstock-{name}.png").stat().st_size > 10_000
    assert "| cpu: backlog at the end" in (tmp_path / "page.md").read_text()
    found = json.loads((tmp_path / "live.json").read_text())
    assert found["picture"] == f"penstock-{name}.png"
    with pytest.raises(SystemExit):
        cli.main(["bench", name, "--json", "-"])
    assert "queries" in json.loads(capsys.readouterr().out)


_REMEMBERED = "spark.sql.streaming.numRecentProgressUpdates"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A session for two runs."""
    running = session(cores=2, memory="1g")
    running.conf.set(_REMEMBERED, "3")
    yield running
    running.stop()


# In `make crash`: it runs in real time, and stops its worker's session.
# The speed is that of a slow machine, so that there are few rows.
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize(
    ("load", "kind", "speed"),
    [
        (Burst(Phases(6, 2, 4, 2)), BurstFigures, Speed(floor=0.5, row=1e-4, work=5e-5)),
        (Harvest(8, warm_up=10), HarvestFigures, Speed(floor=0.5, row=1e-4, work=5e-5 / 36)),
    ],
    ids=["burst", "harvest"],
)
def test_a_short_run_on_spark(
    load: AnyLoad,
    kind: type[LiveFigures[Any, Any]],
    speed: Speed,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("penstock.bench.live.run._PAUSE", 0.1)
    monkeypatch.setattr("penstock.bench.live.real_time._GRACE", 2.0)
    found = bench_live(spark, load, kind, speed=speed)
    assert spark.conf.get(_REMEMBERED) == "3"
    assert list(found.courses) == list(load.queries(found.plan))
    for name, course in found.courses.items():
        # How far each got in so short a time says something about the machine, not about us.
        recall = course.recall[: int(course.joined.max())]
        recall = recall[np.isfinite(recall)]
        assert course.true.sum() > 500
        if name in {"exact", "spark"}:
            assert recall == pytest.approx(np.ones(recall.size))
        else:
            assert (recall <= 1 + 1e-9).all()
    assert not list(tmp_path.glob(f"penstock-{load.name}-*"))
