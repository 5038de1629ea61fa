from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import Plan, bind
from penstock.engine.sealing import FORMAT
from penstock.engine.state import restore, save
from penstock.errors import StateError

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])


def make_plan(schema: pa.Schema = SCHEMA, changed: dict[str, Any] | None = None) -> Plan:
    settings: dict[str, Any] = {
        "streams": {n: ps.Stream(time="t", window=50) for n in ("a", "b")},
        "on": ps.Equal("k"),
        "budget": ps.Budget(rows=1000),
        "seed": 3,
    }
    join = ps.Join(**(settings | (changed or {})))
    return bind(join, dict.fromkeys(join.names, schema))


@cache
def chunks() -> dict[str, bytes]:
    """Return a state that has every kind of chunk."""
    operator = Operator(make_plan())
    table = pa.table({"t": range(100), "k": range(100)})
    operator.process({"a": table})
    operator.process({"b": table.slice(80, 5)})
    written = dict(save(operator).written)
    assert set(written) == set(NAMES)
    restore(make_plan(), written)
    return written


NAMES = ("head", "learned", "rows/a/0", "live/a/0", "rows/b/0")


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_byte_is_found_wherever_it_is(name: str) -> None:
    chunk = chunks()[name]
    places = {*range(5), *range(5, len(chunk), 17), len(chunk) - 1}
    for at in sorted(places):
        damaged = bytearray(chunk)
        damaged[at] ^= 0x10
        with pytest.raises(StateError) as caught:
            restore(make_plan(), chunks() | {name: bytes(damaged)})
        if at == 0:
            assert str(caught.value) == (
                f'chunk "{name}" of the saved state must be of format {FORMAT}; got format '
                f"{FORMAT ^ 0x10}; run the version of Penstock that wrote it, or start without it"
            )
        else:
            assert str(caught.value) == (
                f'chunk "{name}" of the saved state must be intact; its checksum is wrong; '
                "restore it from a copy, or start without the saved state"
            )


@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, -1])
@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_that_was_cut_off_is_found(name: str, length: int) -> None:
    with pytest.raises(StateError, match=f'chunk "{name}" of the saved state must be'):
        restore(make_plan(), chunks() | {name: chunks()[name][:length]})


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_chunk_is_named(name: str) -> None:
    rest = {n: chunk for n, chunk in chunks().items() if n != name}
    with pytest.raises(StateError) as caught:
        restore(make_plan(), rest)
    assert str(caught.value) == (
        f'chunk "{name}" of the saved state must be there; it is missing; restore the whole '
        "state, or start without it"
    )


def test_another_format_is_refused() -> None:
    newer = {name: bytes([FORMAT + 1]) + chunk[1:] for name, chunk in chunks().items()}
    words = f'chunk "head" .* must be of format {FORMAT}; got format {FORMAT + 1}; run'
    with pytest.raises(StateError, match=words):
        restore(make_plan(), newer)


def test_a_chunk_may_be_any_kind_of_bytes() -> None:
    as_views = {name: memoryview(chunk) for name, chunk in chunks().items()}
    assert restore(make_plan(), as_views).store.held == 71  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 4}, "seed must be what the saved state was made with: 3; got 4; give it back,"),
        (
            {"goal": ps.Sample()},
            "goal must be a MaxSubset as in the saved state: MaxSubset(strategy=None); got Sample(",
        ),
        (
            {"on": ps.Equal(a="k", b="t")},
            "on must be what the saved state was made with: Equal('k')",
        ),
        (
            {"streams": {n: ps.Stream(time="t", window=51) for n in ("a", "b")}},
            "streams must be what the saved state was made with: {'a': Stream(time='t', window=50,",
        ),
        (
            {"streams": {n: ps.Stream(time="t", window=50) for n in ("b", "a")}},
            "streams must be what the saved state was made with: {'a':",
        ),
    ],
)
def test_the_state_of_another_join_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(StateError) as caught:
        restore(make_plan(changed=changed), chunks())
    assert str(caught.value).startswith(words)
    assert str(caught.value).endswith("or start without the saved state")


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("t", pa.int64()), ("k", pa.int32())]),
        pa.schema([("k", pa.int64()), ("t", pa.int64())]),
    ],
    ids=["another type", "another order"],
)
def test_the_state_of_other_columns_is_refused(schema: pa.Schema) -> None:
    with pytest.raises(StateError) as caught:
        restore(make_plan(schema), chunks())
    assert str(caught.value) == (
        'columns of stream "a" must be what the saved state was made with:\n'
        f"t: int64\nk: int64\ngot:\n{schema}\n"
        "give them back (columns may be added, but not left out, moved or made of another type), "
        "or start without the saved state"
    )


def test_metadata_of_a_schema_changes_nothing() -> None:
    restored = restore(make_plan(SCHEMA.with_metadata({"source": "kafka"})), chunks())
    assert restored.store.held == 71


@pytest.mark.parametrize(("shard", "shards"), [(0, 2), (1, 2)])
def test_the_state_of_another_number_of_shards_is_refused(shard: int, shards: int) -> None:
    with pytest.raises(StateError) as caught:
        restore(make_plan(), chunks(), shard=shard, shards=shards)
    assert str(caught.value) == (
        "shards must be what the saved state was made with: shard 0 of 1; got shard "
        f"{shard} of {shards}; use 1 shards, or start without the saved state"
    )
