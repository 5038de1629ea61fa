"""Streams of the frequency model: each key has a fixed share of each stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.testing._arguments import check_at_least, check_count, check_one_of, check_positive
from penstock.testing.arrivals import ARRIVAL_LAWS, ArrivalLaw, arrival_times
from penstock.testing.zipf import zipf_weights

__all__ = ["Correlation", "FrequencyModel", "frequency_model"]

Floats = npt.NDArray[np.float64]
Correlation = Literal["DC", "IC", "UC"]


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyModel:
    """Two streams made by `frequency_model`, and their true frequencies.

    Attributes
    ----------
    s1, s2
        Columns ``key`` (int64), ``time`` and ``value`` (float64).
    frequencies_1, frequencies_2
        f1 and f2: the share of each key 0, 1, 2, ... in each stream. Read-only.
    """

    s1: pa.Table
    s2: pa.Table
    frequencies_1: Floats
    frequencies_2: Floats


def frequency_model(
    *,
    zipf: float = 1.0,
    zipf_2: float | None = None,
    correlation: Correlation = "DC",
    domain: int = 50,
    rate_1: float = 1.0,
    rate_2: float = 5.0,
    duration: float = 5_000.0,
    arrivals: ArrivalLaw = "paper",
    mean: float = 100.0,
    deviation: float = 100.0,
    seed: int = 0,
) -> FrequencyModel:
    """Generate the paper's frequency-based streams.

    The keys of each stream are drawn, independently of time and of each other, from Zipf's law.
    In `s1` key 0 is the most frequent one and the last key the rarest.

    Parameters
    ----------
    zipf
        Z, the skew of both streams; 0 makes all keys equally frequent.
    zipf_2
        The skew of `s2`, if it is a different one.
    correlation
        How the order of the keys by frequency in `s2` relates to that in `s1`: ``"DC"`` the same,
        ``"IC"`` the opposite, ``"UC"`` a random one, drawn once for each seed. With a large skew
        nearly all of the result depends on the rank of a single key, so a study of ``"UC"``
        should take the mean over several seeds.
    domain
        The number of keys; at least 1.
    rate_1, rate_2
        r1 and r2, rows per unit of time; positive.
    duration
        Both streams run from 0 to this time.
    arrivals
        The distribution of the gaps between rows, see `arrival_times`: with ``"paper"`` the true
        rates are 0.8 of those given, with ``"mean-rate"`` they are as given.
    mean, deviation
        Of ``value``, which is normally distributed and independent of everything else.
    seed
        The same seed and parameters give the same streams.

    Returns
    -------
    FrequencyModel
        Both streams in order of time, and f1 and f2.

    Examples
    --------
    >>> streams = frequency_model(zipf=2.0, correlation="IC", duration=1_000.0, seed=1)
    >>> streams.s1.num_rows, streams.s2.num_rows
    (784, 3989)
    >>> streams.frequencies_1[[0, 49]].round(4).tolist()
    [0.6153, 0.0002]
    >>> streams.frequencies_2[[0, 49]].round(4).tolist()
    [0.0002, 0.6153]

    References
    ----------
    Srivastava and Widom, Memory-Limited Execution of Windowed Stream Joins (VLDB 2004), sections
    2.1, 6.2.3 and, for ``value``, 6.2.4 (whose "variance" is used as a standard deviation).
    """
    for name, number in (("rate_1", rate_1), ("rate_2", rate_2), ("duration", duration)):
        check_positive(name, number)
    check_at_least("deviation", deviation, 0)
    check_count("domain", domain)
    check_one_of("arrivals", arrivals, tuple(ARRIVAL_LAWS))
    check_one_of("correlation", correlation, ("DC", "IC", "UC"))
    draws = np.random.default_rng(seed).spawn(7)

    frequencies_1 = zipf_weights(domain, zipf)
    by_rank = zipf_weights(domain, zipf if zipf_2 is None else zipf_2)
    rank_of_key = {
        "DC": np.arange(domain),
        "IC": np.arange(domain)[::-1],
        "UC": draws[0].permutation(domain),
    }[correlation]
    frequencies_2 = by_rank[rank_of_key]
    for frequencies in (frequencies_1, frequencies_2):
        frequencies.setflags(write=False)

    tables = []
    for rate, shares, (when, which, what) in (
        (rate_1, frequencies_1, draws[1:4]),
        (rate_2, frequencies_2, draws[4:7]),
    ):
        times = arrival_times(rate=rate, duration=duration, law=arrivals, generator=when)
        keys = which.choice(domain, size=len(times), p=shares)
        values = what.normal(mean, deviation, size=len(times))
        tables.append(pa.table({"key": keys, "time": times, "value": values}))
    return FrequencyModel(tables[0], tables[1], frequencies_1, frequencies_2)
