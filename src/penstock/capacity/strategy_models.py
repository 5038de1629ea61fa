"""A formula for each strategy: the recall that it reaches with an amount of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.capacity.stream_statistics import StreamStatistics
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.division import divide

__all__ = ["MODELS", "Expected", "expect", "newest_shares"]

Floats = npt.NDArray[np.float64]

# Shares below this are raised to it before their logarithm is taken.
_LEAST = 1e-9

Kept: TypeAlias = Callable[[StreamStatistics, Floats], Floats]
"""From an amount of memory, in rows, to the share of a stream's waiting results that it keeps."""


class Model(NamedTuple):
    """How one strategy keeps rows, and whether it divides memory by the streams' statistics."""

    kept: Kept
    divides: bool


class Expected(NamedTuple):
    """What is expected of a strategy with some memory."""

    recall: float
    rows: tuple[float, ...]  # memory of each stream


def _age(stream: StreamStatistics, rows: Floats) -> Floats:
    made = stream.curve.output(rows, rate=stream.rate, window=stream.window)
    share: Floats = made / stream.waiting
    return share


def _prob(stream: StreamStatistics, rows: Floats) -> Floats:
    made = partial(
        frequency_output,
        own=stream.own,
        partner=stream.partner,
        rate=stream.rate,
        partner_rate=1.0,
        window=stream.window,
    )
    whole = float(made(np.inf))
    return made(rows) / whole if whole > 0 else _at_random(stream, rows)


def _fifo(stream: StreamStatistics, rows: Floats) -> Floats:
    cumulative = stream.curve.cumulative()
    held_for = rows / stream.needed_rows * stream.curve.parts
    share: Floats = np.interp(held_for, np.arange(cumulative.size), cumulative) / cumulative[-1]
    return share


def _at_random(stream: StreamStatistics, rows: Floats) -> Floats:
    share: Floats = np.minimum(rows / stream.needed_rows, 1.0)
    return share


MODELS: Mapping[str, Model] = {
    "age": Model(_age, divides=True),  # srivastava04, eq. 3
    "prob": Model(_prob, divides=True),  # srivastava04, section 3.3
    "fifo": Model(_fifo, divides=False),  # a shorter window
    "random": Model(_at_random, divides=False),  # a random share of the rows, for life
    "until-expiry": Model(_at_random, divides=True),  # rows that find room, for life
}


def expect(name: str, streams: Sequence[StreamStatistics], rows: float) -> Expected:
    """Compute the recall that a strategy is expected to reach with an amount of memory.

    A result is found if all its members but the newest are in memory when the newest arrives. In
    each stream a strategy keeps a share of these members. With more than two streams the shares
    of all waiting members are multiplied, as if they were independent.

    Parameters
    ----------
    name
        A name in `MODELS`.
    streams
        The statistics of each stream.
    rows
        M, the memory of all streams together.

    References
    ----------
    `srivastava04` 3.2.2 and 3.3: with two streams (R1 + R2) / (r1 n1 + r2 n2).
    """
    model = MODELS[name]
    needs = [stream.needed_rows for stream in streams]
    if rows >= sum(needs):
        return Expected(1.0, tuple(needs))
    share_of = [partial(_share, model.kept, stream) for stream in streams]
    parts = _divided_equally(rows, needs)
    if model.divides:
        best = _divided_for_recall(rows, streams, share_of)
        parts = _divided_equally(rows, needs, first=best)
    kept = [float(share(np.array(part))) for share, part in zip(share_of, parts, strict=True)]
    last = newest_shares(streams)
    found = sum(
        last[j] * np.prod([share for i, share in enumerate(kept) if i != j])
        for j in range(len(streams))
    )
    return Expected(min(float(found), 1.0), parts)


def _share(kept: Kept, stream: StreamStatistics, rows: Floats) -> Floats:
    """Return the share kept; all of it if the stream needs no memory, or has no results."""
    if not stream.needed_rows or not stream.waiting:
        return np.ones(np.shape(rows))
    return kept(stream, rows)


def newest_shares(streams: Sequence[StreamStatistics]) -> Floats:
    """Compute, for each stream, the share of the results whose newest member is one of its rows.

    In each result m - 1 rows wait, one of every other stream.
    """
    waiting = np.array([stream.waiting for stream in streams])
    last = np.maximum(1.0 - (len(streams) - 1) * waiting / waiting.sum(), 0.0)
    share: Floats = last / last.sum()
    return share


def _divided_for_recall(
    rows: float, streams: Sequence[StreamStatistics], share_of: Sequence[Callable[[Floats], Floats]]
) -> tuple[float, ...]:
    """Divide memory so that most results are found.

    With two streams the sum of the results of both is maximised. With more streams a result needs
    a row of each, and the sum would leave nothing to the stream that gains least. There a lower
    bound of the logarithm of the recall is maximised (Jensen): the sum of the logarithms of the
    shares kept, weighted by the results that wait for each stream.
    """

    def worth(stream: StreamStatistics, share: Callable[[Floats], Floats], rows: Floats) -> Floats:
        kept = share(rows)
        return stream.waiting * (kept if len(streams) == 2 else np.log(np.maximum(kept, _LEAST)))

    return divide(
        rows,
        [partial(worth, stream, share) for stream, share in zip(streams, share_of, strict=True)],
    )


def _divided_equally(
    rows: float, needs: Sequence[float], first: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Divide memory equally, or start from `first`; pass on what a stream does not need.

    >>> [round(part) for part in _divided_equally(100, [20, 200, 30])]
    [20, 50, 30]
    """
    wanted = np.array(needs, np.float64)
    parts = np.zeros(wanted.size) if first is None else np.minimum(first, wanted)
    for _ in wanted:
        left = rows - parts.sum()
        open_ = parts < wanted
        if left <= 0 or not open_.any():
            break
        parts = np.minimum(parts + open_ * left / open_.sum(), wanted)
    return tuple(parts.tolist())
