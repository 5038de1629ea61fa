"""What was learnt, as bytes: of the streams, of the watched rows, and of every row in memory."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.kernels.layout import CELL, GAUGE, ODDS, WATCHED
from penstock.engine.kernels.watch import watch_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array
    from penstock.engine.operator import Operator

_LENGTH_BYTES = 8
_MERIT_FIELDS = ("matches", "last", "computed", "epoch")  # the rest follows from the rows
_RESIDENCE_FIELDS = ("decisions", "epoch", "computed_at", "births", "seen", "quality")
_WATCHED_FIELDS = (
    "draw",
    "chance",
    "since",
    "matches",
    "counted",
    "likeliness",
    "cover",
    "batch_cover",
)


def write_learnt(operator: Operator) -> bytes:
    """Write what was learnt; rows are in the order of their queues."""
    memory = operator.store.memory
    watched = memory.watched[: int(memory.rule["watched"][0])]
    arrays: dict[str, Array] = {
        "parts": memory.grids["now"],
        "matched": memory.matched,
        "exposed": memory.exposed,
        "fraction": memory.rule["fraction"],  # may be infinite, which JSON does not know
        "watched.birth": memory.rows["birth"][watched["row"]],
    }
    for name in _WATCHED_FIELDS:
        arrays[f"watched.{name}"] = watched[name]
    for name in GAUGE.names or ():
        arrays[f"gauges.{name}"] = memory.gauges[name]
    for s in range(memory.streams.size):
        rows = operator.store.in_queue(s)
        arrays[f"matches.{s}"] = memory.rows["matches"][rows]
        arrays[f"grades.{s}"] = np.zeros(rows.size, np.int16)
        if memory.links.size:
            grades = memory.links[rows, CELL] // int(memory.grids["ages"][s])
            free = memory.rows["heap"][rows] > WATCHED
            arrays[f"grades.{s}"] = np.where(free, grades, 0).astype(np.int16)
        if memory.odds.size:
            arrays[f"ratios.{s}"] = -memory.rows["priority"][rows]
            for name in ODDS.names or ():
                arrays[f"odds.{name}.{s}"] = memory.odds[name][rows]
    if memory.merits.size:
        arrays |= _merits(operator)
    if operator.learner is not None:
        arrays |= {f"learner.{name}": array for name, array in operator.learner.save().items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    raw = file.getvalue()
    # LZ4, as the rows are: what `savez_compressed` does takes longer than the join itself.
    return len(raw).to_bytes(_LENGTH_BYTES, "little") + pa.compress(raw, "lz4", asbytes=True)


def _merits(operator: Operator) -> dict[str, Array]:
    """Give what rows have given so far, where they leave by residence priority."""
    memory = operator.store.memory
    arrays = {f"residences.{name}": memory.residences[name] for name in _RESIDENCE_FIELDS}
    for s in range(memory.streams.size):
        rows = operator.store.in_queue(s)
        arrays |= {f"merits.{name}.{s}": memory.merits[name][rows] for name in _MERIT_FIELDS}
    return arrays


def read_learnt(data: bytes) -> dict[str, Array]:
    """Read what `write_learnt` has written."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    raw = pa.decompress(data[_LENGTH_BYTES:], length, "lz4", asbytes=True)
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def put_back(operator: Operator, learnt: Mapping[str, Array]) -> None:
    """Have an operator whose rows are back know what was learnt."""
    births = learnt["watched.birth"]
    operator.store.reserve_watched(max(births.size, int(operator.store.memory.rule["quota"][0])))
    memory = operator.store.memory
    memory.rule["fraction"] = learnt["fraction"]
    memory.matched[:] = learnt["matched"]
    memory.exposed[:] = learnt["exposed"]
    for name in GAUGE.names or ():
        memory.gauges[name] = learnt[f"gauges.{name}"]
    for name in _WATCHED_FIELDS:
        memory.watched[name][: births.size] = learnt[f"watched.{name}"]
    everyone = []
    for s in range(memory.streams.size):
        rows = operator.store.in_queue(s)
        memory.rows["matches"][rows] = learnt[f"matches.{s}"]
        if memory.odds.size:
            for name in ODDS.names or ():
                memory.odds[name][rows] = learnt[f"odds.{name}.{s}"]
        everyone.append(rows)
    if memory.merits.size:
        _put_back_merits(operator, learnt)
    rows = np.concatenate(everyone)
    order = np.argsort(memory.rows["birth"][rows])
    found = rows[order[np.searchsorted(memory.rows["birth"][rows], births, sorter=order)]]
    for at, row in enumerate(found):
        watch_again(memory, at, int(row))
    if operator.learner is not None:
        prefix = "learner."
        operator.learner.restore(
            {n.removeprefix(prefix): a for n, a in learnt.items() if n.startswith(prefix)}
        )


def _put_back_merits(operator: Operator, learnt: Mapping[str, Array]) -> None:
    memory = operator.store.memory
    for name in _RESIDENCE_FIELDS:
        memory.residences[name] = learnt[f"residences.{name}"]
    for s in range(memory.streams.size):
        rows = operator.store.in_queue(s)
        for name in _MERIT_FIELDS:
            memory.merits[name][rows] = learnt[f"merits.{name}.{s}"]
