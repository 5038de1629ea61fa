"""Neighbours of a block of arriving vectors: proposed by products of blocks, decided one by one.

Vectors lie in the order of the queue, which is that of time, so a part of a window is a block in
memory. A product of matrices compares a block of arrivals with it, in the type of the vectors. That
is quick but rounded, and in another way in blocks of other sizes. So pairs are proposed with a
margin for it, and decided by the definition (`kernels.distances`): the results are the same
whatever the blocks are.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.engine.kernels.distances import Block, collect
from penstock.engine.kernels.layout import IN_PARTS, NEVER, NOT_ADMITTED, NOT_PROBED
from penstock.engine.kernels.probe_similar import make_nearby

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.arrays import Array, DType, Floats, Indices, Integers
    from penstock.engine.intake import Columns
    from penstock.engine.store import Store
    from penstock.engine.vectors import VectorScale

Ages: TypeAlias = list[tuple[float, float]]

# Arrivals of a block: few where windows are small, as those of a block are compared with the whole
# of it. Many make the most of the processor's cache.
_FEWEST, _MOST = 64, 1024
_ROWS_PER_ARRIVAL = 8
# Size of a product: it stays in the processor's second cache until it has been looked at.
_ROWS, _COLUMNS = 256, 512
# Neighbours of a block, unless one arrival has more.
_MOST_NEIGHBOURS = 1 << 22
# Lengths of which float32 has the square, and the other way round, with all its digits.
_RANGE = 1e-15, 1e15
# The longest of which float64 has the square.
_LONGEST = 1e140
# If rounding in float32 could be more than this part of the limit, float64 is quicker.
_ROUGH = 0.25


class Neighbours:
    """The vectors of one shard's rows, and the neighbours of rows that are about to arrive.

    Parameters
    ----------
    scale
        How vectors are compared.
    store
        The memory of the join.

    Attributes
    ----------
    nearby
        What the compiled loop works on.
    """

    def __init__(self, scale: VectorScale, store: Store) -> None:
        self._scale = scale
        self._store = store
        streams = store.memory.streams
        time = streams["clock"].dtype
        self.nearby = make_nearby(streams.size, time, scale.dtype)
        self.nearby.known.settings[:] = scale.by_angle, scale.limit
        store.effort = self.nearby.effort
        self._times: Array = np.zeros(0, time)  # by place, never falling in a stream
        self._arrived: Integers = np.zeros(streams.size, np.int64)  # first place not arrived yet
        self._known = (0, 0)  # arrivals whose neighbours are known
        self._steps: tuple[bytes, ...] = ()  # their hops, what they probe, and what they leave out
        self._found = np.zeros((1024, 2), np.int64)
        self._products: dict[DType, Array] = {}  # room for one of each type

    def before(self) -> tuple[Indices, Integers]:
        """Return the rows in memory and their places, which are about to move."""
        places = np.flatnonzero(self._store.memory.queue >= 0)
        return self._store.memory.queue[places], places

    def follow(
        self,
        before: tuple[Indices, Integers],
        places: Sequence[Indices],
        sides: Sequence[Columns],
    ) -> None:
        """Move vectors to the places that rows have now, and take in those of a batch."""
        memory = self._store.memory
        rows, were = before
        now = memory.streams["base"][memory.rows["stream"][rows]] + memory.rows["place"][rows]
        dimensions = max([self.nearby.known.vectors.shape[1], *(_width(side) for side in sides)])
        self._move(were, now, memory.queue.size, dimensions)
        times = np.full(memory.queue.size, NEVER, self._times.dtype)
        times[now] = memory.rows["time"][rows]
        for s, side in enumerate(sides):
            base = int(memory.streams["base"][s])
            coming = base + places[s].astype(np.int64)
            times[coming] = side.times
            end = base + int(memory.streams["tail"][s])
            np.maximum.accumulate(times[base:end], out=times[base:end])
            held = now[memory.rows["stream"][rows] == s]
            self._arrived[s] = held.max() + 1 if held.size else base
            if side.vectors is not None and side.vectors.shape[1]:
                self.nearby.known.vectors[coming] = side.vectors
                # Rows that cannot match have a length too: 0 would be too short for float32.
                lengths = self._scale.lengths(side.vectors)
                self.nearby.known.lengths[coming] = np.where(side.has_key, lengths, 1.0)
        self._times = times
        self._known = (0, 0)
        self._store.vector_bytes = self._scale.row_bytes(dimensions)

    def refill(self, vectors: Sequence[Array]) -> None:
        """Take in the vectors of rows that came back into memory: of each stream in its order."""
        memory = self._store.memory
        nothing = np.zeros(0, np.int64)
        self._move(nothing, nothing, memory.queue.size, max(each.shape[1] for each in vectors))
        for s, each in enumerate(vectors):
            rows = self._store.in_queue(s)
            places = memory.streams["base"][s] + memory.rows["place"][rows]
            self.nearby.known.vectors[places] = each
            self.nearby.known.lengths[places] = self._scale.lengths(each)
        self._store.vector_bytes = self._scale.row_bytes(self.nearby.known.vectors.shape[1])

    def _move(self, were: Integers, now: Integers, size: int, dimensions: int) -> None:
        old = self.nearby.known
        if old.vectors.shape == (size, dimensions):
            if not np.array_equal(were, now):
                old.vectors[now] = old.vectors[were]
                old.lengths[now] = old.lengths[were]
            return
        vectors = np.zeros((size, dimensions), self._scale.dtype)
        lengths = np.ones(size)
        vectors[now, : old.vectors.shape[1]] = old.vectors[were]
        lengths[now] = old.lengths[were]
        known = old._replace(vectors=vectors, lengths=lengths)
        self.nearby = self.nearby._replace(known=known)

    def prepare(self, arrivals: Array, at: int, stop: int) -> int:
        """Find the neighbours of some arrivals from `at` on; return where those end.

        Before `stop`, and never at `at` itself.
        """
        first, last = self._known
        if first <= at < last <= stop and self._steps == self._steps_of(arrivals[first:last]):
            return last
        held = int(self._store.memory.streams["held"].max())
        block = min(max(held // _ROWS_PER_ARRIVAL, _FEWEST), _MOST)
        stop = min(stop, at + block)
        while not self._find(arrivals, at, stop):
            stop = at + max(1, (stop - at) // 2)
        self._known = (at, stop)
        self._steps = self._steps_of(arrivals[at:stop])
        return stop

    def _steps_of(self, block: Array) -> tuple[bytes, ...]:
        memory = self._store.memory
        probed = memory.rule["sub_windows"].tobytes() + memory.probed.tobytes()
        return memory.order.tobytes(), probed, block["actions"].tobytes()

    def _find(self, arrivals: Array, at: int, stop: int) -> bool:
        """Find the neighbours of arrivals[at:stop]; return False if there are too many."""
        memory = self._store.memory
        block = arrivals[at:stop]
        streams = block["stream"].astype(np.int64)
        places = memory.streams["base"][streams] + block["place"]
        probes = (block["blank"] == 0) & (block["actions"] & (NOT_ADMITTED | NOT_PROBED) == 0)
        for s in range(memory.streams.size):
            own = places[(streams == s) & (block["blank"] == 0)]
            if own.size:
                self._arrived[s] = max(self._arrived[s], own.max() + 1)
        bounds = np.zeros((block.size, memory.streams.size - 1, 2), np.int64)
        neighbours: list[Integers] = []
        total = 0
        in_parts = block["actions"] & IN_PARTS != 0
        for s, parts in product(range(memory.streams.size), (True, False)):
            own = np.flatnonzero(probes & (streams == s) & (in_parts == parts))
            for depth, other in enumerate(memory.order[s]):
                if not own.size:
                    break
                ages = self._ages(s, int(other)) if parts else [(0.0, 1.0)]
                pairs = self._pairs(places[own], s, int(other), ages, alone=stop - at == 1)
                if pairs is None or (total + len(pairs) > _MOST_NEIGHBOURS and stop - at > 1):
                    return False
                counts = np.bincount(pairs[:, 0], minlength=own.size)
                ends = total + np.cumsum(counts)
                bounds[own, depth] = np.stack([ends - counts, ends], axis=1)
                neighbours.append(pairs[np.argsort(pairs[:, 0], kind="stable"), 1])
                total += len(pairs)
                own = own[counts > 0]
        self.nearby = self.nearby._replace(
            bounds=bounds, neighbours=np.concatenate([np.zeros(0, np.int64), *neighbours])
        )
        self.nearby.first[0] = block["key_word"][0]
        return True

    def _pairs(
        self, places: Integers, s: int, other: int, ages: Ages, *, alone: bool
    ) -> Integers | None:
        """Return (number of a row, place of a neighbour) for rows of a stream in another's window.

        Of the ages that are probed. None if there are too many, unless there is one row alone.
        """
        count = 0
        for start, stop in self._parts(places, s, other, ages):
            block, least, reduction = self._terms(places, slice(start, stop))
            for top, first in product(range(0, places.size, _ROWS), range(start, stop, _COLUMNS)):
                rows, part = slice(top, top + _ROWS), slice(first, min(first + _COLUMNS, stop))
                proposed = Block(
                    self._product(block[rows], self.nearby.known.vectors[part]),
                    least[rows],
                    reduction[first - start : part.stop - start],
                    places[rows],
                )
                while (noted := self._collect(proposed, (top, first), count)) < 0:
                    if len(self._found) >= _MOST_NEIGHBOURS and not alone:
                        return None
                    self._found = np.concatenate([self._found, np.zeros_like(self._found)])
                count = noted
        return self._found[:count].copy()

    def _collect(self, proposed: Block, corner: tuple[int, int], count: int) -> int:
        queue = self._store.memory.queue
        return collect(self.nearby.known, proposed, queue, corner, self._found, count)

    def _product(self, block: Array, window: Array) -> Array:
        """Multiply two matrices of vectors, in the type of the first."""
        shape = len(block), len(window)
        into = self._products.setdefault(block.dtype, np.empty(_ROWS * _COLUMNS, block.dtype))
        into = into[: shape[0] * shape[1]].reshape(shape)
        with np.errstate(all="ignore"):  # what is not finite is decided by the definition
            np.matmul(block, window.T.astype(block.dtype, copy=False), out=into)
        return into

    def _parts(self, places: Integers, s: int, other: int, ages: Ages) -> list[tuple[int, int]]:
        """Return the parts of another stream's window that rows may have partners in, and no more.

        Those of a block that come after a row are in it, and are left out when it probes.
        """
        memory = self._store.memory
        own = self._times[places]
        window = memory.streams["window"][other]
        begin = int(memory.streams["base"][other]) + int(memory.streams["head"][other])
        times = self._times[begin : int(self._arrived[other])]
        slack, margin = memory.span[1:]
        # Whole times stay whole numbers: a float may be too rough for them. Their ages are rounded
        # down here. Those of floats are not, and their differences have a margin below.
        unit = times.dtype.type
        rounded = unit(0 if times.dtype.kind == "f" else 1)
        parts: list[tuple[int, int]] = []
        for youngest, oldest in ages:
            least = own.min() - (window if oldest >= 1.0 else unit(oldest * window) + rounded)
            # The newest part has rows that are newer than the arriving one, too.
            most = own.max() + memory.streams["window"][s]
            if youngest:
                most = own.max() - unit(youngest * window) + rounded
            least, most = least - slack * abs(least) - margin, most + slack * abs(most) + margin
            first = begin + int(np.searchsorted(times, least))
            last = begin + int(np.searchsorted(times, most, side="right"))
            if parts and first <= parts[-1][1]:
                first = parts.pop()[0]
            if first < last:
                parts.append((first, last))
        return parts

    def _ages(self, s: int, other: int) -> Ages:
        """Return the ages that are probed, in windows: oldest first, and apart from each other."""
        shares = self._store.memory.probed[s, other]
        ages: Ages = []
        for part in np.flatnonzero(shares)[::-1]:
            youngest, oldest = part / shares.size, (part + shares[part]) / shares.size
            if ages and oldest >= ages[-1][0]:
                oldest = ages.pop()[1]
            ages.append((float(youngest), float(oldest)))
        return ages

    def _terms(self, places: Integers, part: slice) -> tuple[Array, Array, Array]:
        """Return the vectors of rows, and what products with others must be for a pair to be near.

        |x - y|**2 <= limit if x y >= (|x|**2 - limit) / 2 + |y|**2 / 2, and by angles
        1 - x y / |x| |y| <= limit if x y / |x| >= (1 - limit) |y|. A product of n numbers is wrong
        by n units in the last place of |x| |y| at most, the definition by as many of its own, and
        other terms by a few.
        """
        vectors, lengths, limit = (
            self.nearby.known.vectors,
            self.nearby.known.lengths,
            self._scale.limit,
        )
        own, others = lengths[places], lengths[part]
        block = vectors[places]
        dtype = self._type_for(own, others)
        with np.errstate(over="ignore"):  # where a bound is infinite any pair may be near
            if self._scale.by_angle:
                digits = float(np.finfo(dtype).eps) + 4 * float(np.finfo(np.float64).eps)
                rounding = (vectors.shape[1] + 16) * digits
                block = block / own[:, None]
                least, reduction = np.zeros(own.size), (1.0 - limit - rounding) * others
            elif max(own.max(), others.max()) > _LONGEST:
                least, reduction = np.full(own.size, -np.inf), np.zeros(others.size)
            else:
                least = (own**2 - limit - self._margin(own, others, dtype)) / 2
                reduction = others**2 / 2
            return block.astype(dtype, copy=False), least.astype(dtype), reduction.astype(dtype)

    def _margin(self, own: Floats, others: Floats, dtype: DType) -> float:
        """Return by how much the square of a distance may be rounded, in euclidean blocks."""
        info = np.finfo(dtype)
        dimensions = self.nearby.known.vectors.shape[1]
        squares = float(own.max() ** 2 + others.max() ** 2)
        rounding = 2 * (dimensions + 16) * float(info.eps) * squares
        return (
            rounding + 4 * float(info.eps) * self._scale.limit + dimensions * 4 * float(info.tiny)
        )

    def _type_for(self, own: Floats, others: Floats) -> DType:
        """Return float64 for vectors of float32 that are too long, too short, or too far out."""
        if self._scale.dtype == np.float64:
            return self._scale.dtype
        fits = max(own.max(), others.max()) <= _RANGE[1]
        if self._scale.by_angle:
            fits &= min(own.min(), others.min()) >= _RANGE[0]
        elif fits:
            margin = self._margin(own, others, self._scale.dtype)
            fits = margin <= _ROUGH * self._scale.limit
        return self._scale.dtype if fits else np.dtype(np.float64)


def _width(side: Columns) -> int:
    return 0 if side.vectors is None else side.vectors.shape[1]
