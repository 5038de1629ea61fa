from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.bench.live import Burst, Harvest, Phases
from penstock.bench.live.burst import even_keys, sampled
from penstock.bench.live.burst_plan import plan_of, results_per_row
from penstock.bench.live.plan import Plan
from penstock.bench.live.sources import compile_kernels
from penstock.bench.live.speed import Sample, Size, Speed, fit
from penstock.budget import Budget
from penstock.engine.sharding import _by_hash
from penstock.errors import SessionError, SpecificationError

if TYPE_CHECKING:
    from penstock.bench.live.load import AnyLoad

# A row has 40 results with it.
SPEED = Speed(floor=0.25, row=5e-6, work=1.25e-6)
VECTORS = Speed(floor=0.25, row=1e-5, work=5e-7 / 36)
LOADS = (Burst(Phases.of(10)), Harvest(10))


def test_phases_follow_each_other() -> None:
    phases = Phases(warm_up=3, before=4, burst=5, after=6)
    assert (phases.burst_begins, phases.burst_ends, phases.seconds) == (7, 12, 18)


@pytest.mark.parametrize("seconds", [3, 0, -1])
@pytest.mark.parametrize("make", [Phases.of, Harvest])
def test_phases_in_which_windows_do_not_fill_up_are_refused(make: Any, seconds: int) -> None:  # noqa: ANN401
    words = f"^seconds must be 4 or more; got {seconds}; make it longer$"
    with pytest.raises(SpecificationError, match=words):
        make(seconds)


@pytest.mark.parametrize("name", ["warm_up", "before", "burst", "after"])
def test_each_phase_has_a_second_at_least(name: str) -> None:
    lengths = {"warm_up": 1, "before": 1, "burst": 1, "after": 1} | {name: 0}
    with pytest.raises(SpecificationError, match=f"^seconds of {name} must be 1 or more; got 0"):
        Phases(**lengths)


def test_keys_are_as_many_as_the_results_for_a_row_need() -> None:
    load = Burst(Phases.of(10), rate=1_000, results_per_row=40.0)
    assert load.rate * load.window / load.keys == 40
    assert Burst(Phases.of(10), rate=1).keys == 2
    # An even number, and few enough to be divided evenly between shards.
    assert [Burst(Phases.of(10), rate=rate).keys for rate in (122, 126, 138)] == [6, 8, 8]


@pytest.mark.parametrize("count", [2, 6, 8, 40])
def test_shards_get_as_many_keys_each(count: int) -> None:
    keys = np.array(even_keys(count))
    assert np.unique(keys).size == count
    for shards in (2, 4, 8):
        each = np.bincount(_by_hash(keys, shards), minlength=shards)
        assert each.max() - each.min() <= 1


def test_the_load_that_was_chosen_has_the_results_that_it_says() -> None:
    slow_rows = Speed(floor=0.7, row=1.45e-5, work=2e-7)
    load = Burst(Phases.of(10))
    chosen = load.planned(load.plan(slow_rows), slow_rows)
    assert chosen.results_per_row == chosen.rate * chosen.window / chosen.keys
    assert 0.7 * results_per_row(slow_rows) < chosen.results_per_row
    assert chosen.results_per_row < 1.05 * results_per_row(slow_rows)
    assert replace(chosen, rate=chosen.rate).keys == chosen.keys


def test_rows_are_counted_by_phase() -> None:
    load = Burst(Phases(warm_up=1, before=2, burst=3, after=4), rate=100)
    # By the condition in words: every number in the burst, and every fifth of the others.
    numbers = np.arange(load.numbers)
    in_burst = (numbers >= 3 * 500) & (numbers < 6 * 500)
    assert load.rows == np.count_nonzero(in_burst | (numbers % 5 == 0)) == 700 + 1_500
    assert "value BETWEEN 1500 AND 2999" in load.is_row()


def test_streams_are_sampled_each_for_itself() -> None:
    told: dict[str, str] = {}
    frames: Any = {
        name: SimpleNamespace(where=lambda words, name=name: told.update({name: words}))
        for name in ("left", "right")
    }
    sampled(frames, 0.25)
    assert told == {"left": "rand(0) < 0.25", "right": "rand(1) < 0.25"}


def test_all_queries_of_the_burst_are_there_and_the_slow_ones_come_last() -> None:
    load, plan = Burst(Phases.of(10)), plan_of(SPEED)
    queries = load.queries(plan)
    assert list(queries) == ["cpu", "sampled", "best", "exact", "spark"]
    assert [name for name, query in queries.items() if query.waits] == ["cpu"]
    assert [name for name, query in queries.items() if not query.is_ours] == ["spark"]
    assert "spark" not in Burst(Phases.of(10), with_spark=False).queries(plan)
    assert queries["sampled"].name == "Penstock, 24% of the rows"


