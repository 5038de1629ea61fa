"""What is in a saved state, looked at without the join that saved it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.ipc import from_ipc
from penstock.engine.learned_arrays import NOTHING_LEARNED, combine, from_bytes
from penstock.engine.sealing import FORMAT, Seal, unseal
from penstock.engine.sizes import table_size
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Mask

_HEAD = "head"


@dataclass(frozen=True)
class StreamState:
    """What a shard holds of one stream.

    Attributes
    ----------
    rows, bytes
        In memory after a restart, and what their columns take.
    oldest, newest
        Their times, as text; None if there are no rows.
    age
        From the oldest row to the greatest time of all streams: seconds, or units of a time that
        is a number; None if there are no rows.
    waiting
        Rows that wait for the slowest stream.
    """

    rows: int = 0
    bytes: int = 0
    oldest: str | None = None
    newest: str | None = None
    age: float | None = None
    waiting: int = 0


@dataclass(frozen=True)
class ShardState:
    """What is in the saved state of one shard.

    Attributes
    ----------
    shard, shards
        Which part of how many it is; -1 if its head cannot be read.
    format
        Of the chunks.
    join
        Each part of the join in words, by name.
    strategies
        That keep its rows; none without a budget.
    streams
        What it holds of each.
    chunks, bytes
        Saved, all of them.
    learned
        What was learned, in words.
    damaged
        What is wrong, in words; empty if nothing is.
    """

    shard: int
    shards: int
    format: int
    join: Mapping[str, str]
    strategies: tuple[str, ...]
    streams: Mapping[str, StreamState]
    chunks: int
    bytes: int
    learned: tuple[str, ...]
    damaged: tuple[str, ...]


def inspect(chunks: Mapping[str, bytes]) -> ShardState:
    """Check every chunk of a shard's saved state, and return what is in it.

    It raises nothing: what is wrong is in `ShardState.damaged`.
    """
    size = sum(len(chunk) for chunk in chunks.values())
    version = chunks[_HEAD][0] if chunks.get(_HEAD) else FORMAT
    damaged: list[str] = []
    try:
        head = json.loads(unseal(chunks.get(_HEAD), _HEAD))
    except StateError as error:
        return ShardState(-1, -1, version, {}, (), {}, len(chunks), size, (), (str(error),))
    data: dict[str, bytes] = {}
    for name, seal in head["chunks"].items():
        try:
            data[name] = unseal(chunks.get(name), name, Seal(*seal))
        except StateError as error:
            damaged.append(str(error))
    damaged += [
        f'chunk "{name}" of the saved state must be one that its head knows; it is from another '
        f"time; restore the whole state, or start without it"
        for name in sorted(chunks.keys() - head["chunks"].keys() - {_HEAD})
    ]
    streams = {}
    for s, (stream, column) in enumerate(head["times"].items()):
        waiting = sum(chunk[3] for chunk in head["alignment"]["spool"]["chunks"][s])
        streams[stream] = _stream_state(head, data, s, stream, column, waiting)
    return ShardState(
        shard=head["shard"],
        shards=head["shards"],
        format=version,
        join=head["join"],
        strategies=tuple(head["kept_by"]["strategies"]),
        streams=streams,
        chunks=len(chunks),
        bytes=size,
        learned=_learned(data, list(streams)),
        damaged=tuple(damaged),
    )


def _stream_state(
    head: Mapping[str, Any],
    data: Mapping[str, bytes],
    s: int,
    stream: str,
    column: str,
    waiting: int,
) -> StreamState:
    """Return what is held of a stream, of the chunks that are intact."""
    rows = size = 0
    least: list[pa.Scalar] = []
    greatest: list[pa.Scalar] = []
    for serial in head["sub_windows"][s]:
        saved = data.get(f"rows/{stream}/{serial}")
        if saved is None:
            continue
        table = pa.Table.from_struct_array(from_ipc(saved)["row"])
        gaps = data.get(f"live/{stream}/{serial}")
        table = table if gaps is None else table.filter(pa.array(_live(gaps, table.num_rows)))
        if table.num_rows:
            bounds = pc.min_max(table.column(column))
            least.append(bounds["min"])
            greatest.append(bounds["max"])
        rows += table.num_rows
        size += table_size(table)
    if not least:
        return StreamState(waiting=waiting)
    oldest = min(least, key=_value)
    clock = max(head["streams"]["clock"])
    units = head["units_per_second"]
    age = (clock - _in_units(oldest, units)) / (units or 1)
    newest = max(greatest, key=_value)
    return StreamState(rows, size, str(oldest), str(newest), float(age), waiting)


def _live(gaps: bytes, rows: int) -> Mask:
    return np.unpackbits(np.frombuffer(gaps, np.uint8), count=rows).astype(np.bool_)


def _value(time: pa.Scalar) -> int | float:
    """Return a time as a number that orders times of its type."""
    if pa.types.is_temporal(time.type):
        return int(time.cast(pa.int32() if pa.types.is_date32(time.type) else pa.int64()).as_py())
    number: int | float = time.as_py()
    return number


def _in_units(time: pa.Scalar, units: int | None) -> int | float:
    """Return a time in the units of the join's times."""
    if units is None:
        return _value(time)
    kind = pa.timestamp("ns" if units == 10**9 else "us")
    naive = time.cast(pa.timestamp(time.type.unit)) if pa.types.is_timestamp(time.type) else time
    return int(naive.cast(kind).cast(pa.int64()).as_py())


def _learned(data: Mapping[str, bytes], streams: list[str]) -> tuple[str, ...]:
    """Return what was learned, in words."""
    if "learned" not in data:
        return ()
    later = [name for name in data if name.startswith("learned/")]
    names = ["learned", *sorted(later, key=lambda name: int(name.rpartition("/")[2]))]
    learned = reduce(combine, [from_bytes(data[name]) for name in names], NOTHING_LEARNED)
    words = []
    monitored = learned.arrays["monitored.draw"].size
    if monitored:
        words.append(f"{monitored:,} monitored rows")
    seen = learned.arrays.get("reviewer.observer.seen")
    elapsed = learned.arrays.get("reviewer.observer.elapsed")
    if seen is not None and elapsed is not None and elapsed[0] > 0:
        rates = seen / elapsed[0]
        each = ", ".join(f"{n} {rate:,.3g}" for n, rate in zip(streams, rates, strict=True))
        words.append(f"rates: {each} rows in a unit of time")
    for s, name in enumerate(streams):
        counted = learned.tables.get(f"reviewer.observer.values.{s}")
        if counted is not None:
            words.append(f"frequencies of {counted['key'].size:,} keys of {name}")
    if float(learned.arrays["exposed"].sum()) > 0 and learned.arrays["exposed"].shape[1] > 1:
        words.append(f"age curves of {learned.arrays['exposed'].shape[1]} parts")
    return tuple(words)
