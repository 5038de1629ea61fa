"""The state of an operator as a few named chunks of bytes, and an operator from them.

========================  =====================================================================
chunk                     holds
========================  =====================================================================
``head``                  clocks, counters, and the others' checksums; always rewritten
``rows/STREAM/SERIAL``    a row group: its payload as Arrow IPC; written once, never changed
``live/STREAM/SERIAL``    which of its rows are still in memory, a bit each; only if some left
``learned``               what was learned of the streams, and of the rows; only with a budget
``learned/NUMBER``        what has changed of it since, one after the other
========================  =====================================================================

Each begins with a byte for the version of the format and a checksum. Nothing is pickled.

What is saved follows from the rows. Two attempts at a batch save the same bytes under the same
names, in whatever order its rows came, and whether they began with an operator at hand or with a
restored one. So it does not matter whose changes are stored: later changes fit to either.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.engine.carry_over import carry_over, kept_by
from penstock.engine.description import changes_of
from penstock.engine.ipc import to_ipc
from penstock.engine.learned import in_queue_order, learned_by, put_back
from penstock.engine.learned_arrays import (
    NOTHING_LEARNED,
    combine,
    difference,
    from_bytes,
    to_bytes,
)
from penstock.engine.operator import Operator
from penstock.engine.refill import SavedGroup, refill_rows, refill_stream, refill_vectors
from penstock.engine.sealing import Seal, seal_of, seal_up, unseal
from penstock.engine.struct_column import as_struct
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.arrays import Array
    from penstock.engine.payload import Payload, RowGroup
    from penstock.engine.plan import Plan

_LEARNED = "learned"
# Changes are written one after the other until there are so many, or they take as much room as
# the whole. Then the whole is written again.
_MOST_CHANGES = 32
# The seal of a chunk that has to be written again.
_OUTDATED = Seal(0, 0, -1)

_STREAM_FIELDS = [
    "clock",
    "horizon",
    "held_most",
    "held_at_most",
    "inserted",
    "not_admitted",
    "not_probed",
    "not_inserted",
    "found",
    "whole_compared",
    "unseen",
    "dropped",
    "evicted",
    "expired",
    "ended",
    "lived",
    "lived_squares",
]
_RULE_FIELDS = [
    "held_most",
    "taken_most",
    "arrivals",
    "compared",
    "produced",
    "threshold",
    "quota",
    "notes",
    "batch",
]
_PAIR_FIELDS = ("faced", "found")


@dataclass(frozen=True)
class Changes:
    """What must be written, and what may be deleted, so that a copy of the state is up to date."""

    written: Mapping[str, bytes]
    removed: tuple[str, ...]


def save(operator: Operator) -> Changes:
    """Return the chunks of an operator's state that are new since they were last asked for.

    To be called between two batches. The chunks written so far, less those removed, are always a
    whole state for `restore`.
    """
    current: dict[str, Seal] = {}
    written: dict[str, bytes] = {}

    def keep(name: str, data: Callable[[], bytes], gone: int = 0) -> None:
        seal = operator.saved.get(name)
        if seal is None or seal.gone != gone:
            written[name] = seal_up(data())
            seal = seal_of(written[name], gone)
        current[name] = seal

    for name, payload in zip(operator.plan.spec.names, operator.payloads, strict=True):
        for number, window in payload.sub_windows.items():
            keep(f"rows/{name}/{window.serial}", partial(_write_window, window))
            gone = window.rows.size - payload.count_live(number)
            if gone:
                keep(f"live/{name}/{window.serial}", partial(_write_live, payload, number), gone)
    spool = operator.alignment.spool
    for s, chunks in enumerate(spool.chunks):
        for chunk in chunks:
            keep(spool.name(s, chunk), partial(spool.data, s, chunk))
    if operator.monitor is not None:
        current |= _save_learned(operator, written)
    removed = tuple(name for name in operator.saved if name not in current)
    operator.saved = current
    written["head"] = seal_up(json.dumps(_head(operator), allow_nan=False).encode())
    return Changes(written, removed)


def _save_learned(operator: Operator, written: dict[str, bytes]) -> dict[str, Seal]:
    """Write what was learned since the last time, or all of it; return the chunks that count."""
    before, now = (
        operator.learned,
        learned_by(operator.store, operator.reviewer, operator.size_meter),
    )
    operator.learned = now
    chunks = {n: seal for n, seal in operator.saved.items() if _is_learned(n)}
    if before is not None:
        change = difference(before, now)
        if not change:
            return chunks
        data = seal_up(to_bytes(change))
        size = len(data) + sum(seal.size for name, seal in chunks.items() if name != _LEARNED)
        if len(chunks) <= _MOST_CHANGES and size <= chunks[_LEARNED].size:
            name = f"{_LEARNED}/{len(chunks)}"
            written[name] = data
            return chunks | {name: seal_of(data)}
    written[_LEARNED] = seal_up(to_bytes(now.whole()))
    return {_LEARNED: seal_of(written[_LEARNED])}


def _number_of(name: str) -> int:
    return int(name.rpartition("/")[2])


def _is_learned(name: str) -> bool:
    return name == _LEARNED or name.startswith(f"{_LEARNED}/")


def restore(
    plan: Plan,
    chunks: Mapping[str, bytes],
    *,
    shard: int = 0,
    shards: int = 1,
    aligned: bool = False,
    fetch: Callable[[str], bytes | None] | None = None,
) -> Operator:
    """Make an operator that goes on where the saved one stopped.

    The join may have another budget, strategy or definition of importance than the one that was
    saved, and its streams more columns (`engine.carry_over`).

    Chunks of the spool are left where they are, and asked for by `fetch` when they are needed; if
    it is None they must be among the others.

    Raises
    ------
    StateError
        If a chunk is missing, damaged or of another version, or was saved by a join that differs
        in what cannot change.
    """
    head = json.loads(unseal(chunks.get("head"), "head"))
    changed = _changes(head, plan, shard, shards)
    for name in chunks.keys() - head["chunks"].keys() - {"head"}:
        raise StateError(
            f'chunk "{name}" of the saved state must be one that its head knows; it is from '
            f"another time; restore the whole state, or start without it"
        )
    operator = Operator(plan, shard=shard, shards=shards, aligned=aligned, ordered=True)
    operator.coder.dimensions = head.get("dimensions")
    fetch = chunks.get if fetch is None else fetch
    fetch_spooled(operator, fetch)
    data = {
        name: unseal(chunks.get(name), name, Seal(*seal))
        for name, seal in head["chunks"].items()
        if not is_spooled(name)
    }
    parts = [
        refill_stream(
            plan,
            s,
            operator.payloads[s],
            operator.coder,
            operator.limits,
            _row_groups(data, side.name, head["sub_windows"][s]),
            hashes=operator.monitor is not None,
        )
        for s, side in enumerate(plan.sides)
    ]
    operator.alignment.restore(head["alignment"])
    for payload, serial in zip(operator.payloads, head["next_serials"], strict=True):
        payload.next_serial = serial
    orders = [np.lexsort((part.arrival_numbers, part.arrivals["time"])) for part in parts]
    learned = None
    if _LEARNED in data:
        changes = sorted((n for n in data if n.startswith(f"{_LEARNED}/")), key=_number_of)
        saved = [from_bytes(data[name]) for name in (_LEARNED, *changes)]
        operator.learned = reduce(combine, saved, NOTHING_LEARNED)
        numbers = [part.arrival_numbers[order] for part, order in zip(parts, orders, strict=True)]
        learned = in_queue_order(operator.learned, numbers)
    seals = {name: Seal(*seal) for name, seal in head["chunks"].items()}
    if changed:
        carry_over(operator, head, parts, orders, learned, changed)
        # All is written again, but for rows that wait.
        operator.saved = {n: s if is_spooled(n) else _OUTDATED for n, s in seals.items()}
        operator.learned = None
        return operator
    refill_rows(operator.store, operator.payloads, parts, orders, learned)
    refill_vectors(operator.neighbours, plan, operator.store, operator.payloads, operator.coder)
    _go_on(operator, head, learned)
    operator.saved = seals
    return operator


def _row_groups(
    data: Mapping[str, bytes], stream: str, serials: list[int]
) -> dict[int, SavedGroup]:
    """Return the chunks of a stream's row groups by their serial numbers."""
    return {
        serial: SavedGroup(data[f"rows/{stream}/{serial}"], data.get(f"live/{stream}/{serial}"))
        for serial in serials
    }


