"""What is in a saved state, and what is damaged."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.inspection import inspect
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sealing import FORMAT
from penstock.engine.state import save
from tests.engine.test_state_errors import NAMES, chunks


def test_rows_and_what_was_learned_are_told() -> None:
    found = inspect(chunks())
    assert found.damaged == ()
    assert (found.shard, found.shards, found.format) == (0, 1, FORMAT)
    assert found.join["on"] == "Equal('k')"
    assert found.strategies == ("Best()",)
    assert {name: stream.rows for name, stream in found.streams.items()} == {"a": 66, "b": 5}
    a, b = found.streams["a"], found.streams["b"]
    assert (a.oldest, a.newest, a.age) == ("34", "99", 65.0)
    assert (b.oldest, b.newest, b.age) == ("80", "84", 19.0)
    assert found.chunks == len(chunks())
    assert found.bytes == sum(map(len, chunks().values()))
    assert any(words.endswith("monitored rows") for words in found.learned)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_damaged_is_named(name: str) -> None:
    damaged = bytearray(chunks()[name])
    damaged[-1] ^= 1
    (words,) = inspect(chunks() | {name: bytes(damaged)}).damaged
    assert words.startswith(f'chunk "{name}" of the saved state must be intact;')


def test_missing_and_foreign_chunks_are_named() -> None:
    rest = {name: chunk for name, chunk in chunks().items() if name != "rows/b/0"}
    found = inspect(rest | {"rows/b/9": chunks()["rows/b/0"]})
    assert [words.partition(" of ")[0] for words in found.damaged] == [
        'chunk "rows/b/0"',
        'chunk "rows/b/9"',
    ]
    assert found.streams["b"].rows == 0


def test_another_format_is_told() -> None:
    older = bytes([FORMAT - 1]) + chunks()["head"][1:]
    found = inspect(chunks() | {"head": older})
    assert found.format == FORMAT - 1
    assert f"must be of format {FORMAT}; got format {FORMAT - 1}" in found.damaged[0]


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_ages_of_timestamps_are_in_seconds(unit: str) -> None:
    streams = {name: ps.Stream(time="t", window="1 hour") for name in ("a", "b")}
    join = ps.Join(streams=streams, on=ps.Equal("k"))
    times = pa.array([0, 30, 90], pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, "UTC"))
    table = pa.table({"t": times, "k": [1, 2, 3]})
    operator = Operator(bind(join, dict.fromkeys(streams, table.schema)))
    operator.process({"a": table})
    found = inspect(save(operator).written)
    assert found.streams["a"].age == 90.0
    assert found.learned == ()
