"""The join of two streams under a memory limit, one time step after another (`kulkarni08` 3)."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.studies.by_the_book.baselines import Exact
from penstock.studies.by_the_book.memory import Memory, Moment
from penstock.studies.by_the_book.outcome import Fate, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.studies.by_the_book.arrivals import Arrivals, Redefinition
    from penstock.studies.by_the_book.memory import Scheme

__all__ = ["Order", "WindowReading", "simulate"]

Integers = npt.NDArray[np.int64]
Order = Literal["shed first", "probe first"]
WindowReading = Literal["open", "closed", "section 3.2"]


def simulate(
    first: Arrivals,
    second: Arrivals,
    scheme: Scheme,
    *,
    window: float,
    memory: int,
    order: Order = "shed first",
    reading: WindowReading = "open",
    predicate: Callable[[Any, Any], Any] = np.equal,
    redefinitions: Sequence[Redefinition] = (),
) -> Outcome:
    """Join two streams by one scheme.

    Parameters
    ----------
    first, second
        R and S. At equal times R's rows come first.
    scheme
        Which row goes when there is no room.
    window
        w, in time units.
    memory
        M, rows; each stream has half of it (3.4).
    order
        ``"shed first"``, as Tables 2(b) to 4 have it: all rows of a time step are placed, or
        dropped, and those in memory are joined afterwards; a row dropped on arrival joins
        nothing. ``"probe first"``: one row after the other joins what is in memory, then asks
        for a place.
    reading
        Which rows i are in the window at time t: ``"open"``, t - w < i (1.1); ``"closed"``,
        t - w <= i (Algorithms 1 and 2); ``"section 3.2"``, t - w + 1 < i, which Table 2(a)
        refutes.
    predicate
        Whether values of R and S join; of arrays of both that are broadcast.
    redefinitions
        When importance changes, in order of time.

    Examples
    --------
    >>> from penstock.studies.by_the_book import Arrivals, Fifo
    >>> r = Arrivals.of([1, 2, 3, 4], "abcd", [1, 2, 3, 4])
    >>> s = Arrivals.of([1, 2, 3, 4], "bddd", [2, 4, 4, 4])
    >>> outcome = simulate(r, s, Fifo(), window=8, memory=4)
    >>> outcome.size, outcome.total_importance, outcome.contents(0, 3)
    (3, 10.0, ['b', 'c'])
    """
    if memory < 2 or memory % 2:
        raise SpecificationError(
            must("memory", "an even number from 2", memory, "each stream has half of it")
        )
    if not window > (1 if reading == "section 3.2" else 0):
        raise SpecificationError(
            must("window", "above 0 (in the reading of section 3.2: 1)", window, "give time units")
        )
    join = _Join((first, second), scheme, memory // 2, _lifetime(window, reading), predicate)
    waiting = list(redefinitions)
    for time, step in groupby(_in_order(first, second), key=lambda each: each[0]):
        while waiting and waiting[0].time <= time:
            join.redefine(waiting.pop(0))
        join.expire(time)
        if order == "shed first":
            join.shed_first([(stream, number) for _, stream, number in step], time)
        else:
            for _, stream, number in step:
                join.probe_first(stream, number, time)
    return join.outcome()


def _in_order(first: Arrivals, second: Arrivals) -> list[tuple[float, int, int]]:
    return sorted(
        (time, stream, number)
        for stream, arrivals in enumerate((first, second))
        for number, time in enumerate(arrivals.times.tolist())
    )


def _lifetime(window: float, reading: WindowReading) -> Callable[[float], float]:
    """Return the function from a row's arrival to its expiry."""
    if reading == "closed":
        return lambda came: math.nextafter(came + window, math.inf)
    if reading == "section 3.2":
        return lambda came: came + window - 1
    return lambda came: came + window


