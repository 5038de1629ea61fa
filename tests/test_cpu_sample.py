"""Samples within a share of the processor: unbiased, as large as the work allows, and no larger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.statistics.cluster_sample import total_of
from penstock.statistics.work_output import WorkModel
from penstock.statistics.work_uniform import uniform_fraction
from penstock.strategies import Uniform, strategies_for

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.statistics.work_uniform import Arrivals
    from penstock.strategies import Strategy

    Floats = npt.NDArray[np.float64]

WINDOWS = {"l": 3.0, "r": 4.0}
# Rows per second of each value: half of them come twice as often. In a life a row of the left
# stream has 3 or 6 matches, one of the right stream 8 or 16: whole numbers, as eq. 18 has it.
RATES = {"l": (2.0, 4.0), "r": (1.0, 2.0)}
COSTS = ps.Costs(insert=4e-4, result=1e-4)


@dataclass(frozen=True)
class Setting:
    """Two streams of 4.5 rows per second and value; rows know how many matches they have."""

    arrivals: Arrivals = "poisson"
    seconds: float = 20.0
    values: int = 100
    part: float = 1.0

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        draw = np.random.default_rng(5)
        streams: dict[str, tuple[Floats, Floats]] = {}
        # Matches are those of streams that go on: the last rows do not know of the end.
        end = self.seconds + max(WINDOWS.values())
        for name, rates in RATES.items():
            parts = []
            for value, rate in enumerate(np.repeat(self.part * np.array(rates), self.values // 2)):
                if self.arrivals == "regular":
                    own = np.arange(draw.random() / rate, end, 1 / rate)
                else:
                    own = draw.uniform(0, end, draw.poisson(rate * end))
                parts.append((own, np.full(own.size, float(value))))
            times, keys = (np.concatenate(each) for each in zip(*parts, strict=True))
            order = np.argsort(times)
            streams[name] = times[order], keys[order]
        tables = {}
        for name, (at, key) in streams.items():
            columns = {
                "time": at,
                "key": key.astype(np.int64),
                "n": _matches(at, key, *streams["r" if name == "l" else "l"], name),
                "x": draw.uniform(0, 2, at.size) + key / self.values,
            }
            tables[name] = pa.table(columns).filter(pa.array(at < self.seconds))
        return tables

    @property
    def streams(self) -> dict[str, ps.Stream]:
        return {name: ps.Stream(time="time", window=window) for name, window in WINDOWS.items()}

    @property
    def model(self) -> WorkModel:
        counts = [
            np.bincount(table["key"].to_numpy(), minlength=self.values) / self.seconds
            for table in self.tables.values()
        ]
        windows = WINDOWS["l"], WINDOWS["r"]
        return WorkModel(np.stack(counts), windows, insert=COSTS.insert, result=COSTS.result)

    @property
    def exact(self) -> ps.Join:
        return ps.Join(streams=self.streams, on=ps.Equal("key"))

    def join(
        self, strategy: str | Strategy, share: float, *, rows: int | None = None, seed: int = 0
    ) -> ps.Join:
        """Return a sample with a share of the exact join's work; matches are known to UNIFORM."""
        is_told = strategy == "uniform" or isinstance(strategy, Uniform)
        goal = ps.Sample(strategy=strategy, matches={"l": "n", "r": "n"} if is_told else None)
        cpu = share * self.model.full_work
        budget = ps.Budget(cpu=cpu, costs=COSTS, burst=1.0, rows=rows)
        return ps.Join(
            streams=self.streams, on=ps.Equal("key"), goal=goal, budget=budget, seed=seed
        )


def _matches(
    times: Floats, keys: Floats, other_times: Floats, other_keys: Floats, name: str
) -> npt.NDArray[np.int64]:
    """Return for each row how many rows of the other stream come while it waits."""
    found = np.zeros(times.size, np.int64)
    for value in np.unique(keys):
        mine, others = keys == value, np.sort(other_times[other_keys == value])
        until = np.searchsorted(others, times[mine] + WINDOWS[name], "right")
        found[mine] = until - np.searchsorted(others, times[mine], "right")
    return found


@dataclass(frozen=True)
class Second:
    """What has come of a replay after a second.

    Work and results so far, what these stand for, the fraction now, and rows in memory.
    """

    work: float
    emitted: int
    whole: float
    fraction: float
    held: int


def seconds_of(join: ps.Join, tables: dict[str, pa.Table]) -> list[Second]:
    operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
    assert operator.work is not None
    end = max(float(table["time"].to_numpy().max()) for table in tables.values())
    seconds = []
    for stop in np.arange(1.0, end):
        batch = {}
        for name, table in tables.items():
            times = table["time"].to_numpy()
            batch[name] = table.filter(pa.array((times >= stop - 1) & (times < stop)))
        operator.process(batch)
        metrics = operator.metrics()
        assert metrics.fraction is not None
        held = sum(stream.held for stream in metrics.streams.values())
        so_far = metrics.work, metrics.emitted, metrics.estimated
        seconds.append(Second(*so_far, metrics.fraction, held))
    return seconds


