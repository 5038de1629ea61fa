"""Window harvesting in the engine: what is probed, what is found, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.costs import Costs
from penstock.strategies import BestLot, Decision, Grub, Insert, RandomDrop, strategies_for
from penstock.strategies.by_cost import ByCost
from penstock.strategies.harvesting import PARTS
from penstock.strategies.view import View, WorkView
from penstock.testing import lagged_streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.predicates import Predicate
    from penstock.strategies import Strategy
    from penstock.testing import LaggedStreams

WINDOW = 20.0
# Rows of the first stream come last: 5 after their partners in the second, 15 after the third's.
LAGS, DEVIATIONS = (0.0, 5.0, 15.0), (2.0, 2.0, 50.0)


def view_of(costs: Costs, capacity: float, lags: Mapping[int, int] | None = None) -> WorkView:
    """Two streams of 100 rows, whose partners are in one part of each other's windows."""
    shares = np.full((2, 2, PARTS), 1e-6)
    for arriving, part in (lags or {0: 3, 1: 12}).items():
        shares[arriving, 1 - arriving, part] = 1.0
    return WorkView(
        capacity=capacity,
        at_once=capacity,
        costs=costs,
        rates=np.array([100.0, 100.0]),
        lives=np.array([WINDOW, WINDOW]),
        selectivity=0.001,
        compared=1000.0,
        grades=np.zeros((2, 1, 2)),
        orders=np.array([[1], [0]]),
        selectivities=np.full((2, 2), 0.001),
        lags=shares / shares.sum(axis=2, keepdims=True),
    )


# 400,000 comparisons and 400 results in a unit of time.
COMPARING = Costs(compare=1e-6)
GIVING = Costs(insert=1e-6, compare=1e-9, result=1e-3)


