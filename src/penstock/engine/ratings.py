"""Ratings of rows that arrive, and draws for them, once for each micro-batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.identity import draws
from penstock.engine.row_fields import INITIAL_PRIORITY
from penstock.errors import SpecificationError, must
from penstock.strategies import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.arrays import Floats, Integers
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.intake import Columns, Merged, StreamCounters
    from penstock.engine.monitor import Monitor
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan, Side
    from penstock.engine.retention.base import Retention
    from penstock.strategies import Strategy, View

# More than any row has; sums of squares of it are still finite.
_MOST_MATCHES = 2.0**53


def draw(monitor: Monitor, sides: Sequence[Columns], merged: Merged) -> None:
    """Draw a number for each arrival: it decides which rows are monitored."""
    drawn = [
        monitor.draws(s, side.times, side.key_words, side.values) for s, side in enumerate(sides)
    ]
    merged.arrivals["draw"] = merged.spread(drawn)


def given_matches(
    plan: Plan, payloads: Sequence[Payload], sides: Sequence[Columns], merged: Merged
) -> Floats | None:
    """Return the numbers of matches that arrivals were given; None if there are none."""
    if not any(side.matches for side in plan.sides):
        return None
    return merged.spread(
        [_matches_of(plan.sides[s], payloads[s], side.index) for s, side in enumerate(sides)]
    )


def _matches_of(side: Side, payload: Payload, index: Integers) -> Floats:
    """Return how many matches rows of a batch are said to have; none if that is no number."""
    if side.matches is None or not index.size:
        return np.zeros(index.size)
    # Whole numbers beyond 2**53 are rounded: an error would stop the stream for good.
    column = payload.batch.column(side.matches).cast(pa.float64(), safe=False).fill_null(0.0)
    numbers = column.to_numpy()[index]
    return np.where(np.isfinite(numbers), np.clip(numbers, 0.0, _MOST_MATCHES), 0.0)


def importance_of_arrivals(
    scores: ImportanceScores, sides: Sequence[Columns], counters: Sequence[StreamCounters]
) -> list[Floats]:
    """Return the importance of a batch's rows; count the rows whose importance is taken to be 0."""
    importance = []
    for s, (side, counted) in enumerate(zip(sides, counters, strict=True)):
        given = scores.given_at(s, side.index, side.times)
        bad = np.isnan(given)
        # A row without a key has no results that could matter, and is counted as such.
        counted.bad_importance += int(np.count_nonzero(bad & side.has_key))
        given[bad] = 0.0
        importance.append(given)
    return importance


def rate(
    strategy: Strategy,
    view: View,
    sides: Sequence[Columns],
    merged: Merged,
    *,
    seed: int,
    payloads: Sequence[Payload],
    importance: Sequence[Floats] | None,
    retention: Retention,
) -> None:
    """Have a strategy rate the rows of a batch by what they hold."""
    ratings: list[Floats] = []
    initial: list[Floats] = []
    for s, side in enumerate(sides):
        batch, index = payloads[s].batch, side.index
        rows = Rows.arriving(
            s,
            side.times.size,
            draws=partial(draws, seed, s, side.times, side.identities),
            importance=None if importance is None else importance[s],
            column=partial(_column, batch, index),
        )
        given = strategy.rate(view, rows)
        if given is not None:
            ratings.append(checked(strategy, given, side.times.size))
        first = strategy.begin_with(view, rows)
        if first is not None:
            initial.append(checked(strategy, first, side.times.size))
    if initial:
        merged.arrivals[INITIAL_PRIORITY] = merged.spread(initial)
    if ratings:
        everywhere = np.arange(merged.arrivals.size)
        retention.grade(merged.arrivals, everywhere, merged.spread(ratings))


def _column(batch: pa.Table, index: Integers, name: str) -> pa.ChunkedArray:
    return batch.column(name).take(pa.array(index))


def checked(strategy: Strategy, ratings: object, count: int) -> Floats:
    """Return the ratings that a strategy gave, if they are a number for each row.

    Raises
    ------
    SpecificationError
        If they are not.
    """
    numbers = np.asarray(ratings)
    is_number = numbers.dtype.kind in "biuf"
    if not is_number or numbers.shape != (count,) or np.isnan(numbers.astype(np.float64)).any():
        found = f"{numbers.dtype} of shape {numbers.shape}"
        if is_number and numbers.shape == (count,):
            found = "NaN"
        raise SpecificationError(
            must(
                f'ratings by strategy "{strategy.name}"',
                f"{count} numbers, one for each row",
                found,
                "return an array as long as rows.ages from rate()",
            )
        )
    return numbers.astype(np.float64, copy=False)
