"""What was learned, as arrays: of the streams, of monitored rows, and of every row in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.arrays import below
from penstock.engine.kernels.layout import GAUGE, SHED
from penstock.engine.kernels.monitoring import monitor_again
from penstock.engine.learned_arrays import KEY, LearnedArrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.reviewing import Reviewer
    from penstock.engine.size_meter import SizeMeter
    from penstock.engine.store import Store

_MONITORED_FIELDS = (
    "draw",
    "chance",
    "insert_weight",
    "since",
    "matches",
    "counted",
    "likeliness",
    "cover",
    "batch_cover",
    "part",
    "batch_part",
)
_REVIEWER = "reviewer."
_RETENTION = "retention."
_ROWS = "rows."
_SHED = "shed."
SIZES = "sizes."
# Frequencies: the keys that were counted, ascending, and their counts.
_KEYS, _COUNTS = ".keys", ".counts"


def learned_by(
    store: Store, reviewer: Reviewer | None, size_meter: SizeMeter | None
) -> LearnedArrays:
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
    tables: dict[str, dict[str, Array]] = {
        f"{_ROWS}{s}": {
            KEY: memory.rows["arrival_number"][mine],
            "matches": memory.rows["matches"][mine],
        }
        for s, mine in enumerate(rows)
    }
    if store.meters:
        for s, mine in enumerate(rows):
            for name in SHED.names or ():
                tables[f"{_ROWS}{s}"][f"{_SHED}{name}"] = memory.shed[name][mine]
    for name, array in store.retention.save(memory, rows).items():
        # What is kept for each row of a stream has the stream's number at the end of its name.
        kept, _, stream = name.rpartition(".")
        if stream.isdigit():
            tables[f"{_ROWS}{stream}"][f"{_RETENTION}{kept}"] = array
        else:
            arrays[f"{_RETENTION}{name}"] = array
    if size_meter is not None:
        arrays |= {f"{SIZES}{name}": array for name, array in size_meter.save().items()}
    _add_observed(reviewer, arrays, tables)
    return LearnedArrays.copy_of(arrays, tables)


def _add_observed(
    reviewer: Reviewer | None, arrays: dict[str, Array], tables: dict[str, dict[str, Array]]
) -> None:
    """Add what the reviewer has observed, with frequencies as tables."""
    if reviewer is not None:
        arrays |= {f"{_REVIEWER}{name}": array for name, array in reviewer.save().items()}
        for name in [name for name in arrays if name.endswith(_KEYS)]:
            table = name.removesuffix(_KEYS)
            tables[table] = {KEY: arrays.pop(name), _COUNTS: arrays.pop(table + _COUNTS)}


def in_queue_order(learned: LearnedArrays, numbers: Sequence[Integers]) -> dict[str, Array]:
    """Return all of what was learned by name, given each stream's arrival numbers in time order."""
    arrays = dict(learned.arrays)
    for name, table in learned.tables.items():
        if name.startswith(_ROWS):
            s = int(name.removeprefix(_ROWS))
            places = np.searchsorted(table[KEY], numbers[s])
            arrays |= {f"{column}.{s}": values[places] for column, values in table.items()}
        else:
            arrays |= {name + _KEYS: table[KEY], name + _COUNTS: table[_COUNTS]}
    return arrays


def of_retention(learned: Mapping[str, Array]) -> dict[str, Array]:
    """Return what the retention has saved."""
    return below(learned, _RETENTION)


def put_back(
    store: Store,
    reviewer: Reviewer | None,
    size_meter: SizeMeter | None,
    learned: Mapping[str, Array],
) -> None:
    """Set what was learned, once all rows are back in memory."""
    if store.meters:
        store.reserve_shed()
    memory = store.memory
    memory.matched[:] = learned["matched"]
    memory.exposed[:] = learned["exposed"]
    for name in GAUGE.names or ():
        memory.gauges[name] = learned[f"gauges.{name}"]
    by_stream = [store.in_queue(s) for s in range(memory.streams.size)]
    for s, rows in enumerate(by_stream):
        memory.rows["matches"][rows] = learned[f"matches.{s}"]
        if store.meters:
            for name in SHED.names or ():
                memory.shed[name][rows] = learned[f"{_SHED}{name}.{s}"]
    store.retention.restore(memory, by_stream, of_retention(learned))
    keep_monitored(store, learned)
    if reviewer is not None:
        reviewer.restore(below(learned, _REVIEWER))
    if size_meter is not None:
        size_meter.restore(below(learned, SIZES))


def keep_monitored(store: Store, learned: Mapping[str, Array]) -> None:
    """Monitor the rows again that were monitored, once all rows are back in memory."""
    numbers = learned["monitored.arrival_number"]
    store.reserve_monitored(max(numbers.size, int(store.memory.rule["quota"][0])))
    memory = store.memory
    for name in _MONITORED_FIELDS:
        memory.monitored[name][: numbers.size] = learned[f"monitored.{name}"]
    everything = np.concatenate([store.in_queue(s) for s in range(memory.streams.size)])
    order = np.argsort(memory.rows["arrival_number"][everything])
    arrival_numbers = memory.rows["arrival_number"][everything]
    found = everything[order[np.searchsorted(arrival_numbers, numbers, sorter=order)]]
    for at, row in enumerate(found):
        monitor_again(memory, at, int(row))
