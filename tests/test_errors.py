from __future__ import annotations

import pickle

import pytest

from penstock.errors import PenstockError, SchemaError, SpecificationError, StateError, must


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(SpecificationError, ValueError), (SchemaError, ValueError), (StateError, RuntimeError)],
)
def test_each_phase_has_the_root_and_a_builtin(
    error: type[PenstockError], builtin: type[Exception]
) -> None:
    assert issubclass(error, PenstockError)
    assert issubclass(error, builtin)


def test_message_has_the_one_form() -> None:
    message = must('window of stream "bids"', "a duration", "soon", 'write "10 minutes"')
    assert message == (
        'window of stream "bids" must be a duration; got \'soon\'; write "10 minutes"'
    )


def test_a_long_value_is_shortened() -> None:
    message = must("name", "short", "x" * 1_000, "shorten it")
    assert message.startswith("name must be short; got 'xxx")
    assert message.endswith("xxx...; shorten it")
    assert len(message) < 250


def test_a_value_that_python_will_not_print_is_named_by_its_type() -> None:
    assert must("rows", "small", 10**5_000, "shrink it") == (
        "rows must be small; got a value of type int; shrink it"
    )


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(SchemaError("no such column")))  # noqa: S301
    assert isinstance(error, SchemaError)
    assert str(error) == "no such column"