class TestDecisions:
    def test_with_enough_work_whole_windows_are_probed(self) -> None:
        assert Grub().share_out(view_of(COMPARING, 0.5)) == Decision()
        assert RandomDrop().share_out(view_of(COMPARING, 0.5)) == Decision()

    def test_what_is_probed_is_where_partners_are(self) -> None:
        probe = Grub().share_out(view_of(COMPARING, 0.1)).probe
        shares = np.asarray(probe.sub_windows)
        assert shares[0, 1, 3] == 1.0
        assert shares[1, 0, 12] == 1.0
        # A tenth of the work goes into rows that probe whole windows.
        assert probe.whole == pytest.approx(0.1 * 0.1 / 0.4)
        spent = probe.whole * 0.4 + (1 - probe.whole) * 0.2 * shares.sum() / PARTS
        assert spent == pytest.approx(0.1, rel=0.02)

    def test_results_are_paid_for_as_well(self) -> None:
        costs = Costs(compare=1e-6, result=1e-3)
        probe = Grub().share_out(view_of(costs, 0.2)).probe
        shares = np.asarray(probe.sub_windows)
        found = 200 * (shares[0, 1, 3] + shares[1, 0, 12])
        in_parts = 0.2 * shares.sum() / PARTS + 1e-3 * found
        spent = probe.whole * 0.8 + (1 - probe.whole) * in_parts
        assert 0.95 * 0.2 < spent <= 0.2 * 1.001

    def test_for_a_quarter_of_the_comparisons_a_quarter_of_all_pairs_is_left(self) -> None:
        of_each, of_all = (
            np.asarray(strategy.share_out(view_of(COMPARING, 0.1)).admit.chances)
            for strategy in (RandomDrop(), RandomDrop(common=True))
        )
        assert of_each.prod() == pytest.approx(0.25, rel=1e-3)
        assert of_all == pytest.approx([0.5, 0.5], rel=1e-3)

    def test_boxes_are_for_all_that_is_charged(self) -> None:
        """Insertions take 0.2, comparisons 0.4 and results 0.4 of what there is for half of it."""
        costs = Costs(insert=1e-3, compare=1e-6, result=1e-3)
        for strategy in (RandomDrop(), RandomDrop(common=True)):
            chances = np.asarray(strategy.share_out(view_of(costs, 0.5)).admit.chances)
            assert 0.1 * chances.sum() + 0.8 * chances.prod() == pytest.approx(0.5, rel=1e-3)

    def test_where_parts_save_no_comparisons_fewer_rows_probe(self) -> None:
        """An index finds partners of any age: what is not probed is compared all the same."""
        view = replace(view_of(COMPARING, 0.04), comparing=1.0, skips=False)
        probe = Grub().share_out(view).probe
        assert np.asarray(probe.sub_windows).min() == 1.0
        # Twice as many as there is work for: the account of work keeps others from probing.
        assert probe.chances == pytest.approx(2 * 0.04 / 0.4)

    def test_by_cost_harvests_where_comparisons_cost_and_inserts_fewer_where_results_do(
        self,
    ) -> None:
        comparing, giving = view_of(COMPARING, 0.1), view_of(GIVING, 0.1)
        assert ByCost().share_out(comparing).probe.sub_windows is not None
        by_lot = ByCost().share_out(giving)
        assert by_lot.probe.sub_windows is None
        assert np.all(np.asarray(by_lot.insert.chances) < 1.0)

    def test_by_cost_sheds_by_the_best_lot_of_three_streams(self) -> None:
        view = view_of(GIVING, 0.1)
        three = replace(
            view,
            rates=np.full(3, 100.0),
            lives=np.full(3, WINDOW),
            selectivity=1e-6,
            grades=np.zeros((3, 1, 2)),
            orders=np.array([[1, 2], [2, 0], [0, 1]]),
            selectivities=np.full((3, 3), 0.001),
            lags=np.full((3, 3, PARTS), 1.0 / PARTS),
        )
        chosen = ByCost().share_out(three)
        assert repr(chosen) == repr(BestLot().share_out(three))
        assert chosen.probe.sub_windows is None

    def test_by_cost_stays_with_what_it_does_unless_the_other_is_clearly_better(self) -> None:
        view = view_of(COMPARING, 0.1)
        # Partners are in all parts alike: what is probed does not matter, and either will do.
        alike = replace(view, lags=np.full((2, 2, PARTS), 1.0 / PARTS))
        harvests = Grub().share_out(alike)
        inserts = Decision(insert=Insert(0.2))
        for previous in (harvests, inserts):
            decided = ByCost().decide(View((), None, None, previous=previous, work=alike))
            assert (decided.probe.sub_windows is None) == (previous.probe.sub_windows is None)

    def test_with_little_memory_rows_probe_by_lot_until_there_is_a_result(self) -> None:
        shares = {"none": np.full(2, 0.5), "one": np.array([0.9, 0.1])}
        probed = {}
        for seen, found_shares in shares.items():
            work = replace(view_of(COMPARING, 0.1), found_shares=found_shares)
            probed[seen] = Grub().decide(View((), 100, None, work=work)).probe
        assert not probed["none"].is_certain
        assert np.all(np.asarray(probed["none"].sub_windows) == 1.0)
        assert probed["one"].is_certain
        work = replace(view_of(COMPARING, 0.1), found_shares=shares["none"])
        assert Grub().decide(View((), None, None, work=work)).probe.is_certain

    def test_shredded_is_the_share_of_the_work_for_rows_that_probe_whole_windows(self) -> None:
        view = view_of(COMPARING, 0.1)
        for shredded in (0.05, 0.1, 0.4):
            probe = Grub(shredded=shredded).share_out(view).probe
            assert probe.whole * 0.4 == pytest.approx(shredded * 0.1)

    def test_windows_are_cut_into_as_many_parts_as_are_asked_for(self) -> None:
        streams = lagged(30.0)
        for parts in (5, 40):
            seen: list[Decision] = []
            streams.metrics(Monitored(parts=parts, seen=seen), 0.2)
            harvests = [np.asarray(d.probe.sub_windows) for d in seen if d.sheds_arrivals]
            assert {each.shape for each in harvests} == {(3, 3, parts)}
        assert Grub().needs.lags == PARTS

    @pytest.mark.parametrize("shredded", [0.0, 1.0, -0.1, float("nan"), True, "much"])
    def test_shredded_is_a_share(self, shredded: object) -> None:
        with pytest.raises(ps.SpecificationError, match="shredded of Grub must be a number above"):
            Grub(shredded=shredded)  # type: ignore[arg-type]

    @pytest.mark.parametrize("parts", [1, 101, 2.5, True])
    def test_parts_is_a_number_of_sub_windows(self, parts: object) -> None:
        with pytest.raises(ps.SpecificationError, match="parts of Grub must be a whole number"):
            Grub(parts=parts)  # type: ignore[arg-type]

    @pytest.mark.parametrize("common", [1, "yes", None])
    def test_common_is_yes_or_no(self, common: object) -> None:
        with pytest.raises(ps.SpecificationError, match="common of RandomDrop must be True or"):
            RandomDrop(common=common)  # type: ignore[arg-type]