def _go_on(
    operator: Operator, head: Mapping[str, Any], learned: Mapping[str, Array] | None
) -> None:
    """Set all that was counted, learned and decided, once rows are back in memory."""
    memory = operator.store.memory
    for names, record, saved in (
        (_STREAM_FIELDS, memory.streams, head["streams"]),
        (_RULE_FIELDS, memory.rule, head["rule"]),
        (_PAIR_FIELDS, memory.pairs, head["pairs"]),
    ):
        for name in names:
            record[name] = saved[name]
    memory.streams["share"] = head["shares"]
    operator.restore_counters(head["counters"])
    memory.order[:] = head["order"]
    operator.limits.measured[:] = head["measured"]
    operator.limits.rows = head["row_limit"]
    operator.reviews.reviewed = head["reviewed"]
    operator.emitted_before = head["emitted_before"]
    if operator.work is not None:
        operator.work.restore(head["work"])
    if learned is not None:
        put_back(operator.store, operator.reviewer, operator.size_meter, learned)
    operator.importance_estimate.restore(
        {name: np.array(each) for name, each in head["importance"].items()}
    )
    if operator.scores is not None:
        operator.scores.resume(memory.streams["clock"].max())
        if operator.reviewer is not None:
            operator.reviewer.rate_by_importance()


