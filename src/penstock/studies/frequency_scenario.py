"""The paper's synthetic streams under the frequency model, and all results of joining them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.predicates import Equal
from penstock.studies.workload import ARRIVALS_PER_RATE, first_stream_windowed
from penstock.testing import frequency_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.predicates import Predicate
    from penstock.spec import Stream
    from penstock.testing.frequency_model import Correlation

__all__ = ["MATCHES", "FrequencyScenario", "FrequencyStreams", "Pairs", "streams_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MATCHES = "matches"
"""Column of the first stream: the true number of results of each row."""


@dataclass(frozen=True)
class FrequencyScenario:
    """Streams under the frequency model; see `penstock.testing.frequency_model`.

    Parameters
    ----------
    correlation
        ``"IC"``, ``"UC"`` or ``"DC"``.
    zipf
        Z, the skew of both streams.
    rate_1, rate_2
        r1 and r2; the streams really bring 0.8 of it.
    window
        W1; the second stream has no window.
    windows
        Length of the streams, in windows; results count from the third on.
    seed
        Of the streams.
    """

    correlation: Correlation
    zipf: float = 2.0
    rate_1: float = 1.0
    rate_2: float = 5.0
    window: float = 500.0
    windows: float = 22.0
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in panels and tables."""
        return f"{self.correlation}, Z = {self.zipf:g}"

    @property
    def full_rows(self) -> float:
        """Rows in a full window on average: what 100 % of memory means."""
        return ARRIVALS_PER_RATE * self.rate_1 * self.window

    @property
    def measured_from(self) -> float:
        """The time from which results count; before it, windows fill and strategies learn."""
        return 2 * self.window

    @property
    def duration(self) -> float:
        """When the streams end."""
        return self.windows * self.window


@dataclass(frozen=True, eq=False)
class Pairs:
    """All results of the exact join, in order of time.

    Attributes
    ----------
    first, second
        The joined rows of each stream, by number.
    times
        Of the results: those of the second stream's rows.
    """

    first: Integers
    second: Integers
    times: Floats

    def ranks(self) -> Integers:
        """Return the number of each result among those of its first row: 1, 2, 3, ..."""
        order = np.argsort(self.first, kind="stable")
        ordered = self.first[order]
        ranks = np.empty(ordered.size, np.int64)
        ranks[order] = np.arange(ordered.size) - np.searchsorted(ordered, ordered) + 1
        return ranks


@dataclass(frozen=True, eq=False)
class FrequencyStreams:
    """Two streams, with their true frequencies and results.

    Attributes
    ----------
    scenario
        From which they are made.
    tables
        Columns ``key``, ``time``, and ``value``, which has mean 0 and deviation 1; the first
        stream also has `MATCHES`.
    frequencies_1, expected
        Of each key: its share in the first stream, and r2 W1 f2, the results to be expected of one
        of its rows there.
    pairs
        All results.
    """

    scenario: FrequencyScenario
    tables: Mapping[str, pa.Table]
    frequencies_1: Floats
    expected: Floats
    pairs: Pairs

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams of the joins."""
        return first_stream_windowed(self.scenario.window)

    @property
    def predicate(self) -> Predicate:
        """The predicate of the joins."""
        return Equal("key")

    def column(self, stream: str, name: str) -> npt.NDArray[np.float64]:
        """Return a column of a stream, as an array."""
        return np.asarray(self.tables[stream][name].to_numpy())


# Points of a grid share their streams.
@lru_cache(maxsize=2)
def streams_of(scenario: FrequencyScenario) -> FrequencyStreams:
    """Make the streams, or return those made before."""
    made = frequency_model(
        zipf=scenario.zipf,
        correlation=scenario.correlation,
        rate_1=scenario.rate_1,
        rate_2=scenario.rate_2,
        duration=scenario.duration,
        mean=0.0,
        deviation=1.0,
        seed=scenario.seed,
    )
    pairs = _pairs(made.s1, made.s2, scenario)
    matches = np.bincount(pairs.first, minlength=made.s1.num_rows)
    return FrequencyStreams(
        scenario,
        {"s1": made.s1.append_column(MATCHES, pa.array(matches)), "s2": made.s2},
        made.frequencies_1,
        ARRIVALS_PER_RATE * scenario.rate_2 * scenario.window * made.frequencies_2,
        pairs,
    )


def _pairs(s1: pa.Table, s2: pa.Table, scenario: FrequencyScenario) -> Pairs:
    """Join by arrays: of each key the first stream's rows in time order, one key after the other.

    The joins under study are bounded; that this gives what the exact one does is tested.
    """
    (keys_1, times_1), (keys_2, times_2) = (
        (table["key"].to_numpy(), table["time"].to_numpy()) for table in (s1, s2)
    )
    # So far apart that no window reaches from one key to the next.
    apart = scenario.duration + 2 * scenario.window
    order = np.argsort(keys_1 * apart + times_1, kind="stable")
    places = (keys_1 * apart + times_1)[order]
    begin = np.searchsorted(places, keys_2 * apart + times_2 - scenario.window, side="left")
    end = np.searchsorted(places, keys_2 * apart + times_2, side="right")
    counts = end - begin
    second = np.repeat(np.arange(counts.size), counts)
    within = np.arange(second.size) - np.repeat(np.cumsum(counts) - counts, counts)
    first = order[np.repeat(begin, counts) + within]
    return Pairs(first, second, times_2[second])
