"""Rows of a saved state come back into memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.added_columns import fitted
from penstock.engine.intake import held_sizes, read_keys, read_vectors
from penstock.engine.ipc import from_ipc
from penstock.engine.kernels.insertion import refill
from penstock.engine.kernels.layout import REF_BITS, arrival_type
from penstock.engine.learned import of_retention

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.limits import Limits
    from penstock.engine.neighbours import Neighbours
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store


@dataclass(frozen=True)
class SavedGroup:
    """The chunks of a row group: its rows, and which of them are left; None if all are."""

    rows: bytes
    gaps: bytes | None


@dataclass
class Part:
    """The rows of one stream that come back into memory."""

    arrivals: Array
    arrival_numbers: Integers
    numbers: Integers  # of their row groups, and their places in them
    places: Integers


def refill_stream(
    plan: Plan,
    s: int,
    payload: Payload,
    coder: KeyCoder,
    limits: Limits,
    groups: Mapping[int, SavedGroup],
    *,
    hashes: bool,
) -> Part:
    """Read the rows of one stream that come back into memory.

    Parameters
    ----------
    plan, s, payload, coder, limits
        The join, the stream's place, where its rows go, and what they are read with.
    groups
        The chunks of its row groups, by their serial numbers.
    hashes
        Whether keys are needed as hashes as well.
    """
    side = plan.sides[s]
    record = arrival_type(plan.time.dtype, plan.values.dtype)
    parts = [Part(np.zeros(0, record), *(np.zeros(0, np.int64) for _ in range(3)))]
    for serial, group in groups.items():
        saved_table = from_ipc(group.rows)
        table = fitted(pa.Table.from_struct_array(saved_table["row"]), side.schema)
        live = np.ones(table.num_rows, np.bool_)
        if group.gaps is not None:
            bits = np.frombuffer(group.gaps, np.uint8)
            live = np.unpackbits(bits, count=table.num_rows).astype(np.bool_)
        window = payload.refill(serial, table, live)
        window.arrival_numbers[:] = saved_table["arrival_number"].to_numpy()
        window.likeliness[:] = saved_table["likeliness"].to_numpy()
        if "rating" in saved_table.column_names:
            window.ratings = saved_table["rating"].to_numpy()
        places = np.flatnonzero(live)
        arrivals = np.zeros(places.size, record)
        key_words, values, _ = read_keys(plan, side, table, coder, hashes=hashes)
        times, _ = plan.time.read(table.column(side.time))
        number = payload.number_of(serial)
        arrivals["stream"] = s
        arrivals["time"] = times[places]
        arrivals["key_word"] = key_words[places]
        arrivals["value"] = values[places]
        arrivals["ref"] = (number << REF_BITS) | places
        if limits.in_bytes:
            arrivals["cost"] = limits.costs(held_sizes(plan, table, coder))[places]
        arrivals["likeliness"] = window.likeliness[places]
        if window.ratings is not None:
            arrivals["rating"] = window.ratings[places]
        numbers = np.full(places.size, number)
        parts.append(Part(arrivals, window.arrival_numbers[places], numbers, places))
    return Part(
        np.concatenate([part.arrivals for part in parts]),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("arrival_numbers", "numbers", "places")
        ),
    )


def refill_rows(
    store: Store,
    payloads: Sequence[Payload],
    parts: list[Part],
    orders: list[Integers],
    learned: Mapping[str, Array] | None,
) -> None:
    """Put all rows into memory: queues in time order, chains in the order of arrival.

    `orders` has for each stream the time order of its rows.
    """
    if learned is not None:
        store.memory.lives["now"] = learned["parts"]
    queued = store.make_places(
        [part.arrivals["time"][order] for part, order in zip(parts, orders, strict=True)]
    )
    for s, (part, order, places) in enumerate(zip(parts, orders, queued, strict=True)):
        part.arrivals["place"][order] = places
        if learned is not None:
            in_time_order = part.arrivals[order]
            store.retention.refill(in_time_order, of_retention(learned), s)
            part.arrivals[order] = in_time_order
    arrival_numbers = np.concatenate([part.arrival_numbers for part in parts])
    by_number = np.argsort(arrival_numbers, kind="stable")
    store.reserve(arrival_numbers.size, None)
    arrivals = np.concatenate([part.arrivals for part in parts])[by_number]
    refill(store.memory, arrivals, arrival_numbers[by_number])
    # An empty memory gives out its rows in order: the first to arrive is row 0.
    row = np.empty(arrival_numbers.size, np.int32)
    row[by_number] = np.arange(arrival_numbers.size)
    start = 0
    for payload, part in zip(payloads, parts, strict=True):
        own = row[start : start + part.arrival_numbers.size]
        start += part.arrival_numbers.size
        for number, window in payload.sub_windows.items():
            here = part.numbers == number
            window.rows[part.places[here]] = own[here]


def refill_vectors(
    neighbours: Neighbours | None,
    plan: Plan,
    store: Store,
    payloads: Sequence[Payload],
    coder: KeyCoder,
) -> None:
    """Put the vectors of all rows into memory, in time order, if there are any."""
    scale = plan.vectors
    if neighbours is None or scale is None:
        return
    vectors = []
    for s, (side, payload) in enumerate(zip(plan.sides, payloads, strict=True)):
        table = payload.gather(store.memory.rows["ref"][store.in_queue(s)])
        vectors.append(read_vectors(scale, side, table, coder)[0])
    neighbours.refill(vectors)