class _Join:
    """A running join: both memories, both shedders, and the results so far."""

    def __init__(
        self,
        streams: tuple[Arrivals, Arrivals],
        scheme: Scheme,
        room: int,
        expiry: Callable[[float], float],
        predicate: Callable[[Any, Any], Any],
    ) -> None:
        self.streams = streams
        self.room = math.inf if isinstance(scheme, Exact) else room
        self.expiry = expiry
        end = max((float(stream.times[-1]) for stream in streams if len(stream)), default=0.0)
        (values_1, codes_1), (values_2, codes_2) = (
            np.unique(stream.values, return_inverse=True) for stream in streams
        )
        joins = np.zeros((values_1.size, values_2.size), np.bool_)
        if joins.size:  # an empty array has no type of its own to compare by
            joins[:] = predicate(values_1[:, np.newaxis], values_2[np.newaxis])
        self.memories = (
            Memory(streams[0], codes_1.astype(np.int64), joins, end),
            Memory(streams[1], codes_2.astype(np.int64), np.ascontiguousarray(joins.T), end),
        )
        self.shedders = tuple(scheme.begin(s, len(stream)) for s, stream in enumerate(streams))
        self.total = 0.0
        # Times, R's rows, S's rows and importance of the results of each probe.
        self.times: list[npt.NDArray[np.float64]] = [np.empty(0)]
        self.pairs: tuple[list[Integers], list[Integers]] = (
            [np.empty(0, np.int64)],
            [np.empty(0, np.int64)],
        )
        self.importance: list[npt.NDArray[np.float64]] = [np.empty(0)]

    def redefine(self, redefinition: Redefinition) -> None:
        for memory, importance in zip(self.memories, redefinition.importance, strict=True):
            memory.importance = importance

    def expire(self, time: float) -> None:
        for memory in self.memories:
            while memory.held.size:
                oldest = int(memory.held[0])
                expiry = self.expiry(float(memory.times[oldest]))
                if expiry > time:
                    break
                memory.take(oldest, expiry, Fate.EXPIRED)

    def shed_first(self, arriving: list[tuple[int, int]], time: float) -> None:
        for stream, number in arriving:
            self.count(stream, number)
        for stream, number in arriving:
            self.place(stream, number, time)
        r, s = self.memories
        new_r, new_s = (
            [n for stream, n in arriving if stream == each and memory.fates[n] == Fate.HELD]
            for each, memory in enumerate(self.memories)
        )
        for number in new_r:
            self.join(0, number, s.held, time)
        old_r = r.held[: r.held.size - len(new_r)]
        for number in new_s:
            self.join(1, number, old_r, time)

    def probe_first(self, stream: int, number: int, time: float) -> None:
        self.count(stream, number)
        self.join(stream, number, self.memories[1 - stream].held, time)
        self.place(stream, number, time)

    def count(self, stream: int, number: int) -> None:
        own, other = self.memories[stream], self.memories[1 - stream]
        own.came = number + 1
        other.partners += own.joins[own.codes[number]]

    def place(self, stream: int, number: int, time: float) -> None:
        """Put a newcomer into memory, in place of another row if need be, or drop it."""
        own, other = self.memories[stream], self.memories[1 - stream]
        if own.held.size >= self.room:
            victim = self.shedders[stream].victim(Moment(time, own, other, number, self.total))
            own.take(victim, time, Fate.DROPPED if victim == number else Fate.EVICTED)
            if victim == number:
                return
        own.put(number)

    def join(self, stream: int, number: int, partners: Integers, time: float) -> None:
        """Join a row with partners of the other stream (Algorithm 1)."""
        own, other = self.memories[stream], self.memories[1 - stream]
        found = partners[own.joins[own.codes[number]][other.codes[partners]]]
        if not found.size:
            return
        importance = np.minimum(own.importance[number], other.importance[found])
        repeated = np.full(found.size, number)
        self.times.append(np.full(found.size, time))
        self.pairs[stream].append(repeated)
        self.pairs[1 - stream].append(found)
        self.importance.append(importance)
        self.total += float(importance.sum())
        self.shedders[stream].matched(repeated, time)
        self.shedders[1 - stream].matched(found, time)

    def outcome(self) -> Outcome:
        r, s = self.memories
        return Outcome(
            streams=self.streams,
            times=np.concatenate(self.times),
            first=np.concatenate(self.pairs[0]),
            second=np.concatenate(self.pairs[1]),
            importance=np.concatenate(self.importance),
            left=(r.left, s.left),
            fates=(r.fates, s.fates),
            recomputations=sum(each.recomputations for each in self.shedders),
        )
