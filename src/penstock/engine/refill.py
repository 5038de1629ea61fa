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
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.operator import Operator
    from penstock.engine.vectors import VectorScale


@dataclass
class Part:
    """The rows of one stream that come back into memory."""

    arrivals: Array
    arrival_numbers: Integers
    numbers: Integers  # of their row groups, and their places in them
    places: Integers


def refill_stream(
    operator: Operator, s: int, serials: list[int], data: Mapping[str, bytes]
) -> Part:
    """Read the rows of one stream that come back into memory, from its row groups' chunks."""
    plan, side, payload = operator.plan, operator.plan.sides[s], operator.payloads[s]
    record = arrival_type(plan.time.dtype, plan.values.dtype)
    parts = [Part(np.zeros(0, record), *(np.zeros(0, np.int64) for _ in range(3)))]
    for serial in serials:
        saved_table = from_ipc(data[f"rows/{side.name}/{serial}"])
        table = fitted(pa.Table.from_struct_array(saved_table["row"]), side.schema)
        live = np.ones(table.num_rows, np.bool_)
        gaps = data.get(f"live/{side.name}/{serial}")
        if gaps is not None:
            bits = np.frombuffer(gaps, np.uint8)
            live = np.unpackbits(bits, count=table.num_rows).astype(np.bool_)
        window = payload.refill(serial, table, live)
        window.arrival_numbers[:] = saved_table["arrival_number"].to_numpy()
        window.likeliness[:] = saved_table["likeliness"].to_numpy()
        if "rating" in saved_table.column_names:
            window.ratings = saved_table["rating"].to_numpy()
        places = np.flatnonzero(live)
        arrivals = np.zeros(places.size, record)
        key_words, values, _ = read_keys(
            plan, side, table, operator.coder, hashes=operator.monitor is not None
        )
        times, _ = plan.time.read(table.column(side.time))
        number = payload.number_of(serial)
        arrivals["stream"] = s
        arrivals["time"] = times[places]
        arrivals["key_word"] = key_words[places]
        arrivals["value"] = values[places]
        arrivals["ref"] = (number << REF_BITS) | places
        if operator.limits.in_bytes:
            arrivals["cost"] = operator.limits.costs(held_sizes(plan, table, operator.coder))[
                places
            ]
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
    operator: Operator,
    parts: list[Part],
    orders: list[Integers],
    learned: Mapping[str, Array] | None,
) -> None:
    """Put all rows into memory: queues in time order, chains in the order of arrival.

    `orders` has for each stream the time order of its rows.
    """
    if learned is not None:
        operator.store.memory.lives["now"] = learned["parts"]
    queued = operator.store.make_places(
        [part.arrivals["time"][order] for part, order in zip(parts, orders, strict=True)]
    )
    for s, (part, order, places) in enumerate(zip(parts, orders, queued, strict=True)):
        part.arrivals["place"][order] = places
        if learned is not None:
            in_time_order = part.arrivals[order]
            operator.store.retention.refill(in_time_order, of_retention(learned), s)
            part.arrivals[order] = in_time_order
    arrival_numbers = np.concatenate([part.arrival_numbers for part in parts])
    by_number = np.argsort(arrival_numbers, kind="stable")
    operator.store.reserve(arrival_numbers.size, None)
    arrivals = np.concatenate([part.arrivals for part in parts])[by_number]
    refill(operator.store.memory, arrivals, arrival_numbers[by_number])
    # An empty memory gives out its rows in order: the first to arrive is row 0.
    row = np.empty(arrival_numbers.size, np.int32)
    row[by_number] = np.arange(arrival_numbers.size)
    start = 0
    for payload, part in zip(operator.payloads, parts, strict=True):
        own = row[start : start + part.arrival_numbers.size]
        start += part.arrival_numbers.size
        for number, window in payload.sub_windows.items():
            here = part.numbers == number
            window.rows[part.places[here]] = own[here]
    scale = operator.plan.vectors
    if operator.neighbours is not None and scale is not None:
        operator.neighbours.refill([_vectors_of(operator, scale, s) for s in range(len(parts))])


def _vectors_of(operator: Operator, scale: VectorScale, s: int) -> Array:
    """Return the vectors of a stream's rows in memory, in time order."""
    refs = operator.store.memory.rows["ref"][operator.store.in_queue(s)]
    table = operator.payloads[s].gather(refs)
    return read_vectors(scale, operator.plan.sides[s], table, operator.coder)[0]
