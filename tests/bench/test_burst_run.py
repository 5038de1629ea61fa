from __future__ import annotations

import json
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock import cli
from penstock.bench import Phases, bench_burst
from penstock.bench.burst_calibration import Speed
from penstock.bench.burst_plan import plan_of
from penstock.bench.burst_queries import compile_kernels, our_join, sampled
from penstock.bench.burst_real_time import watch
from penstock.bench.burst_run import _queries
from penstock.budget import Budget
from penstock.errors import SessionError
from penstock.spark import session
from tests.bench.test_burst_figures import SPEED, figures

if TYPE_CHECKING:
    from pathlib import Path


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
    found = watch(frame, tmp_path, trigger=1, seconds=4, tell=said.append, clock=ticking(120))
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
        watch(frame, tmp_path, trigger=1, seconds=4, tell=len, clock=lambda: 50 * clock())
    assert frame.stopped


def test_streams_are_sampled_each_for_itself() -> None:
    told: dict[str, str] = {}
    frames: Any = {
        name: SimpleNamespace(where=lambda words, name=name: told.update({name: words}))
        for name in ("left", "right")
    }
    sampled(frames, 0.25)
    assert told == {"left": "rand(0) < 0.25", "right": "rand(1) < 0.25"}


def test_all_queries_are_there_and_the_slow_ones_come_last() -> None:
    queries = _queries(plan_of(SPEED), 2, with_spark=True)
    assert list(queries) == ["cpu", "sampled", "best", "exact", "spark"]
    assert [name for name, query in queries.items() if query.waits] == ["cpu"]
    assert [name for name, query in queries.items() if not query.is_ours] == ["spark"]
    assert "spark" not in _queries(plan_of(SPEED), 2, with_spark=False)
    assert queries["sampled"].name == "Penstock, 24% of the rows"


@pytest.mark.parametrize("budget", [None, Budget(cpu=0.5)])
def test_kernels_are_compiled_by_use(budget: Budget | None) -> None:
    compile_kernels(our_join(budget))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seconds", "3"], "seconds must be 4 or more; got 3"),
        (["--json", "."], "--json must be a file that can be written (it is a folder)"),
        (["--plot", "burst.gif"], "--plot must be a folder, or a file that ends in .png"),
        (["--write", "page.md"], "--write must be a page with a line <!-- queries: begin -->"),
    ],
)
def test_bad_options_are_one_line_before_spark_starts(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "burst", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}")
    assert captured.err.count("\n") == 1


@pytest.fixture
def measured_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have the command find figures without Spark, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.spark.session", lambda **_: None)
    monkeypatch.setattr("penstock.bench.bench_burst", lambda *_, **__: figures())


@pytest.mark.usefixtures("measured_before")
def test_the_command_prints_tables_draws_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    markers = [f"<!-- {name}: {end} -->" for name in ("queries", "targets") for end in _ENDS]
    (tmp_path / "page.md").write_text("\n".join(markers))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "burst", "--json", "burst.json", "--write", "page.md"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Calibration: a micro-batch of the exact join takes")
    assert "recall in the burst, cpu / sampled" in shown
    assert "The picture: penstock-burst.png" in shown
    assert (tmp_path / "penstock-burst.png").stat().st_size > 10_000
    assert "| cpu: backlog at the end" in (tmp_path / "page.md").read_text()
    found = json.loads((tmp_path / "burst.json").read_text())
    assert found["picture"] == "penstock-burst.png"


_ENDS = ("begin", "end")


@pytest.mark.usefixtures("measured_before")
def test_json_to_standard_output_is_all_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "burst", "--json", "-"])
    assert "queries" in json.loads(capsys.readouterr().out)


# By hand (`pytest -m crash tests/bench`): it runs in real time, and stops its worker's session.
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.crash
def test_a_short_run_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("penstock.bench.burst_run._PAUSE", 0.1)
    monkeypatch.setattr("penstock.bench.burst_real_time._GRACE", 2.0)
    spark = session(cores=2, memory="1g")
    remembered = "spark.sql.streaming.numRecentProgressUpdates"
    spark.conf.set(remembered, "3")
    # Of a slow machine, so that there are few rows.
    speed = Speed(floor=0.5, arrival=1e-4, result=1e-4, shards=2)
    try:
        found = bench_burst(spark, Phases(6, 2, 4, 2), speed=speed)
        assert spark.conf.get(remembered) == "3"
    finally:
        spark.stop()
    assert list(found.courses) == ["cpu", "sampled", "best", "exact", "spark"]
    for name, course in found.courses.items():
        # How far each got in so short a time says something about the machine, not about us.
        reached = int(course.joined.max())
        recall = course.recall[:reached]
        assert course.true.sum() > 10_000
        if name in {"exact", "spark"}:
            assert recall == pytest.approx(np.ones(reached))
        else:
            assert (recall <= 1 + 1e-9).all()
    assert not list(tmp_path.glob("penstock-burst-*"))