def share_used(join: ps.Join, seconds: list[Second], start: int, length: int) -> float:
    """Return the work of a stretch of time, as a share of what is allowed in it."""
    assert join.budget is not None
    assert join.budget.cpu_share is not None
    work = seconds[start + length].work - seconds[start].work
    return work / (length * join.budget.cpu_share)


# --- How much is drawn

# Windows are full after 4 s, and what was not used meanwhile has been spent after 8 s.
_AFTER = 8
# Of the fraction for the work that was done. Windows hold 3,300 rows, of which chance brings 2 %
# more or less, and 4 % more or less results. The fraction follows that, and rows that it has left
# behind were inserted for nothing.
_ERROR = 0.1


@pytest.mark.slow
@pytest.mark.parametrize("cost", ["results", "probes"])
@pytest.mark.parametrize("arrivals", ["poisson", "regular"])
def test_the_fraction_of_uniform_is_that_of_the_formulas(cost: str, arrivals: Arrivals) -> None:
    setting = Setting(arrivals, values=200)
    share, model = 0.4, setting.model
    join = setting.join(Uniform(cost=cost), share)
    seconds = seconds_of(join, setting.tables)
    compare = 0.0
    if cost == "probes":  # equation 23; else equation 25
        compare, model = model.result, replace(model, result=0.0)
    used = share_used(join, seconds, _AFTER, len(seconds) - _AFTER - 1)
    assert used == pytest.approx(1.0, abs=0.06)
    capacity = used * share * setting.model.full_work
    by_formula = uniform_fraction(model, capacity, compare=compare, arrivals=arrivals)
    first, last = seconds[_AFTER], seconds[-1]
    drawn = (last.emitted - first.emitted) / (last.whole - first.whole)
    assert drawn == pytest.approx(by_formula, rel=_ERROR)


@pytest.mark.slow
def test_the_fraction_of_equal_chances_is_the_share_of_the_work() -> None:
    setting = Setting()
    seconds = seconds_of(setting.join("eq-cluster", 0.3), setting.tables)
    fractions = [second.fraction for second in seconds[_AFTER:]]
    assert np.mean(fractions) == pytest.approx(0.3, rel=_ERROR)


# --- The work that it takes


@pytest.mark.parametrize(
    "name",
    [
        "eq-cluster",
        pytest.param("pps-cluster", marks=pytest.mark.slow),
        pytest.param("uniform", marks=pytest.mark.slow),
    ],
)
def test_work_is_what_is_allowed(name: str) -> None:
    setting = Setting()
    join = setting.join(name, 0.4)
    seconds = seconds_of(join, setting.tables)
    # What was kept for a burst comes on top: at most one second of a stretch of eight.
    used = [share_used(join, seconds, start, 8) for start in range(4, len(seconds) - 8)]
    assert max(used) <= 1.02 + 1 / 8
    assert min(used) >= 0.9
    assert share_used(join, seconds, 4, len(seconds) - 5) == pytest.approx(1.0, abs=0.04)


@pytest.mark.slow
def test_a_burst_is_kept_to_and_passes() -> None:
    draw = np.random.default_rng(2)
    stretches = ((0, 20, 2000), (20, 40, 10000), (40, 60, 2000))
    times = np.concatenate([np.sort(draw.uniform(a, b, n)) for a, b, n in stretches])
    table = pa.table({"time": times, "key": draw.integers(0, 50, times.size)})
    # Enough for the steady part.
    budget = ps.Budget(cpu=0.4, costs=ps.Costs(insert=1e-4, result=1e-4), burst=1.0)
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=5.0) for name in "lr"},
        on=ps.Equal("key"),
        goal=ps.Sample(strategy="eq-cluster"),
        budget=budget,
    )
    tables = {"l": table, "r": table}
    seconds = seconds_of(join, tables)
    assert all(second.fraction == 1.0 for second in seconds[:19])
    in_burst = [share_used(join, seconds, start, 10) for start in range(19, 30)]
    assert max(in_burst) <= 1.02 + 1 / 10
    assert min(in_burst) >= 0.9
    # By formula a twelfth, by the end of it.
    assert 0.05 < seconds[38].fraction < 0.12
    # All rows of the burst have left their windows.
    assert all(second.fraction == 1.0 for second in seconds[47:])


