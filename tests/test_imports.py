"""What `import penstock` brings, and what it does not."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import penstock as ps
from penstock import strategies

REPLAY = """
import sys

class NotInstalled:  # Arrow would load pandas wherever it is
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "pyspark"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NotInstalled())
import pyarrow as pa
import penstock as ps

each = ps.Stream(time="t", window=5)
join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("id"), budget=ps.Budget(rows=4))
table = pa.table({"t": [1, 2], "id": ["x", "y"]})
assert join.replay({"a": table, "b": table}, shards=2).metrics.emitted == 2
print(*{name.partition(".")[0] for name in sys.modules})
"""
HEAVY = {"pyspark", "pandas", "matplotlib", "typer", "rich", "sqlglot"}


def test_a_replay_needs_neither_spark_nor_pandas_nor_the_command_line() -> None:
    command = [sys.executable, "-c", REPLAY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- ours
    loaded = set(done.stdout.split())
    assert {"penstock", "pyarrow", "numpy"} <= loaded
    assert not HEAVY & loaded


def test_there_are_about_a_dozen_public_names_in_order() -> None:
    errors = [name for name in ps.__all__ if name.endswith("Error")]
    packages = [name for name in ps.__all__ if isinstance(getattr(ps, name), ModuleType)]
    assert len(ps.__all__) - len(errors) - len(packages) <= 24
    assert list(ps.__all__) == sorted(ps.__all__)


@pytest.mark.parametrize("name", ps.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    documented = getattr(ps, name).__doc__
    assert documented
    # A dataclass without a docstring gets its signature as one.
    assert not documented.startswith(f"{name}(")


DAY = ps.Stream(time="at", window="1 day", lateness="5 minutes", max_ahead="1 hour")
COUNTS = ps.StreamMetrics(arrived=3, null_keys=1, held=2, held_most=2, row_bytes=16.5)
PUBLIC: tuple[Any, ...] = (
    ps.Band(low=-1, high=2.5, asks="price", bids="price"),
    ps.Budget(rows=50),
    ps.Budget(memory="1.5GiB", cpu="50%"),
    ps.Compare("<=", asks="price", bids="price"),
    ps.Rows(10_000),
    ps.Similar(0.5, metric="cosine", dimensions=3, a="v", b="v"),
    ps.Costs(insert=1e-6, result=2e-6),
    ps.Equal("id", "site"),
    ps.Equal(asks=("id", "site"), bids=("ask", "site")),
    ps.Join(
        streams={"asks": DAY, "bids": DAY},
        on=ps.Equal("id"),
        goal=ps.MaxSubset(strategy="fifo"),
        budget=ps.Budget(rows=9),
        seed=3,
    ),
    ps.Histogram("price", breaks=[10, 100], values=[1, 5, 20.5]),
    ps.Lookup("category", {"politics": 90, True: 40, None: 0}, default=10),
    ps.MaxImportance(of="price"),
    ps.MaxImportance(
        of={"asks": [(None, 1), ("2026-01-01 18:00", ps.Lookup("site", {"a": 2}))], "bids": 1},
        result="sum",
        strategy=strategies.Worth(fairness=0.5),
        curve={"asks": [2, 1]},
    ),
    ps.MaxSubset(strategy="random"),
    ps.Query("SELECT * FROM asks [ROWS 5], bids [NOW]", streams={"asks": DAY, "bids": "at"}),
    ps.Metrics(
        streams={"asks": COUNTS},
        strategy="fifo",
        emitted=7,
        budget_rows=10,
        held_most=2,
        bytes_most=300,
        inserted=2,
        compared=5,
    ),
    ps.Sample(),
    DAY,
    COUNTS,
    ps.Within(0.5, asks="price", bids="price"),
    ps.Workload(
        {"near": ps.Join(streams={"asks": DAY, "bids": DAY}, on=ps.Equal("id"))},
        budget=ps.Budget(rows=9),
        weights={"near": 2.0},
        every="1 hour",
    ),
)
ERRORS = (
    ps.PenstockError,
    ps.SchemaError,
    ps.SessionError,
    ps.SpecificationError,
    ps.StateError,
)
# The repr of a Replay shows a table, which Arrow shortens; those of Statistics and of a Prediction
# say in words what their arrays hold.
DO_NOT_READ_BACK = {"Prediction", "Replay", "Statistics", "estimate", "progress"}


def test_no_public_class_is_left_out_below() -> None:
    shown = {type(each).__name__ for each in PUBLIC} | {error.__name__ for error in ERRORS}
    assert shown | DO_NOT_READ_BACK | {"planning", "strategies"} == set(ps.__all__)


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: type(value).__name__)
def test_the_repr_is_python_that_makes_the_same_again(value: object) -> None:
    names = {name: getattr(strategies, name) for name in strategies.__all__}
    names |= {name: getattr(ps, name) for name in ps.__all__}  # `Rows` is in both
    again = eval(repr(value), names)  # noqa: S307 -- our own words
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: type(value).__name__)
def test_values_can_be_pickled_and_copied(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 -- our own bytes
    assert copy.deepcopy(value) == value


@pytest.mark.parametrize("error", ERRORS)
def test_errors_have_one_root_and_can_be_pickled(error: type[ps.PenstockError]) -> None:
    assert issubclass(error, ps.PenstockError)
    again = pickle.loads(pickle.dumps(error("what must be what")))  # noqa: S301 -- our own bytes
    assert type(again) is error
    assert str(again) == "what must be what"
