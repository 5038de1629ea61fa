"""The calibration ends: within so many measurements, and within a time."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.bench.live import Burst, Harvest, Phases, calibration
from penstock.bench.live.calibration import Calibration
from penstock.bench.live.speed import Speed
from penstock.bench.live.stepping import run_batches
from penstock.errors import SessionError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.bench.live.load import AnyLoad
    from penstock.bench.live.speed import Size

LOADS = pytest.mark.parametrize(
    "load", [Burst(Phases.of(10)), Harvest(10)], ids=lambda load: str(load.name)
)
# Of a machine that can join some ten thousand rows per second of the burst, and two thousand
# vectors.
FAST = Speed(floor=0.2, row=1e-5, work=2e-7)
VECTORS = Speed(floor=0.2, row=4e-5, work=1e-8)


class Machine:
    """Takes the times of a speed, in place of Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, speed: Speed, slower: float = 1.0) -> None:
        self.measured: list[Size] = []
        self._factor = 1.0

        def frame(_: object, size: Size, *__: object) -> Size:
            self.measured.append(size)
            return size

        def run(size: Size, _: object, *, most: int, **__: object) -> list[float]:
            self._factor *= slower
            return [self._factor * speed.seconds(size.rate, size.work)] * most

        monkeypatch.setattr(Calibration, "_frame", frame)
        monkeypatch.setattr(calibration, "run_batches", run)


def calibrated(load: AnyLoad, folder: Path, step: float = 1.0) -> tuple[Speed, Any]:
    times = count(0.0, step)
    spark: Any = None
    return Calibration(spark, load, folder, shards=2, clock=lambda: next(times)).speed()


@LOADS
def test_the_speed_is_found_and_the_rate_that_counts_was_measured(
    load: AnyLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = FAST if load.name == "burst" else VECTORS
    machine = Machine(monkeypatch, true)
    speed, samples = calibrated(load, tmp_path)
    assert speed.floor == pytest.approx(true.floor)
    assert speed.row == pytest.approx(true.row)
    assert speed.work == pytest.approx(true.work)
    assert samples[-1].size.rate == load.rate_within(speed)
    # The warm-up, three sizes, and one or two on the way to the one that counts.
    assert len(machine.measured) <= 6


@LOADS
def test_a_machine_that_is_never_as_expected_is_measured_seven_times(
    load: AnyLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, FAST, slower=1.4)
    _, samples = calibrated(load, tmp_path)
    assert len(samples) == 7
    assert len(machine.measured) == 8


@LOADS
def test_nothing_more_is_measured_when_time_is_up(
    load: AnyLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Machine(monkeypatch, FAST)
    _, samples = calibrated(load, tmp_path, step=200.0)
    assert len(samples) == 3


def test_a_machine_that_is_slow_without_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Machine(monkeypatch, Speed(floor=2.5, row=1e-5, work=2e-7))
    words = r"time of a micro-batch without rows must be below 2\.0 s; got 2\.5; run nothing else"
    with pytest.raises(SessionError, match=words):
        calibrated(Harvest(10), tmp_path)


class Stepped:
    """Stands in for a query that has run some micro-batches, and for whatever starts it."""

    def __init__(self, seconds: list[float]) -> None:
        self.recentProgress = [
            SimpleNamespace(durationMs={"triggerExecution": 1_000 * each}) for each in seconds
        ]
        self.lastProgress = self.recentProgress[-1] if seconds else None
        self.isActive = True
        self.stopped = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self if name == "writeStream" else lambda *_, **__: self

    def exception(self) -> None:
        """Nothing went wrong."""

    def stop(self) -> None:
        self.stopped = True


def test_no_micro_batch_is_waited_for_when_time_is_up(tmp_path: Path) -> None:
    frame: Any = Stepped([0.5, 0.4, 0.3])
    times = count(0.0, 10.0)
    found = run_batches(frame, tmp_path, most=9, longest=30.0, tell=len, clock=lambda: next(times))
    assert found == [0.5, 0.4, 0.3]
    assert frame.stopped


@pytest.mark.parametrize("seconds", [[], [0.5, 0.4]])
def test_too_few_micro_batches_are_an_error(tmp_path: Path, seconds: list[float]) -> None:
    frame: Any = Stepped(seconds)
    times = count(0.0, 10.0)
    words = f"micro-batches that end must be 3 or more in .* s; got {len(seconds)}"
    with pytest.raises(SessionError, match=words):
        run_batches(frame, tmp_path, most=9, longest=30.0, tell=len, clock=lambda: next(times))
    assert frame.stopped
