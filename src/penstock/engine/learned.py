"""What was learned, as bytes: of the streams, of the monitored rows, and of every row in memory."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.kernels.layout import GAUGE
from penstock.engine.kernels.monitoring import monitor_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array
    from penstock.engine.reviewing import Reviewer
    from penstock.engine.store import Store

_LENGTH_BYTES = 8
_MONITORED_FIELDS = (
    "draw",
    "chance",
    "insert_chance",
    "since",
    "matches",
    "counted",
    "likeliness",
    "cover",
    "batch_cover",
)
_REVIEWER = "reviewer."
_RETENTION = "retention."


def write_learned(store: Store, reviewer: Reviewer | None) -> bytes:
    """Write what was learned; rows are in the order of their queues."""
    memory = store.memory
    monitored = memory.monitored[: int(memory.rule["monitored"][0])]
    arrays: dict[str, Array] = {
        "parts": memory.lives["now"],
        "matched": memory.matched,
        "exposed": memory.exposed,
        "monitored.arrival_number": memory.rows["arrival_number"][monitored["row"]],
    }
    for name in _MONITORED_FIELDS:
        arrays[f"monitored.{name}"] = monitored[name]
    for name in GAUGE.names or ():
        arrays[f"gauges.{name}"] = memory.gauges[name]
    rows = [store.in_queue(s) for s in range(memory.streams.size)]
    for s, mine in enumerate(rows):
        arrays[f"matches.{s}"] = memory.rows["matches"][mine]
    kept = store.retention.save(memory, rows)
    arrays |= {f"{_RETENTION}{name}": array for name, array in kept.items()}
    if reviewer is not None:
        arrays |= {f"{_REVIEWER}{name}": array for name, array in reviewer.save().items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    raw = file.getvalue()
    # LZ4, as the rows are: what `savez_compressed` does takes longer than the join itself.
    return len(raw).to_bytes(_LENGTH_BYTES, "little") + pa.compress(raw, "lz4", asbytes=True)


def read_learned(data: bytes) -> dict[str, Array]:
    """Read what `write_learned` has written."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    raw = pa.decompress(data[_LENGTH_BYTES:], length, "lz4", asbytes=True)
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def of_retention(learned: Mapping[str, Array]) -> dict[str, Array]:
    """Return what the retention has saved."""
    return _below(learned, _RETENTION)


def put_back(store: Store, reviewer: Reviewer | None, learned: Mapping[str, Array]) -> None:
    """Set what was learned, once all rows are back in memory."""
    numbers = learned["monitored.arrival_number"]
    store.reserve_monitored(max(numbers.size, int(store.memory.rule["quota"][0])))
    memory = store.memory
    memory.matched[:] = learned["matched"]
    memory.exposed[:] = learned["exposed"]
    for name in GAUGE.names or ():
        memory.gauges[name] = learned[f"gauges.{name}"]
    for name in _MONITORED_FIELDS:
        memory.monitored[name][: numbers.size] = learned[f"monitored.{name}"]
    by_stream = [store.in_queue(s) for s in range(memory.streams.size)]
    for s, rows in enumerate(by_stream):
        memory.rows["matches"][rows] = learned[f"matches.{s}"]
    store.retention.restore(memory, by_stream, of_retention(learned))
    everything = np.concatenate(by_stream)
    order = np.argsort(memory.rows["arrival_number"][everything])
    arrival_numbers = memory.rows["arrival_number"][everything]
    found = everything[order[np.searchsorted(arrival_numbers, numbers, sorter=order)]]
    for at, row in enumerate(found):
        monitor_again(memory, at, int(row))
    if reviewer is not None:
        reviewer.restore(_below(learned, _REVIEWER))


def _below(learned: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in learned.items() if n.startswith(prefix)}