def test_all_queries_of_harvesting_are_there_and_the_slow_one_comes_last() -> None:
    queries = Harvest(10).queries(Plan(1, 100, 0.4))
    assert list(queries) == ["cpu", "random", "exact"]
    assert queries["random"].name == "Penstock, random-drop, cpu=0.4"
    assert [name for name, query in queries.items() if query.waits] == ["cpu", "random"]


@pytest.mark.parametrize("load", LOADS, ids=lambda load: str(load.name))
@pytest.mark.parametrize("budget", [None, Budget(cpu=0.5)], ids=["exact", "cpu"])
def test_kernels_are_compiled_by_use(load: AnyLoad, budget: Budget | None) -> None:
    compile_kernels(load, load.join(budget))


@pytest.mark.parametrize("load", LOADS, ids=lambda load: str(load.name))
def test_streams_for_a_measurement_have_the_size_that_is_asked_for(load: AnyLoad) -> None:
    size = load.size_at(500, SPEED)
    steady = load.steady(size, 20)
    assert steady.numbers_per_second == size.rate == 500
    assert steady.seconds >= 20
    assert steady.size_at(500, SPEED) == size


def test_the_plan_of_the_burst_leaves_the_same_head_room_to_all() -> None:
    plan, results = plan_of(SPEED), results_per_row(SPEED)
    assert results == 40
    assert SPEED.seconds(5 * plan.rate, 2 * results) == pytest.approx(2.75, abs=0.001)
    assert SPEED.seconds(5 * plan.rate * plan.fraction, 80) == pytest.approx(0.85, abs=0.02)
    assert plan.cpu + SPEED.floor == pytest.approx(0.85)
    rows, best = SPEED.seconds(5 * plan.rate, 0.0) - SPEED.floor, plan.best_fraction
    work = SPEED.seconds(5 * plan.rate, 80) - SPEED.floor - rows
    assert best * rows + best**2 * work == pytest.approx(plan.cpu, abs=0.03)
    assert rows + plan.recall * work == pytest.approx(plan.cpu, abs=0.02)


def test_rows_of_the_burst_are_a_small_part_of_the_work() -> None:
    slow_rows = Speed(floor=0.2, row=2e-5, work=4e-7)
    results = 2 * results_per_row(slow_rows) * slow_rows.work
    assert slow_rows.row / (slow_rows.row + results) == pytest.approx(0.06)


def test_what_is_not_in_the_costs_leaves_less_to_the_join_and_a_lower_rate() -> None:
    plan, usual = plan_of(SPEED, overhead=0.28), plan_of(SPEED)
    assert plan.cpu == pytest.approx(0.57)
    assert plan.rate < usual.rate
    # Steady streams leave a part of it.
    assert SPEED.seconds(plan.rate, 80) - SPEED.floor == pytest.approx(0.85 * 0.57, abs=0.001)
    least = plan_of(SPEED, overhead=0.6)
    assert SPEED.seconds(5 * least.rate, 80) == pytest.approx(2.6, abs=0.001)


def test_harvesting_gets_twice_the_rate_that_the_exact_join_can_take() -> None:
    load = Harvest(10)
    plan = load.plan(VECTORS)
    half = load.size_at(round(plan.rate / 2), VECTORS)
    # Micro-batches have the rows of two seconds, so that Spark's own time matters less.
    assert plan.trigger == 2
    taken = VECTORS.seconds(2 * half.rate, half.work)
    assert taken == pytest.approx(2.0, abs=0.01)
    # What is not in the costs leaves less to the join.
    more = load.plan(VECTORS, overhead=0.35).cpu - load.plan(VECTORS, overhead=0.45).cpu
    assert more == pytest.approx(0.1)
    assert load.warm_up > load.window


@pytest.mark.parametrize("load", LOADS, ids=lambda load: str(load.name))
def test_a_machine_without_time_for_a_join_is_refused(load: AnyLoad) -> None:
    with pytest.raises(SessionError, match=r"what rows leave for a budget must be 0\.05 s or more"):
        load.plan(VECTORS, 1.1)


def test_what_is_too_small_to_be_measured_is_left_out() -> None:
    sizes = Size(1_000, 80.0), Size(4_000, 80.0), Size(4_000, 2.0)
    speed = fit([Sample(*each) for each in zip(sizes, (0.5, 0.4, 0.5), strict=True)])
    assert min(speed.floor, speed.row, speed.work) >= 0
    assert speed.work == 1e-12
    speed = fit([Sample(*each) for each in zip(sizes, (0.5, 1.0, 0.5), strict=True)])
    assert speed.seconds(4_000, 80.0) == pytest.approx(1.0, rel=0.1)