def test_without_a_name_similar_vectors_are_harvested() -> None:
    streams = {name: ps.Stream(time="t", window=10) for name in "ab"}
    budget = ps.Budget(cpu=0.5, costs=Costs(compare=1e-6))
    join = ps.Join(streams=streams, on=ps.Similar(1.0, a="v", b="v"), budget=budget)
    assert strategies_for(join.goal, budget, has_index=join.on.has_index) == (ByCost(),)
    assert ps.Equal("k").has_index


# --- Replays


def tables_of(made: LaggedStreams) -> dict[str, pa.Table]:
    """Return values as vectors of one number: all rows of a window are compared."""
    return {
        name: pa.table(
            {
                "t": table["time"],
                "v": pa.FixedSizeListArray.from_arrays(table["value"].combine_chunks(), 1),
            }
        )
        for name, table in made.tables.items()
    }


@dataclass(frozen=True)
class Lagged:
    """Streams with lags, and their exact join."""

    tables: dict[str, pa.Table]
    duration: float
    window: float = WINDOW
    distance: float = 1.0

    def join(self, strategy: str | Strategy | None = None, share: float | None = None) -> ps.Join:
        """Return the join with a share of the comparisons of the exact one."""
        budget = None
        if share is not None:
            compared = self.join().replay(self.tables).metrics.compared
            costs = Costs(compare=self.duration / (share * compared))
            budget = ps.Budget(cpu=1.0, costs=costs, burst=1.0)
        return ps.Join(
            streams={name: ps.Stream(time="t", window=self.window) for name in self.tables},
            on=ps.Similar(
                self.distance,
                metric="euclidean",
                dimensions=None,
                **dict.fromkeys(self.tables, "v"),
            ),
            goal=ps.MaxSubset(strategy=strategy),
            budget=budget,
        )

    def metrics(self, strategy: str | Strategy | None, share: float | None) -> ps.Metrics:
        return self.join(strategy, share).replay(self.tables).metrics


def is_covered(metrics: ps.Metrics, exact: int) -> bool:
    """Return whether the true recall is in the interval."""
    assert metrics.recall is not None
    return metrics.recall.low <= metrics.emitted / exact <= metrics.recall.high


def lagged(duration: float = 80.0, rate: float = 30.0, **others: object) -> Lagged:
    options = {"lags": LAGS, "deviations": DEVIATIONS, "seed": 1} | others
    made = lagged_streams(rate=rate, duration=duration, **options)  # type: ignore[arg-type]
    return Lagged(tables_of(made), duration)


def test_a_fifth_of_the_work_finds_most_results_and_many_times_those_of_random_dropping() -> None:
    streams = lagged()
    whole = streams.metrics(None, None)
    exact = whole.emitted
    grub, dropped, chosen = (streams.metrics(s, 0.2) for s in ("grub", "random-drop", None))
    assert grub.emitted > 0.6 * exact
    assert grub.emitted > 4 * dropped.emitted
    assert chosen.emitted > 0.97 * grub.emitted
    assert chosen.strategy == "by-cost"
    for metrics in (grub, dropped):
        assert 0.95 < (metrics.work or 0) / (metrics.work_allowed or 1) < 1.02
    assert is_covered(grub, exact)
    # Comparisons are all that costs.
    assert grub.throttle == pytest.approx(grub.compared / whole.compared, rel=0.05)
    assert sum(each.not_inserted for each in grub.streams.values()) == 0
    assert sum(each.not_probed for each in grub.streams.values()) > 0
    assert sum(each.unseen for each in grub.streams.values()) == 0


def test_without_lags_it_is_no_worse_than_random_dropping() -> None:
    """Values by lot: any row may match any other, and no part of a window is better than others."""
    streams = lagged(deviations=(5000.0, 5000.0), lags=(0.0, 0.0), rate=60.0, duration=60.0)
    grub, dropped = (streams.metrics(name, 0.3).emitted for name in ("grub", "random-drop"))
    assert grub > 0.93 * dropped


def values_of(made: LaggedStreams) -> dict[str, pa.Table]:
    """Return values as numbers, of which an index finds those that are near."""
    return {
        name: pa.table({"t": table["time"], "x": table["value"], "k": pc.floor(table["value"])})
        for name, table in made.tables.items()
    }