@pytest.mark.slow
def test_of_two_limits_the_smaller_fraction_holds() -> None:
    setting = Setting()
    by_work = seconds_of(setting.join("eq-cluster", 0.5), setting.tables)
    alive = 1650
    for rows in (alive // 4, alive):
        both = setting.join("eq-cluster", 0.5, rows=rows)
        seconds = seconds_of(both, setting.tables)
        assert max(second.held for second in seconds) <= rows
        wanted = min(rows / alive, np.mean([each.fraction for each in by_work[_AFTER:]]))
        found = np.mean([second.fraction for second in seconds[_AFTER:]])
        assert found == pytest.approx(wanted, rel=0.1)
        assert share_used(both, seconds, 4, len(seconds) - 5) <= 1.04


# --- What it stands for

_REPLAYS = 150


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eq-cluster", "pps-cluster", "uniform"])
def test_counts_and_sums_are_unbiased(name: str) -> None:
    setting = Setting(seconds=12.0, part=0.2)
    exact = setting.exact.replay(setting.tables).result

    def totals(result: pa.Table) -> tuple[float, float]:
        weights = result["weight"].to_numpy()
        values = pc.struct_field(result["l"].combine_chunks(), "x").to_numpy()
        return float(weights.sum()), float((weights * values).sum())

    truth = np.array(totals(exact))
    estimates = []
    for seed in range(_REPLAYS):
        replay = setting.join(name, 0.4, seed=seed).replay(setting.tables)
        assert replay.result.num_rows < 0.8 * exact.num_rows
        estimates.append(totals(replay.result))
    errors = np.array(estimates) / truth - 1.0
    # 4 standard errors of the mean: chance exceeds them once in 16,000 cases.
    bounds = 4.0 * errors.std(axis=0) / np.sqrt(_REPLAYS)
    assert np.all(bounds < 0.06)
    assert np.all(np.abs(errors.mean(axis=0)) < bounds)


@pytest.mark.parametrize("name", ["eq-cluster", "uniform"])
def test_metrics_tell_the_size_of_the_whole(name: str) -> None:
    setting = Setting(seconds=10.0)
    exact = setting.exact.replay(setting.tables).metrics.emitted
    replay = setting.join(name, 0.4).replay(setting.tables)
    metrics = replay.metrics
    assert metrics.fraction is not None
    assert metrics.fraction < 0.6
    size = metrics.true_size
    assert size is not None
    # The interval of 95 %, widened to one that chance misses once in 10,000 cases.
    assert abs(size.value - exact) <= size.high - size.low
    assert size.value == pytest.approx(replay.result["weight"].to_numpy().sum())
    assert metrics.throttle == pytest.approx(0.4, rel=0.15)
    words = metrics.summary()
    assert "a random sample of about" in words
    assert "not drawn for the sample" in words
    assert "a larger share of the CPU, or more shards on more cores, make the sample" in words


def test_sums_are_estimated_with_the_weights() -> None:
    setting = Setting(seconds=10.0)
    whole = setting.exact.replay(setting.tables).result
    truth = pc.sum(pc.struct_field(whole["l"].combine_chunks(), "x")).as_py()
    result = setting.join("eq-cluster", 0.4).replay(setting.tables).result
    values = pc.struct_field(result["l"].combine_chunks(), "x").to_numpy()
    weights, clusters = result["weight"].to_numpy(), result["cluster"].to_numpy()
    total = total_of(values, weights, clusters)
    # The interval of 95 %, widened to one that chance misses once in 10,000 cases.
    assert total.low is not None
    assert total.high is not None
    assert abs(total.value - truth) <= total.high - total.low


# --- What is refused, and what is chosen


def _join(goal: ps.Sample, **limits: float) -> ps.Join:
    streams = {name: ps.Stream(time="time", window=3) for name in "lr"}
    budget = ps.Budget(cpu=0.5, costs=COSTS, **limits)  # type: ignore[arg-type]  # rows
    return ps.Join(streams=streams, on=ps.Equal("key"), goal=goal, budget=budget)


def _words(goal: ps.Sample) -> str:
    with pytest.raises(ps.SpecificationError) as caught:
        _join(goal)
    return str(caught.value)


def test_one_strategy_keeps_to_both_limits() -> None:
    words = _words(ps.Sample(strategy={"memory": "uniform", "cpu": "eq-cluster"}))
    assert "strategy of Sample must be the same for memory and cpu" in words
    assert "its fraction is the smaller of what memory and cpu allow" in words
    both = _join(ps.Sample(strategy={"memory": "uniform", "cpu": "uniform"}), rows=10)
    assert strategies_for(both.goal, both.budget) == (Uniform(),)


def test_the_cost_of_uniform_is_one_of_two() -> None:
    with pytest.raises(ps.SpecificationError) as caught:
        Uniform(cost="both")
    assert 'cost of Uniform must be one of "results", "probes"; got \'both\'' in str(caught.value)


def test_without_a_name_it_is_as_with_a_limit_of_memory() -> None:
    setting = Setting(seconds=5.0)
    tables = setting.tables
    for goal, name in (
        (ps.Sample(), "cluster"),
        (ps.Sample(of="l", matches={"l": "n", "r": "n"}), "uniform"),
    ):
        assert _join(goal).replay(tables).metrics.strategy == name