def is_spooled(name: str) -> bool:
    """Return whether a chunk is of rows that wait."""
    return name.startswith("spool/")


def fetch_spooled(operator: Operator, fetch: Callable[[str], bytes | None]) -> None:
    """Have the chunks of rows that wait be fetched, by name, from where they were saved."""

    def opened(name: str) -> bytes:
        return unseal(fetch(name), name, operator.saved.get(name))

    operator.alignment.spool.fetch = opened


def _head(operator: Operator) -> dict[str, Any]:
    memory = operator.store.memory
    return {
        **operator.plan.description,
        "kept_by": kept_by(operator),
        "units_per_second": operator.plan.time.units_per_second,
        "shard": operator.shard,
        "shards": operator.shards,
        "streams": {name: memory.streams[name].tolist() for name in _STREAM_FIELDS},
        "rule": {name: memory.rule[name].tolist() for name in _RULE_FIELDS},
        "pairs": {name: memory.pairs[name].tolist() for name in _PAIR_FIELDS},
        "alignment": operator.alignment.save(),
        "counters": [asdict(each) for each in operator.counters],
        "order": memory.order.tolist(),
        "measured": operator.limits.measured.tolist(),
        "row_limit": operator.limits.rows,
        "reviewed": operator.reviews.reviewed,
        "work": None if operator.work is None else operator.work.save(),
        "dimensions": operator.coder.dimensions,
        "emitted_before": operator.emitted_before,
        "importance": {
            name: array.tolist() for name, array in operator.importance_estimate.save().items()
        },
        "shares": memory.streams["share"].tolist(),
        "sub_windows": [
            [window.serial for window in payload.sub_windows.values()]
            for payload in operator.payloads
        ],
        "next_serials": [payload.next_serial for payload in operator.payloads],
        "chunks": operator.saved,
    }


def _changes(head: dict[str, Any], plan: Plan, shard: int, shards: int) -> frozenset[str]:
    """Return what has changed; refuse the state of another join, and say what is different."""
    changed = changes_of(head, plan.description)
    if (head["shard"], head["shards"]) != (shard, shards):
        raise StateError(
            f"shards must be what the saved state was made with: shard {head['shard']} of "
            f"{head['shards']}; got shard {shard} of {shards}; use {head['shards']} shards, or "
            f"start without the saved state"
        )
    return changed


def _write_window(window: RowGroup) -> bytes:
    # A copy, as a slice may have anything behind its nulls and after its last bit.
    table = window.table.take(pa.array(np.arange(window.table.num_rows)))
    struct = as_struct(table, pa.struct(list(table.schema)))
    columns = {
        "row": struct,
        "arrival_number": window.arrival_numbers,
        "likeliness": window.likeliness,
    }
    if window.ratings is not None:
        columns["rating"] = window.ratings
    return to_ipc(pa.table(columns))


def _write_live(payload: Payload, number: int) -> bytes:
    return np.packbits(payload.live(number)).tobytes()
