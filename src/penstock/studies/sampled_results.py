"""The sampled results of a join as arrays, and what they say of each window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.studies.frequency_scenario import FrequencyStreams

__all__ = ["SampledResults"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SampledResults:
    """Sampled results, in order of time.

    Attributes
    ----------
    times
        Of the results.
    weights, clusters
        How many results each stands for, and with which others it was drawn.
    values
        Of the aggregated column, if it is one of the first stream and if it is one of the second.
    held
        Rows that were held on average; NaN if that was not measured.
    """

    times: Floats
    weights: Floats
    clusters: Integers
    values: Mapping[str, Floats]
    held: float = float("nan")

    @classmethod
    def of_pairs(
        cls,
        streams: FrequencyStreams,
        chosen: Integers,
        weights: Floats,
        clusters: Integers,
        held: float,
    ) -> SampledResults:
        """Take those of the exact results that were chosen, by number."""
        pairs = streams.pairs
        values = {
            "s1": streams.column("s1", "value")[pairs.first[chosen]],
            "s2": streams.column("s2", "value")[pairs.second[chosen]],
        }
        return cls(pairs.times[chosen], weights, clusters, values, held)

    @classmethod
    def exact(cls, streams: FrequencyStreams) -> SampledResults:
        """Take all of them."""
        pairs = streams.pairs
        everyone = np.arange(pairs.times.size)
        return cls.of_pairs(streams, everyone, np.ones(everyone.size), everyone, float("nan"))

    def averages(self, of: str, ends: Floats, length: float) -> Floats:
        """Give the weighted average over the windows that end there; NaN of an empty one.

        Parameters
        ----------
        of
            The stream whose column it is.
        ends
            Of the windows, the end included.
        length
            Of the windows.
        """
        begin, stop = (
            np.searchsorted(self.times, edges, side="right") for edges in (ends - length, ends)
        )
        sums = [
            np.concatenate([[0.0], np.cumsum(each)])
            for each in (self.weights * self.values[of], self.weights)
        ]
        total, size = (each[stop] - each[begin] for each in sums)
        averages: Floats = np.full(ends.size, np.nan)
        # A difference of two sums of which one may be of millions: emptiness by the rows.
        np.divide(total, size, out=averages, where=stop > begin)
        return averages

    def count(self, since: float) -> float:
        """Give the estimated number of results from then on."""
        return float(self.weights[self.times >= since].sum())
