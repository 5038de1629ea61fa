"""Schedules of importance that repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save
from penstock.errors import SchemaError, SpecificationError
from penstock.testing import canonical_rows

DAY = [("08:00", "x"), ("18:00", "y")]
STREAMS = {name: ps.Stream(time="t", window=30) for name in ("a", "b")}


def join_of(of: Any, every: Any, strategy: str) -> ps.Join:  # noqa: ANN401
    return ps.Join(
        streams=STREAMS,
        on=ps.Equal("k"),
        goal=ps.MaxImportance(of=of, every=every, strategy=strategy),
        budget=ps.Budget(rows=20),
    )


def batches() -> list[dict[str, pa.Table]]:
    draw = np.random.default_rng(3)

    def table(start: int) -> pa.Table:
        columns = {name: draw.integers(0, 9, 60) for name in ("k", "x", "y")}
        return pa.table({"t": np.sort(draw.integers(start, start + 50, 60)), **columns})

    return [{name: table(50 * i) for name in STREAMS} for i in range(5)]


@pytest.mark.parametrize("strategy", ["greedy", "ijoin", "worth"])
def test_a_schedule_that_repeats_is_the_fixed_one_written_out(strategy: str) -> None:
    repeated = join_of([(8, "x"), (18, "y")], 24, strategy)
    fixed = [(24 * day + at, of) for day in range(12) for at, of in ((8, "x"), (18, "y"))]
    written = join_of([(None, "y"), *fixed], None, strategy)
    schemas = {name: table.schema for name, table in batches()[0].items()}
    once, often = (Operator(bind(join, schemas), ordered=True) for join in (written, repeated))
    chunks: dict[str, bytes] = {}
    for tables in batches():
        expected = once.process(tables)
        assert canonical_rows(often.process(tables)) == canonical_rows(expected)
        assert often.metrics() == once.metrics()
        # A restart goes on in the middle of a period.
        changes = save(often)
        chunks = {n: c for n, c in chunks.items() if n not in changes.removed}
        chunks |= changes.written
        often = restore(bind(repeated, schemas), chunks)


def test_times_of_day_are_those_of_stream_time_in_utc() -> None:
    goal = ps.MaxImportance(of=DAY, every="1 day")
    turns = goal.importance_of("a").turns(pa.timestamp("us", "UTC"), "a")
    times = pa.array(["2026-05-01 07:59:59", "2026-05-01 08:00:00", "2026-05-01 18:00:00"])
    numbers = times.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    assert turns.index(numbers).tolist() == [1, 0, 1]


def test_it_is_written_as_it_was_said() -> None:
    goal = ps.MaxImportance(of={"a": DAY, "b": 1}, every="1 day")
    assert goal == eval(repr(goal), vars(ps))  # noqa: S307
    assert goal.importance_of("b").said == 1


WRONG: list[tuple[Any, Any, str]] = [
    ("x", "1 day", "every of MaxImportance must be given with a schedule; got '1 day'"),
    ([("18:00", "x"), ("08:00", "y")], "1 day", "each time .* must be later than the one before"),
    ([("25 hours", "x")], "1 day", "time .* must be at least 0 and below every='1 day'; got '25"),
    ([("08:00", "x")], 24, "time .* must be of the kind of every; got '08:00'"),
    (DAY, 0, "every of MaxImportance must be longer than 0; got 0|of the kind of every"),
    (DAY, "soon", "every of MaxImportance must be a duration of zero or more; got 'soon'"),
    ([("8 o'clock", "x")], "1 day", "time in the schedule .* must be a duration"),
    ([(None, "x")], "1 day", "must be a time of day, a duration, or a number; got None"),
    (["x", "y"], "1 day", "schedule of MaxImportance must be a list of one or more"),
]


@pytest.mark.parametrize(("of", "every", "words"), WRONG)
def test_what_is_wrong_is_said(of: Any, every: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(SpecificationError, match=words):
        ps.MaxImportance(of=of, every=every)


def test_another_kind_of_time_is_refused() -> None:
    table = pa.table({"t": [1], "k": [1], "x": [1], "y": [1]})
    with pytest.raises(SchemaError, match="must be a plain number, as time columns are numbers"):
        Operator(bind(join_of(DAY, "1 day", "greedy"), dict.fromkeys(STREAMS, table.schema)))
