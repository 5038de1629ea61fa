"""Samples of a join under a limit of work, drawn from all of its results.

UNIFORM draws each result with the same chance and by itself. For that a row must know how many
matches it will have: this is given, or follows from the frequency of its value. Ways to shed rows
give samples as well, but of clusters: all results of a row are found or lost together. Beside
these, the engine's own sample: `Sample()` within a share of the processor, replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from penstock.goals import Sample
from penstock.report.plot_style import BLACK, GREEN, SKY, VERMILION, Pen
from penstock.statistics.work_uniform import matches_of, uniform_fraction
from penstock.studies.contenders import Look
from penstock.studies.optimum import needs_scipy
from penstock.studies.work_contenders import ONLINE
from penstock.studies.work_scenario import streams_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.statistics.work_output import WorkModel
    from penstock.studies.work_scenario import WorkScenario

__all__ = [
    "ENGINE",
    "SAMPLERS",
    "UNIFORM",
    "Results",
    "UniformSampler",
    "WorkSample",
    "draw",
    "results_of",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class UniformSampler(Look):
    """UNIFORM, by one of the paper's two costs.

    Attributes
    ----------
    pays_for_probes
        Whether every match that finds a row costs C_p (eq. 23), or only those that are drawn do
        (eq. 25).
    is_given_matches
        Whether it is given how many matches each row will have, and solves its fraction for the
        arrivals of the streams. Otherwise it takes the expected number of matches, rounded by
        chance, and the fraction is that of the paper's formulas.
    """

    pays_for_probes: bool
    is_given_matches: bool


# In drawing order: the last lies on top.
UNIFORM: Mapping[str, UniformSampler] = {
    "printed-probes": UniformSampler(
        "uniform\nprinted\neq. 23",
        Pen("UNIFORM by eq. 23", SKY, (0, (2, 1))),
        pays_for_probes=True,
        is_given_matches=False,
    ),
    "printed-results": UniformSampler(
        "uniform\nprinted\neq. 25",
        Pen("UNIFORM by eq. 25", GREEN, (0, (2, 1))),
        pays_for_probes=False,
        is_given_matches=False,
    ),
    "given-probes": UniformSampler(
        "uniform\ngiven\neq. 23",
        Pen("UNIFORM by eq. 23, given\nthe number of matches", SKY),
        pays_for_probes=True,
        is_given_matches=True,
    ),
    "given-results": UniformSampler(
        "uniform\ngiven\neq. 25",
        Pen("UNIFORM by eq. 25, given\nthe number of matches", GREEN),
        pays_for_probes=False,
        is_given_matches=True,
    ),
}

ENGINE = "engine"
"""The engine's own sample."""

SAMPLERS: Mapping[str, Look] = {
    "max-subset": replace(
        ONLINE["max-subset"], pen=replace(ONLINE["max-subset"].pen, colour=VERMILION)
    ),
    **{name: ONLINE[name] for name in ("coin-flip", "probe-no-insert")},
    **UNIFORM,
    ENGINE: Look(
        "Sample()\nreplayed", Pen("Sample() in the engine,\ngiven nothing", BLACK, "none", dot="o")
    ),
}


@dataclass(frozen=True, eq=False)
class Results:
    """All results of the exact join, in order of time.

    Attributes
    ----------
    waiting, probing
        For each result the rows that waited and that came last, by number over both streams.
    left
        For each result its row of the left stream.
    times
        Of the results.
    ranks
        The number of each result among those for which its row waited: 1, 2, 3, ...
    keys
        Of all rows.
    left_rows
        Number of rows of the left stream, which are numbered first.
    """

    waiting: Integers
    probing: Integers
    left: Integers
    times: Floats
    ranks: Integers
    keys: Integers
    left_rows: int

    @property
    def streams(self) -> Integers:
        """For each row 0 if it is of the left stream, 1 if it is of the right one."""
        return (np.arange(self.keys.size) >= self.left_rows).astype(np.int64)


@dataclass(frozen=True, eq=False)
class WorkSample:
    """Results that were found.

    Attributes
    ----------
    chosen
        By number, in order of time.
    weight
        How many results each stands for; one number for all, or one for each.
    work
        That was done for them, in seconds.
    """

    chosen: Integers
    weight: float | Floats
    work: float

    @property
    def weights(self) -> Floats:
        """How many results each stands for, one by one."""
        return np.broadcast_to(np.asarray(self.weight, np.float64), self.chosen.size)


