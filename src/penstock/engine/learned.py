"""What was learned, as arrays: of the streams, of monitored rows, and of every row in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.layout import GAUGE
from penstock.engine.kernels.monitoring import monitor_again
from penstock.engine.learned_arrays import LearnedArrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.reviewing import Reviewer
    from penstock.engine.store import Store

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


def learned_by(store: Store, reviewer: Reviewer | None) -> LearnedArrays:
    """Return a copy of what was learned."""
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
    of_rows: list[dict[str, Array]] = [{"matches": memory.rows["matches"][mine]} for mine in rows]
    for name, array in store.retention.save(memory, rows).items():
        # What is kept for each row of a stream has the stream's number at the end of its name.
        kept, _, stream = name.rpartition(".")
        if stream.isdigit():
            of_rows[int(stream)][f"{_RETENTION}{kept}"] = array
        else:
            arrays[f"{_RETENTION}{name}"] = array
    if reviewer is not None:
        arrays |= {f"{_REVIEWER}{name}": array for name, array in reviewer.save().items()}
    numbers = [memory.rows["arrival_number"][mine] for mine in rows]
    return LearnedArrays.copy_of(arrays, list(zip(numbers, of_rows, strict=True)))


def in_queue_order(learned: LearnedArrays, numbers: Sequence[Integers]) -> dict[str, Array]:
    """Return all of what was learned by name, given each stream's arrival numbers in time order."""
    arrays = dict(learned.arrays)
    for s, mine in enumerate(numbers):
        arrays |= {f"{name}.{s}": values for name, values in learned.of_rows(s, mine).items()}
    return arrays


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