@pytest.mark.parametrize(
    ("on", "least"), [(ps.Within(1.0, s1="x", s2="x"), 0.13), (ps.Equal("k"), 0.15)]
)
def test_where_an_index_finds_partners_it_keeps_to_the_work(on: Predicate, least: float) -> None:
    """Rows of the index are compared whatever their age: leaving parts out saves nothing.

    (As if it did, .03 of the results were found with .25 to .31 of the comparisons.)
    """
    made = lagged_streams(rate=60.0, duration=100.0, lags=LAGS[:2], deviations=(2.0, 2.0), seed=1)
    tables = values_of(made)
    join = ps.Join(streams={n: ps.Stream(time="t", window=WINDOW) for n in tables}, on=on)
    exact = join.replay(tables).metrics
    budget = ps.Budget(cpu=1.0, costs=Costs(compare=100.0 / (0.2 * exact.compared)), burst=1.0)
    limited = replace(join, goal=ps.MaxSubset(strategy="grub"), budget=budget)
    found = limited.replay(tables).metrics
    assert found.compared < 0.21 * exact.compared
    assert found.emitted > least * exact.emitted
    assert found.recall is not None
    assert 0.8 * found.emitted < found.recall.value * exact.emitted < 1.25 * found.emitted


@pytest.mark.slow
def test_with_little_memory_as_well_rows_stay_that_will_be_asked_for() -> None:
    """A third of the rows, a fifth of the comparisons: not much less than with the rows alone.

    For ten windows: what is learned in the first ones is too little to be the same in every run.
    """
    made = lagged_streams(rate=20.0, duration=200.0, lags=LAGS, deviations=(2.0, 2.0, 20.0), seed=2)
    streams = Lagged(tables_of(made), 200.0, distance=3.0)
    exact = streams.metrics(None, None)
    limited = streams.join("grub", 0.2)
    assert limited.budget is not None
    rows = int(0.35 * exact.held_most)
    alone = replace(limited, goal=ps.MaxSubset(), budget=ps.Budget(rows=rows))
    both = replace(limited.budget, rows=rows)
    found = {
        name: replace(
            limited, goal=ps.MaxSubset(strategy={"memory": name, "cpu": "grub"}), budget=both
        )
        .replay(streams.tables)
        .metrics.emitted
        for name in ("best", "random")
    }
    assert found["best"] > 2 * found["random"]
    assert found["best"] > 0.75 * alone.replay(streams.tables).metrics.emitted


@pytest.mark.slow
def test_with_little_memory_the_first_results_are_found_soon() -> None:
    """Partners are 15 s apart, and memory holds 7 s: at first only rows kept by lot find them.

    Of this seed nothing was found as long as parts of windows were probed from the beginning.
    """
    streams = lagged(deviations=(2.0, 2.0, 20.0), seed=2)
    exact = streams.metrics(None, None)
    limited = streams.join("grub", 0.1)
    assert limited.budget is not None
    both = replace(limited.budget, rows=630)
    found = replace(limited, budget=both).replay(streams.tables).metrics
    assert found.emitted > 0.15 * exact.emitted


@pytest.mark.slow
def test_with_little_memory_comparisons_are_counted_where_rows_are() -> None:
    """Values by lot, the newest third of the rows: all of them are in a few parts of the windows.

    No choice of comparisons can find more than its share of the results then.
    """
    streams = lagged(deviations=(5000.0, 5000.0), lags=(0.0, 0.0), rate=30.0, duration=60.0)
    exact = streams.metrics(None, None)
    limited = streams.join("grub", 0.2)
    assert limited.budget is not None
    both = replace(limited.budget, rows=int(0.35 * exact.held_most))
    goal = ps.MaxSubset(strategy={"memory": "fifo", "cpu": "grub"})
    found = replace(limited, goal=goal, budget=both).replay(streams.tables).metrics
    assert found.compared < 0.21 * exact.compared
    assert found.emitted < 0.25 * exact.emitted


@dataclass(frozen=True)
class Monitored(Grub):
    """Notes what it has decided."""

    name: ClassVar[str] = "monitored"
    seen: list[Decision] = field(default_factory=list, compare=False)

    def share_out(self, work: WorkView) -> Decision:
        self.seen.append(super().share_out(work))
        return self.seen[-1]


