from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from penstock import cli
from penstock.bench import Figures, Measured, Size, bench_join, run
from penstock.errors import PenstockError, SpecificationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

EXACT = Measured(
    name="Penstock, exact",
    rows_per_batch=200,
    seconds=(1.0, 2.0),
    results_per_left_row=5.0,
    state_bytes=1_000,
)


class Query:
    """Stands in for a query, and for whatever starts it: ends after a look at it."""

    def __init__(self, seconds: list[float], *, joins: bool) -> None:
        self._looks = count()
        self.recentProgress = [
            SimpleNamespace(
                batchId=batch,
                numInputRows=0 if batch == len(seconds) - 1 else 200,
                durationMs={"triggerExecution": 1000 * each},
                observedMetrics={"penstock": None} if joins else {},
                sink=SimpleNamespace(numOutputRows=100 * batch),
                stateOperators=[SimpleNamespace(memoryUsedBytes=70)] * 2 if joins else [],
            )
            for batch, each in enumerate(seconds)
        ]
        self.lastProgress = self.recentProgress[-2]
        self.stopped = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self if name == "writeStream" else lambda *_, **__: self

    @property
    def isActive(self) -> bool:  # noqa: N802  # Spark's name
        return next(self._looks) == 0

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def said() -> list[str]:
    """What is told of how far a query is."""
    return []


@pytest.fixture
def measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> Callable[[Query, int], Measured]:
    """Measure a query that saves this many bytes by Penstock's own count."""
    spark: Any = SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None))

    def measure(query: Any, ours: int) -> Measured:  # noqa: ANN401
        monkeypatch.setattr(run, "progress", lambda _: SimpleNamespace(state_bytes=ours))
        made = run._Query("query", lambda: query)
        return run._measure(spark, made, tmp_path, Size(rows=100, batches=2), said.append)

    return measure


def test_the_first_four_micro_batches_and_those_without_rows_do_not_count(
    measure: Callable[[Query, int], Measured], said: list[str]
) -> None:
    query = Query([9.0, 8.0, 7.0, 6.0, 1.0, 3.0, 5.0], joins=True)
    found = measure(query, 0)
    assert found.seconds == (1.0, 3.0)
    assert found.rows_per_second == 100
    assert found.results_per_left_row == (400 + 500) / 200
    assert found.state_bytes == 140
    assert said == ["micro-batch 6 of 6"]
    assert query.stopped


def test_our_own_count_of_bytes_goes_first_and_the_floor_joins_nothing(
    measure: Callable[[Query, int], Measured],
) -> None:
    assert measure(Query([1.0] * 7, joins=True), 5).state_bytes == 5
    assert measure(Query([1.0] * 7, joins=False), 0).results_per_left_row == 0


def test_further_turns_are_added() -> None:
    both = run._with(EXACT, replace(EXACT, seconds=(3.0, 2.0)))
    assert both == replace(EXACT, seconds=(1.0, 2.0, 3.0, 2.0))


def test_other_results_than_sparks_are_an_error() -> None:
    measured = {"exact": EXACT, "spark": EXACT, "rocksdb": EXACT}
    run._check_same(measured)
    measured["rocksdb"] = replace(EXACT, name="Spark, RocksDB", results_per_left_row=4.9)
    words = r"must be the same; got 5\.0 by Penstock and 4\.9 by Spark, RocksDB; please report"
    with pytest.raises(PenstockError, match=words):
        run._check_same(measured)


@pytest.mark.parametrize("name", ["rows", "keys", "batches", "turns"])
@pytest.mark.parametrize("value", [0, -3])
def test_too_little_to_measure_is_refused(name: str, value: int) -> None:
    with pytest.raises(SpecificationError, match=f"^{name} must be 1 or more; got {value}; raise"):
        Size(**{name: value})


def test_too_few_keys_for_the_cores_are_refused() -> None:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=4))
    words = "^keys must be 16 or more on 4 cores; got 15; raise it$"
    with pytest.raises(SpecificationError, match=words):
        bench_join(spark, Size(keys=15))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rows", "0"], "rows must be 1 or more; got 0"),
        (["--keys", "-1"], "keys must be 1 or more; got -1"),
        (["--batches", "-5"], "batches must be 1 or more; got -5"),
        (["--turns", "0"], "turns must be 1 or more; got 0"),
        (["--json", "."], "--json must be a file that can be written (it is a folder)"),
        (["--json", "file/a.json"], "--json must be a file that can be written ("),
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
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr("penstock.spark.session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "join", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"penstock: {words}")
    assert captured.err.count("\n") == 1


@pytest.fixture
def measured_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command find figures without Spark."""
    found = Figures(dict.fromkeys(("floor", "exact", "long", "fifo"), EXACT))
    monkeypatch.setattr("penstock.spark.session", lambda **_: None)
    monkeypatch.setattr("penstock.bench.bench_join", lambda *_, **__: found)


@pytest.mark.usefixtures("measured_before")
def test_the_command_prints_two_tables_and_writes_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / "figures.json"
    with pytest.raises(SystemExit) as exit_:
        cli.main(["bench", "join", "--no-spark", "--json", str(file)])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    assert "seconds per" in shown
    assert "state bytes, fifo / exact" in shown
    assert "missed" in shown
    assert f"The figures, for programs: {file}" in shown
    assert list(json.loads(file.read_text())) == ["queries", "targets", "penstock"]


@pytest.mark.usefixtures("measured_before")
def test_json_to_standard_output_is_all_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "join", "--json", "-"])
    assert list(json.loads(capsys.readouterr().out)) == ["queries", "targets", "penstock"]


@pytest.mark.spark
@pytest.mark.slow
def test_a_small_run_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # Fewer than there are: the benchmark has to see to it that none is forgotten.
    remembered = "spark.sql.streaming.numRecentProgressUpdates"
    spark.conf.set(remembered, "3")
    try:
        size = Size(rows=500, keys=50, batches=1, turns=1)
        found = bench_join(spark, size, with_spark=False)
        assert spark.conf.get(remembered) == "3"
    finally:
        spark.conf.unset(remembered)
    assert list(found.queries) == ["floor", "exact", "long", "fifo", "best"]
    for query in found.queries.values():
        assert query.rows_per_batch == 1_000
        assert len(query.seconds) == 1
        assert query.rows_per_second > 0
    floor, exact, long, fifo, best = found.queries.values()
    assert floor.results_per_left_row == floor.state_bytes == 0
    assert 4 < exact.results_per_left_row < 6
    assert 4 < long.results_per_left_row < 6
    assert 0 < fifo.results_per_left_row < exact.results_per_left_row
    assert 0 < best.results_per_left_row < exact.results_per_left_row
    # With so few rows, what is counted of keys is most of the state of a join with a budget.
    assert 0 < exact.state_bytes < long.state_bytes
    assert fifo.state_bytes > 0
    assert not list(tmp_path.glob("penstock-bench-*"))
