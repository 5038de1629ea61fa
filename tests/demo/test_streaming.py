from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.demo import scenario, streaming
from penstock.demo.streaming import on_spark
from penstock.errors import SchemaError, SessionError, SpecificationError

if TYPE_CHECKING:
    from pathlib import Path

WHERE = r"; Spark's log: .*/penstock-demo-.*/spark\.log$"


class Source:
    """Stands in for Spark's reader: gives frames that are none."""

    def format(self, name: str) -> Source:
        assert name == "penstock-market"
        return self

    def option(self, name: str, value: object) -> Source:
        return self

    def options(self, **_: str) -> Source:
        return self

    def load(self) -> None:
        pass


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, with nothing else in it; Spark is a fake that has a log."""

    def start(*, log: Path, **_: object) -> Any:  # noqa: ANN401
        log.write_text("what Spark has to say")
        return SimpleNamespace(readStream=Source())

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(streaming, "session", start)
    return tmp_path


def failing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a join that fails, as Spark lets it fail."""

    def run(*_: object) -> None:
        raise error

    monkeypatch.setattr(streaming, "_run", run)
    with on_spark(auctions=100, seed=0, rows_per_batch=10) as run_join:
        run_join(scenario.join(seed=0), lambda *_: None)


def test_nothing_is_left_behind(temporary: Path) -> None:
    with on_spark(auctions=100, seed=0, rows_per_batch=10):
        (folder,) = temporary.iterdir()
        assert {each.name for each in folder.iterdir()} == {"checkpoints", "spark.log"}
    assert not list(temporary.iterdir())


def test_a_failure_of_sparks_is_one_line_and_leaves_the_log(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "^Spark could not run the demonstration: Job aborted" + WHERE
    with pytest.raises(SessionError, match=words):
        failing(RuntimeError("\nJob aborted\n\tat org.apache.spark\n\tat java.lang"), monkeypatch)
    (folder,) = temporary.iterdir()
    assert [each.name for each in folder.iterdir()] == ["spark.log"]


def test_a_failure_without_words_is_named(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SessionError, match="demonstration: BrokenPipeError" + WHERE):
        failing(BrokenPipeError(), monkeypatch)


def test_a_failure_of_our_own_is_found_in_sparks(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "Job aborted\npenstock.errors.SchemaError: key must be there; got none; add it\n\tat x"
    with pytest.raises(SchemaError, match=r"^key must be there; got none; add it$"):
        failing(RuntimeError(words), monkeypatch)
    assert not list(temporary.iterdir())


def test_other_errors_are_left_as_they_are(temporary: Path) -> None:
    error: Exception
    for error in (SpecificationError("no"), ZeroDivisionError("in the demonstration itself")):
        with (
            pytest.raises(type(error), match=str(error)),
            on_spark(auctions=100, seed=0, rows_per_batch=10),
        ):
            raise error
    assert not list(temporary.iterdir())


def test_spark_that_does_not_start_is_one_line(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(**_: object) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited\nmore")

    monkeypatch.setattr(streaming, "session", start)
    words = r"demonstration: \[JAVA_GATEWAY_EXITED\] Java gateway process exited$"
    with (
        pytest.raises(SessionError, match=words),
        on_spark(auctions=100, seed=0, rows_per_batch=10),
    ):
        pass
    assert not list(temporary.iterdir())
