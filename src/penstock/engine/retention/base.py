"""What happens to the order of rows between two calls of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penstock.engine.retention.retained import KeepAll

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, DType, Floats, Integers
    from penstock.engine.kernels.layout import Memory
    from penstock.strategies import Order


class Retention:
    """One way to keep rows in order; the base of all, and by itself that of the exact join.

    Parameters
    ----------
    order
        As first decided.
    parts
        For each stream the parts into which a row's life is divided.
    """

    row_bytes: ClassVar[int] = 0  # what a row costs more than in the exact join
    # Rows are rated again after so many arrivals for each: it must cost little beside the join
    # itself. 0 for never.
    rates_again_every: ClassVar[int] = 0
    keeps_likeliness: ClassVar[bool] = True  # as it was when a row came

    def __init__(self, order: Order, parts: Sequence[int]) -> None:
        self.order = order
        self.parts = tuple(parts)

    def make(self, time: DType, streams: int) -> Any:  # noqa: ANN401  # one of `retained`
        """Return its arrays, for a memory that has room for no row yet."""
        del time, streams
        return KeepAll()

    def grown(self, retained: Any, size: int) -> Any:  # noqa: ANN401
        """Return the arrays with room for so many rows."""
        del size
        return retained

    def apply(self, memory: Memory, order: Order, streams: Sequence[int]) -> None:
        """Act on a decision; `streams` are those of which a part of a life has gone by."""
        del memory, streams
        self.order = order

    def resume(self, memory: Memory, order: Order) -> None:
        """Go on with what was decided before a restart."""
        del memory
        self.order = order

    def turn(self, memory: Memory, s: int, part: int) -> None:
        """Go on to a later part of a stream's time; `Memory.lives` still has the last one."""

    def queue_moved(self, memory: Memory, s: int) -> None:
        """Forget what was known of places in a stream's queue: its rows have moved up."""

    def grade(self, arrivals: Array, places: Integers, ratings: Floats) -> None:
        """Note the ratings of arrivals at some places."""
        arrivals["rating"][places] = ratings

    def rate_again(self, memory: Memory, s: int, rows: Integers, ratings: Floats) -> None:
        """Put a stream's rows, in time order, at the places that their ratings now give them."""

    def before_rating(self, memory: Memory, s: int, rows: Integers) -> None:
        """Note what follows from the ratings that are about to change."""

    @property
    def rates_first_rows(self) -> bool:
        """Whether rows that came before anything was known are rated again once it is."""
        return False

    @property
    def reads_likeliness_again(self) -> bool:
        """Whether rows are rated again by the likeliness of today, not of when they came."""
        return False

    def fraction(self, memory: Memory) -> float:
        """Return the sampling fraction; infinite where there is no sample."""
        del memory
        return np.inf

    def sizes(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return the ratings with which rows came into a sample; None where there is none."""
        del memory, rows
        return None

    def chances(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return the chances with which rows are in memory; None if these are not known."""
        del memory, rows
        return None

    def whole(self, memory: Memory) -> Floats:
        """Return how many results a sample's stand for, by the stream that waited."""
        return np.zeros(memory.streams.size)

    def metrics(self, memory: Memory) -> dict[str, Any]:
        """Return what is told of it in `Metrics`."""
        del memory
        return {}

    def ratings(self, memory: Memory, rows: Integers) -> Floats | None:
        """Return ratings that are saved with the rows themselves, as they never change."""
        del memory, rows
        return None

    def save(self, memory: Memory, rows: Sequence[Integers]) -> dict[str, Array]:
        """Return what a restart needs, beside the rows; `rows` are each stream's, in time order."""
        del memory, rows
        return {}

    def refill(self, arrivals: Array, saved: Mapping[str, Array], s: int) -> None:
        """Set what a stream's rows, in time order, enter memory with after a restart."""

    def restore(self, memory: Memory, rows: Sequence[Integers], saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped, with the rows back in memory."""