def test_parts_are_really_harvested() -> None:
    """What is found is where was looked: rows in parts that are not probed are hardly found."""
    streams = lagged()
    seen: list[Decision] = []
    found = streams.join(Monitored(seen=seen), 0.2).replay(streams.tables)
    # Rows of the first stream, which come last, in the window of the second.
    probed = np.mean(
        [np.asarray(d.probe.sub_windows)[0, 1] for d in seen[len(seen) // 2 :]], axis=0
    )
    assert 0.5 < probed[3:7].max() <= 1.0
    assert probed[10:].sum() < 0.1 * probed.sum()
    times = {
        name: np.array([row["t"] for row in found.result[name].to_pylist()])
        for name in ("s1", "s2")
    }
    late = found.result["time"].to_numpy() > streams.duration / 2
    ages = (times["s1"] - times["s2"])[late]
    assert np.mean((ages > 3.0) & (ages < 7.0)) > 0.9
    assert found.metrics.compared < 0.25 * streams.metrics(None, None).compared


@pytest.mark.slow
def test_the_gain_falls_with_the_deviation_of_the_third_stream() -> None:
    """Figure 12 of `gedik05`: the less time says of values, the less can be harvested."""
    gains = []
    for kappa in (25.0, 100.0, 10_000.0):
        streams = lagged(deviations=(2.0, 2.0, kappa))
        grub, dropped = (streams.metrics(name, 0.2).emitted for name in ("grub", "random-drop"))
        gains.append(grub / dropped)
    assert gains[0] > 1.2 * gains[1] > 1.2 * gains[2]


def test_aligned_streams_are_harvested_too() -> None:
    """Figure 11 of `gedik05`, aligned, four streams: all directions find results."""
    deviations = (2.0, 2.0, 50.0, 50.0)
    streams = lagged(60.0, 20.0, lags=(0.0,) * 4, deviations=deviations, seed=2)
    exact = streams.metrics(None, None).emitted
    grub, dropped = (streams.metrics(name, 0.2) for name in ("grub", "random-drop"))
    assert grub.emitted > 0.45 * exact
    assert grub.emitted > 1.65 * dropped.emitted
    assert (grub.work or 0) > 0.9 * (grub.work_allowed or 0)


@dataclass(frozen=True)
class Knows(Grub):
    """Is given how old the partners of the first stream's rows are, whatever was counted."""

    name: ClassVar[str] = "knows"
    age: float = 0.0

    def share_out(self, work: WorkView) -> Decision:
        ages = np.random.default_rng(1).normal(self.age, 0.36, 10_000)
        counts, _ = np.histogram(ages / WINDOW * PARTS, bins=np.arange(PARTS + 1))
        lags = np.full((2, 2, PARTS), 1.0 / PARTS)
        lags[0, 1] = counts / counts.sum()
        return super().share_out(replace(work, lags=lags))


@pytest.mark.slow
def test_lags_that_drift_are_followed() -> None:
    """They drift by half a window in ten; known at each moment they would give little more."""
    seconds = 12 * WINDOW
    drift = 0.5 / 10
    streams = lagged(
        seconds, 20.0, lags=(0.0, 4.0), deviations=(5.0, 5.0), drifts=(0.0, drift), seed=3
    )
    join = streams.join("grub", 0.2)
    times = join.replay(streams.tables).result["time"].to_numpy()
    found = known = 0
    # In steps of half a window, each with the lags in its middle.
    for start in np.arange(2 * WINDOW, seconds, WINDOW / 2):
        end = start + WINDOW / 2
        ages = 4.0 + drift * (start + end) / 2
        told = replace(join, goal=ps.MaxSubset(strategy=Knows(age=ages)))
        part = {
            name: table.filter(
                pc.and_(pc.greater(table["t"], start - 2 * WINDOW), pc.less_equal(table["t"], end))
            )
            for name, table in streams.tables.items()
        }
        known += int(np.count_nonzero(told.replay(part).result["time"].to_numpy() > start))
        found += int(np.count_nonzero((times > start) & (times <= end)))
    assert found > 0.9 * known > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "lags"),
    [("grub", (0.0, 3.0, 6.0)), ("grub", (0.0, 3.0)), ("random-drop", (0.0, 3.0))],
)
def test_the_true_recall_is_in_the_interval(strategy: str, lags: tuple[float, ...]) -> None:
    """Of 60 replays 57 in the mean; fewer than 50 have a chance below 1 in 1,000."""
    runs, hits = 60, 0
    for seed in range(runs):
        made = lagged_streams(
            rate=30.0, duration=60.0, lags=lags, deviations=(20.0,) * len(lags), seed=1_000 + seed
        )
        streams = Lagged(tables_of(made), 60.0, window=10.0, distance=6.0)
        true = streams.metrics(None, None).emitted
        found = streams.metrics(strategy, 0.2)
        hits += is_covered(found, true)
    assert hits >= 50
