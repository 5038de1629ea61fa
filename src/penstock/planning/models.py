"""What each strategy makes of its memory, as far as a formula can say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.planning.statistics import StreamStatistics
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.division import divide

__all__ = ["MODELS", "Expected", "expect"]

Floats = npt.NDArray[np.float64]

# A share that counts as none where its logarithm is taken.
_LEAST = 1e-9

Kept: TypeAlias = Callable[[StreamStatistics, Floats], Floats]
"""Of the results for which a stream's rows wait, the share that so many rows of memory give."""


class Model(NamedTuple):
    """How one strategy keeps rows, and whether it divides memory by what it knows of streams."""

    kept: Kept
    divides: bool


class Expected(NamedTuple):
    """What is expected of a strategy with some memory."""

    recall: float
    rows: tuple[float, ...]  # of each stream


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
    return made(rows) / whole if whole > 0 else _by_lot(stream, rows)


def _fifo(stream: StreamStatistics, rows: Floats) -> Floats:
    cumulative = stream.curve.cumulative()
    held_for = rows / stream.needed_rows * stream.curve.parts
    share: Floats = np.interp(held_for, np.arange(cumulative.size), cumulative) / cumulative[-1]
    return share


def _by_lot(stream: StreamStatistics, rows: Floats) -> Floats:
    share: Floats = np.minimum(rows / stream.needed_rows, 1.0)
    return share


MODELS: Mapping[str, Model] = {
    "age": Model(_age, divides=True),  # srivastava04, eq. 3
    "prob": Model(_prob, divides=True),  # srivastava04, section 3.3
    "fifo": Model(_fifo, divides=False),  # a shorter window
    "random": Model(_by_lot, divides=False),  # a share of the rows, for life
    "until-expiry": Model(_by_lot, divides=True),  # whoever finds room, for life
}


def expect(name: str, streams: Sequence[StreamStatistics], rows: float) -> Expected:
    """Give the recall that a strategy is expected to reach with so many rows.

    A result is found if all its members but the newest are in memory when that one comes. Of the
    results that wait for a stream's rows a strategy keeps a share; with more than two streams the
    shares of all who wait are multiplied, as if chance decided each apart.

    Parameters
    ----------
    name
        A name in `MODELS`.
    streams
        The statistics of each stream.
    rows
        M, of all streams together.

    References
    ----------
    `srivastava04` 3.2.2 and 3.3: with two streams (R1 + R2) / (r1 n1 + r2 n2).
    """
    model = MODELS[name]
    needs = [stream.needed_rows for stream in streams]
    if rows >= sum(needs):
        return Expected(1.0, tuple(needs))
    share_of = [partial(_share, model.kept, stream) for stream in streams]
    parts = _fair(rows, needs)
    if model.divides:
        parts = _fair(rows, needs, first=_best(rows, streams, share_of))
    kept = [float(share(np.array(part))) for share, part in zip(share_of, parts, strict=True)]
    last = _newest(streams)
    found = sum(
        last[j] * np.prod([share for i, share in enumerate(kept) if i != j])
        for j in range(len(streams))
    )
    return Expected(min(float(found), 1.0), parts)


def _share(kept: Kept, stream: StreamStatistics, rows: Floats) -> Floats:
    """Give the share kept; all of it where there is nothing to hold, or nothing to lose."""
    if not stream.needed_rows or not stream.waiting:
        return np.ones(np.shape(rows))
    return kept(stream, rows)


def _newest(streams: Sequence[StreamStatistics]) -> Floats:
    """Give the share of the results whose newest member is of each stream.

    In each of them a row of every other stream waits: those who wait are m - 1 to a result.
    """
    waiting = np.array([stream.waiting for stream in streams])
    last = np.maximum(1.0 - (len(streams) - 1) * waiting / waiting.sum(), 0.0)
    share: Floats = last / last.sum()
    return share


def _best(
    rows: float, streams: Sequence[StreamStatistics], share_of: Sequence[Callable[[Floats], Floats]]
) -> tuple[float, ...]:
    """Divide memory so that most results are found.

    With more than two streams a result needs a row of each, so the sum would starve whoever gives
    least for its rows. There the logarithm of the recall is made great, from below (Jensen): the
    sum of the logarithms of what is kept, each stream by how often it is waited for.
    """

    def worth(stream: StreamStatistics, share: Callable[[Floats], Floats], rows: Floats) -> Floats:
        kept = share(rows)
        return stream.waiting * (kept if len(streams) == 2 else np.log(np.maximum(kept, _LEAST)))

    return divide(
        rows,
        [partial(worth, stream, share) for stream, share in zip(streams, share_of, strict=True)],
    )


def _fair(
    rows: float, needs: Sequence[float], first: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Give each stream its part, or an equal one, and the others what it does not need.

    >>> [round(part) for part in _fair(100, [20, 200, 30])]
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
