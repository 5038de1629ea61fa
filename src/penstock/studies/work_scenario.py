"""Streams under the frequency model for the studies of CPU: as `ayad05` has them, two windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.budget import Budget
from penstock.costs import Costs
from penstock.goals import MaxSubset
from penstock.join import Join
from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.statistics.work_output import WorkModel
from penstock.testing import zipf_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.statistics.work_uniform import Arrivals
    from penstock.strategies import Strategy

__all__ = [
    "CORRELATIONS",
    "RATES",
    "WINDOWS",
    "Correlation",
    "WorkScenario",
    "WorkStreams",
    "exact_times",
    "panel_title",
    "result_times",
    "streams_of",
]

Floats = npt.NDArray[np.float64]
Correlation = Literal["direct", "none", "inverse"]

CORRELATIONS: tuple[Correlation, ...] = ("direct", "none", "inverse")
RATES = (40.0, 60.0)
WINDOWS = (3.0, 5.0)
# C_u and C_p, in seconds.
_INSERT, _RESULT = 0.001, 0.0002


def panel_title(name: str) -> str:
    """Return the name of a scenario as a title.

    >>> panel_title("direct"), panel_title("none"), panel_title("none, 2 x rates")
    ('direct correlation', 'no correlation', 'none, 2 x rates')
    """
    if "," in name:
        return name
    return f"{'no' if name == 'none' else name} correlation"


@dataclass(frozen=True)
class WorkScenario:
    """Two streams, and what their join costs.

    Parameters
    ----------
    correlation
        Whether values that are frequent in one stream are frequent in the other: ``"direct"``,
        ``"inverse"``, or ``"none"``, an order by chance, drawn again for each seed.
    zipf
        The skew of both streams.
    values
        Number of values.
    scale
        Rates are so many times those of `RATES`. Costs are divided by it, those of results twice,
        so that work and shares of the output stay as they are.
    duration
        Of the streams, in seconds.
    arrivals
        Whether rows of one value come at random or at equal distances.
    burst
        Seconds whose allowance of work is kept if it is not used. The paper's formulas are for
        work on average; over one window it nearly is.
    seed
        Of the streams.
    """

    correlation: Correlation
    zipf: float = 1.0
    values: int = 100
    scale: float = 1.0
    duration: float = 400.0
    arrivals: Arrivals = "poisson"
    burst: float = max(WINDOWS)
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in panels and tables: what is not as usual.

        >>> WorkScenario("none", scale=10, burst=0.5).name
        'none, 10 x rates, burst 0.5 s'
        """
        parts = [
            self.correlation,
            f"{self.scale:g} x rates" if self.scale != 1.0 else "",
            f"burst {self.burst:g} s" if self.burst != max(WINDOWS) else "",
            f"Zipf {self.zipf:g}" if self.zipf != 1.0 else "",
            self.arrivals if self.arrivals != "poisson" else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def measured_from(self) -> float:
        """The time from which results count; before it, windows fill and strategies learn."""
        return 2 * max(WINDOWS)

    @property
    def costs(self) -> Costs:
        """What the steps cost."""
        return Costs(insert=_INSERT / self.scale, result=_RESULT / self.scale**2)

    @property
    def frequencies(self) -> Floats:
        """The share of each value, by stream."""
        left = zipf_weights(self.values, self.zipf)
        order = {
            "direct": np.arange(self.values),
            "inverse": np.arange(self.values)[::-1],
            # Another generator than that of the rows.
            "none": np.random.default_rng([self.seed, 1]).permutation(self.values),
        }[self.correlation]
        return np.stack([left, left[order]])

    @property
    def model(self) -> WorkModel:
        """Rates, windows and costs, for formulas."""
        rates = self.scale * np.array(RATES)[:, None] * self.frequencies
        costs = self.costs
        return WorkModel(rates, WINDOWS, insert=costs.insert, result=costs.result)


@dataclass(frozen=True, eq=False)
class WorkStreams:
    """The streams of a scenario.

    Attributes
    ----------
    scenario
        From which they are made.
    tables
        Columns ``key``, ``time`` and ``value``, which has mean 0 and deviation 1.
    """

    scenario: WorkScenario
    tables: Mapping[str, pa.Table]

    @cached_property
    def model(self) -> WorkModel:
        """The scenario's model, with as many rows of each value as have come.

        By chance these are a little more or less than expected, and the work with them.
        """
        counts = [
            np.bincount(table["key"].to_numpy(), minlength=self.scenario.values)
            for table in self.tables.values()
        ]
        return replace(self.scenario.model, rates=np.array(counts) / self.scenario.duration)

    def join(
        self,
        strategy: str | Strategy | None = None,
        share: float | None = None,
        *,
        arrival: float = 0.0,
        seed: int = 0,
    ) -> Join:
        """Return the join; the exact one if there is no limit.

        Parameters
        ----------
        strategy
            Which sheds work.
        share
            Work that is allowed, as a share of the exact join's by formula; None for no limit.
        arrival
            What each arrival costs, as a share of what an insertion costs.
        seed
            Of the lots.
        """
        budget = None
        if share is not None:
            costs = self.scenario.costs
            with_arrivals = Costs(
                arrival=arrival * costs.insert, insert=costs.insert, result=costs.result
            )
            budget = Budget(
                cpu=share * self.model.full_work, costs=with_arrivals, burst=self.scenario.burst
            )
        return Join(
            streams={
                name: Stream(time="time", window=window)
                for name, window in zip(self.tables, WINDOWS, strict=True)
            },
            on=Equal("key"),
            goal=MaxSubset(strategy=strategy),
            budget=budget,
            seed=seed,
        )


# Points of a grid share their streams.
@lru_cache(maxsize=2)
def streams_of(scenario: WorkScenario) -> WorkStreams:
    """Make the streams, or return those made before."""
    draws = np.random.default_rng(scenario.seed).spawn(2)
    tables = {
        name: _table(rates, scenario, generator)
        for name, rates, generator in zip(
            ("left", "right"), scenario.model.rates, draws, strict=True
        )
    }
    return WorkStreams(scenario, tables)


def _table(rates: Floats, scenario: WorkScenario, generator: np.random.Generator) -> pa.Table:
    if scenario.arrivals == "poisson":
        counts = generator.poisson(rates * scenario.duration)
        keys = np.repeat(np.arange(rates.size), counts)
        times = generator.random(keys.size) * scenario.duration
    else:
        # Of each value the first row comes at a random time, the others at equal distances.
        first = generator.random(rates.size)
        counts = np.ceil(rates * scenario.duration - first).astype(np.int64)
        keys = np.repeat(np.arange(rates.size), counts)
        numbers = np.arange(keys.size) - np.repeat(np.cumsum(counts) - counts, counts)
        times = (first[keys] + numbers) / rates[keys]
    order = np.argsort(times, kind="stable")
    values = generator.normal(size=keys.size)
    return pa.table({"key": keys[order], "time": times[order], "value": values})


@lru_cache(maxsize=2)
def exact_times(scenario: WorkScenario) -> Floats:
    """Return the times of all results of the exact join, in order."""
    streams = streams_of(scenario)
    return result_times(streams.join().replay(streams.tables).result)


def result_times(result: pa.Table) -> Floats:
    """Return the times of results, in order."""
    return np.sort(result["time"].to_numpy().astype(np.float64))