@lru_cache(maxsize=2)
def results_of(scenario: WorkScenario) -> Results:
    """Find all results.

    Raises
    ------
    SessionError
        If scipy is not installed.
    """
    with needs_scipy():
        from penstock.yardsticks import find_matches  # noqa: PLC0415 -- slow to load

    streams = streams_of(scenario)
    matches = find_matches(streams.join(), streams.tables)
    tables = list(streams.tables.values())
    times = np.concatenate([table["time"].to_numpy() for table in tables])
    keys = np.concatenate([table["key"].to_numpy() for table in tables])
    order = np.argsort(times[matches.probing], kind="stable")
    waiting, probing = matches.waiting[order], matches.probing[order]
    by_row = np.argsort(waiting, kind="stable")
    ordered = waiting[by_row]
    ranks = np.empty(ordered.size, np.int64)
    ranks[by_row] = np.arange(ordered.size) - np.searchsorted(ordered, ordered) + 1
    return Results(
        waiting, probing, matches.rows[0][order], times[probing], ranks, keys, matches.first_rows
    )


def draw(name: str, scenario: WorkScenario, share: float) -> WorkSample:
    """Draw a sample for a share of the exact join's work."""
    generator = np.random.default_rng([scenario.seed, 3])
    if name in UNIFORM:
        return _uniform(UNIFORM[name], scenario, share, generator)
    if name == ENGINE:
        return _replayed(scenario, share)
    return _by_lot(name, scenario, share, generator)


def _uniform(
    sampler: UniformSampler, scenario: WorkScenario, share: float, generator: np.random.Generator
) -> WorkSample:
    results, costs = results_of(scenario), scenario.costs
    model = streams_of(scenario).model
    capacity = share * model.full_work
    arrivals = scenario.arrivals if sampler.is_given_matches else "regular"
    if sampler.pays_for_probes:
        of_probes = replace(model, result=0.0)
        fraction = uniform_fraction(of_probes, capacity, compare=costs.result, arrivals=arrivals)
    else:
        fraction = uniform_fraction(model, capacity, arrivals=arrivals)
    come = np.bincount(results.waiting, minlength=results.keys.size)
    limits = come if sampler.is_given_matches else _expected(results, model, generator)
    # The last of so many coins that is a success; 0 if none is, and then the row is not inserted.
    failed_after = generator.geometric(fraction, limits.size) - 1
    last = np.maximum(limits - failed_after, 0)
    own = last[results.waiting]
    lucky = generator.random(own.size) < fraction
    chosen = np.flatnonzero((results.ranks == own) | ((results.ranks < own) & lucky))
    paid = np.minimum(last, come).sum() if sampler.pays_for_probes else chosen.size
    work = float(np.count_nonzero(last) * costs.insert + paid * costs.result)
    return WorkSample(chosen, 1 / fraction, work)


def _expected(results: Results, model: WorkModel, generator: np.random.Generator) -> Integers:
    """Return how many matches each row can expect by its value, rounded by chance."""
    expected = matches_of(model)[results.streams, results.keys]
    return np.floor(expected + generator.random(expected.size)).astype(np.int64)


def _replayed(scenario: WorkScenario, share: float) -> WorkSample:
    """Replay the join with `Sample()` within a share of the work; it learns all that it knows."""
    streams, results, costs = streams_of(scenario), results_of(scenario), scenario.costs
    replay = replace(streams.join(None, share, seed=scenario.seed), goal=Sample()).replay(
        streams.tables
    )
    # A row is known by its value, which no other row has.
    rows = []
    for name, table in streams.tables.items():
        values = table["value"].to_numpy()
        order = np.argsort(values)
        own = pc.struct_field(replay.result[name], "value").to_numpy()
        rows.append(order[np.searchsorted(values, own, sorter=order)])
    right = np.where(results.streams[results.waiting] == 1, results.waiting, results.probing)
    pairs = results.left * results.keys.size + right
    order = np.argsort(pairs)
    drawn = rows[0] * results.keys.size + rows[1] + results.left_rows
    chosen = order[np.searchsorted(pairs, drawn, sorter=order)]
    weights = replay.result["weight"].to_numpy()
    in_time = np.argsort(chosen)
    metrics = replay.metrics
    work = costs.of(
        arrivals=metrics.arrived,
        inserted=metrics.inserted,
        compared=metrics.compared,
        results=metrics.emitted,
    )
    return WorkSample(chosen[in_time], weights[in_time], work)


def _by_lot(
    name: str, scenario: WorkScenario, share: float, generator: np.random.Generator
) -> WorkSample:
    results, costs = results_of(scenario), scenario.costs
    model = streams_of(scenario).model
    steps = ONLINE[name].steps(model, share * model.full_work)
    admitted, probes, waits = (
        generator.random(results.keys.size) < chances[results.streams, results.keys]
        for chances in (steps.admit, steps.probe, steps.insert)
    )
    found = (admitted & waits)[results.waiting] & (admitted & probes)[results.probing]
    chosen = np.flatnonzero(found)
    inserted = np.count_nonzero(admitted & waits)
    work = float(inserted * costs.insert + chosen.size * costs.result)
    # All count the same. By their chances those of a stream that is hardly inserted would have huge
    # weights, and errors be larger.
    return WorkSample(chosen, model.full_output / model.output(steps), work)
