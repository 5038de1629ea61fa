"""Damaged chunks of saved state: an error that names the chunk, never a wrong row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.errors import StateError
from penstock.spark.definition import Definition
from penstock.spark.packing import Packer
from penstock.spark.processor import JoinProcessor
from tests.spark.damage import JOIN, SCHEMA, flip_byte, make_batches

if TYPE_CHECKING:
    from collections.abc import Iterator


BATCHES = 11  # after so many the state has every kind of chunk


class FakeHandle:
    """Spark's state of one shard: a fake `StatefulProcessorHandle`, and its map and its value."""

    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.head: bytes | None = None

    def getMapState(self, *_: str) -> FakeHandle:  # noqa: N802
        return self

    def getValueState(self, name: str, _: str) -> FakeHandle:  # noqa: N802
        return self if name == "head" else FakeMetrics()

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        return (((name,), (data,)) for name, data in self.chunks.items())

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        return (self.chunks[key[0]],) if key[0] in self.chunks else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.chunks[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        del self.chunks[key[0]]

    def get(self) -> tuple[bytes] | None:
        return None if self.head is None else (self.head,)

    def update(self, value: tuple[bytes]) -> None:
        (self.head,) = value


class FakeMetrics(FakeHandle):
    """The value with the metrics, which is not read here."""

    def update(self, value: tuple[bytes]) -> None:
        pass


def join_batch(handle: FakeHandle, tables: dict[str, pa.Table]) -> None:
    """Join a micro-batch as a worker does that has no operator in its cache."""
    definition = Definition(JOIN, dict.fromkeys(JOIN.names, SCHEMA))
    packed = [
        batch
        for name, table in tables.items()
        for batch in Packer(definition, name, 1)(iter(table.to_batches()))
    ]
    processor = JoinProcessor(definition, 1, "penstock", may_use_files=True)
    processor.init(handle)  # type: ignore[arg-type]
    rows = pa.Table.from_batches(packed).to_pandas()
    for _ in processor.handleInputRows((0,), iter([rows]), None):
        pass


@pytest.fixture
def state() -> FakeHandle:
    """Return a state that has every kind of chunk."""
    handle = FakeHandle()
    batches = make_batches(BATCHES)
    for place in range(BATCHES):
        join_batch(handle, {name: tables[place] for name, tables in batches.items()})
    kinds = {name.split("/")[0] for name in handle.chunks}
    assert kinds == {"rows", "live", "learned", "spool"}
    return handle


def next_batch() -> dict[str, pa.Table]:
    return {name: tables[BATCHES] for name, tables in make_batches(BATCHES + 1).items()}


def test_intact_state_is_used(state: FakeHandle) -> None:
    before = state.head
    join_batch(state, next_batch())
    assert state.head != before


@pytest.mark.parametrize("place", [1, 5, 40, -1])
def test_a_damaged_chunk_is_named(state: FakeHandle, place: int) -> None:
    intact = dict(state.chunks)
    for name, data in intact.items():
        state.chunks = intact | {name: flip_byte(data, min(place, len(data) - 1))}
        with pytest.raises(StateError) as caught:
            join_batch(state, next_batch())
        assert str(caught.value) == (
            f'chunk "{name}" of the saved state must be intact; its checksum is wrong; restore it '
            "from a copy, or start without the saved state"
        )


@pytest.mark.parametrize("place", [1, 5, 40, -1])
def test_a_damaged_head_is_named(state: FakeHandle, place: int) -> None:
    assert state.head is not None
    state.head = flip_byte(state.head, place)
    with pytest.raises(StateError, match='chunk "head" of the saved state must be intact; its'):
        join_batch(state, next_batch())


def test_a_missing_chunk_is_named(state: FakeHandle) -> None:
    intact = dict(state.chunks)
    for name in intact:
        state.chunks = {other: data for other, data in intact.items() if other != name}
        with pytest.raises(StateError, match=f'chunk "{name}" .* must be there; it is missing;'):
            join_batch(state, next_batch())


def test_another_format_is_named(state: FakeHandle) -> None:
    assert state.head is not None
    now = state.head[0]
    state.head = bytes([now + 1]) + state.head[1:]
    with pytest.raises(StateError) as caught:
        join_batch(state, next_batch())
    assert str(caught.value) == (
        f'chunk "head" of the saved state must be of format {now}; got format {now + 1}; run the '
        "version of Penstock that wrote it, or start without it"
    )


def test_a_chunk_of_another_time_is_refused(state: FakeHandle) -> None:
    old, changed = dict(state.chunks), [""]
    for place in range(20):  # row by row, until a chunk is rewritten
        old = dict(state.chunks)
        join_batch(state, {name: table.slice(place, 1) for name, table in next_batch().items()})
        changed = [name for name in old if state.chunks.get(name, old[name]) != old[name]]
        if changed:
            break
    (name, *_) = changed
    state.chunks[name] = old[name]
    with pytest.raises(StateError, match=f'chunk "{name}" .* is from another time; restore the'):
        join_batch(state, next_batch())


def test_a_missing_head_is_not_taken_for_a_new_query(state: FakeHandle) -> None:
    state.head = None
    with pytest.raises(StateError, match=r'chunk "head" .* must be there; it is missing;'):
        join_batch(state, next_batch())


def test_a_head_of_another_time_is_refused() -> None:
    # The second micro-batch adds chunks of rows, and changes none that the first has written.
    state = FakeHandle()
    batches = {name: tables[0].slice(0, 8) for name, tables in make_batches(1).items()}
    join_batch(state, batches)
    old = state.head
    before = {name: data for name, data in state.chunks.items() if name != "learned"}
    join_batch(state, {name: table.slice(6) for name, table in batches.items()})
    assert before.items() < state.chunks.items()
    state.head = old
    with pytest.raises(StateError, match="from another time; restore the whole state"):
        join_batch(state, next_batch())
