"""Which steps arrivals leave out: the chances that were decided, drawn by each row's identity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import penstock as ps
from penstock.engine.actions import set_actions
from penstock.engine.kernels import layout
from penstock.engine.kernels.layout import (
    IN_PARTS,
    NOT_ADMITTED,
    NOT_INSERTED,
    NOT_PROBED,
    UNSEEN,
)
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.errors import SpecificationError
from penstock.strategies import (
    GRADES,
    Admit,
    Decision,
    Insert,
    Needs,
    Probe,
    Resource,
    Strategy,
    View,
    combine,
    grade_of,
)
from penstock.testing import canonical_rows
from tests.engine.soundness import assert_sound
from tests.engine.support import choices, examples

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Integers, Mask
    from tests.engine.support import Pick

STEPS = {"admit": NOT_ADMITTED, "probe": NOT_PROBED, "insert": NOT_INSERTED}
BY_STREAM = Decision(
    Admit(np.array([0.9, 0.5])), Probe(np.array([0.3, 1.0])), insert=Insert(np.array([1.0, 0.25]))
)


def make_arrivals(count: int, seed: int = 0, streams: int = 2) -> Array:
    """Return arrivals that have drawn, of any streams."""
    draw = np.random.default_rng(seed)
    arrivals = np.zeros(count, layout.arrival_type(np.dtype("i8"), np.dtype("i8")))
    arrivals["draw"] = draw.random(count)
    arrivals["stream"] = draw.integers(0, streams, count)
    return arrivals


def assert_chance(left_out: Mask, chance: float) -> None:
    """Check how many rows take a step.

    Within 4 standard deviations of n p, each sqrt(n p (1 - p)): by chance 1 of 16,000 such counts
    would not be. The seeds are fixed. A chance of 0 or 1 leaves no room at all.
    """
    bound = 4 * math.sqrt(left_out.size * chance * (1 - chance))
    assert abs(float(np.sum(~left_out)) - left_out.size * chance) <= bound


# --- Draws


@given(pick=choices())
@examples(50)
def test_the_same_rows_take_the_same_steps_however_they_are_cut(pick: Pick) -> None:
    whole = make_arrivals(200, seed=pick(0, 1000))
    whole["blank"][::7] = layout.NO_KEY
    pieces = whole.copy()
    grades = np.random.default_rng(pick(0, 1000)).integers(0, GRADES, whole.size)
    table = np.random.default_rng(pick(0, 1000)).random((2, GRADES))
    decision = replace(BY_STREAM, probe=Probe(table))
    set_actions(whole, decision, grades)
    cuts = sorted({0, whole.size, *(pick(0, whole.size) for _ in range(pick(0, 9)))})
    for start, stop in pairwise(cuts):
        set_actions(pieces[start:stop], decision, grades[start:stop])
    assert pieces.tolist() == whole.tolist()
    # Nor does the order in which they stand matter.
    order = np.random.default_rng(pick(0, 1000)).permutation(whole.size)
    mixed = whole[order].copy()
    mixed["actions"] = 0
    set_actions(mixed, decision, grades[order])
    assert mixed.tolist() == whole[order].tolist()


def test_rows_without_a_key_leave_out_no_step() -> None:
    arrivals = make_arrivals(100)
    arrivals["blank"][::2] = layout.NO_KEY
    arrivals["blank"][1::4] = layout.TICK
    set_actions(arrivals, Decision(admit=Admit(0.0)), None)
    assert np.array_equal(arrivals["actions"] == 0, arrivals["blank"] != 0)


def test_the_certain_decision_leaves_out_no_step() -> None:
    arrivals = make_arrivals(1_000)
    arrivals["actions"] = NOT_ADMITTED | UNSEEN  # of an earlier decision
    chances = set_actions(arrivals, Decision(), None)
    assert not arrivals["actions"].any()
    assert np.all(chances == 1)


# --- Chances


def test_chances_by_stream_hold() -> None:
    arrivals = make_arrivals(20_000, seed=1)
    chances = set_actions(arrivals, BY_STREAM, None)
    for s in range(2):
        mine = arrivals[arrivals["stream"] == s]
        for step, bit in STEPS.items():
            chance = float(getattr(BY_STREAM, step).chances[s])
            assert_chance((mine["actions"] & bit) != 0, chance)
        admit, probe, insert = (float(getattr(BY_STREAM, step).chances[s]) for step in STEPS)
        expected = [admit * probe, admit * insert, admit]
        assert chances[arrivals["stream"] == s] == pytest.approx(np.tile(expected, (mine.size, 1)))
    assert not (arrivals["actions"] & UNSEEN).any()


def test_chances_by_grade_hold() -> None:
    arrivals = make_arrivals(60_000, seed=2)
    some = range(0, GRADES, 8)
    grades = np.random.default_rng(3).choice(some, arrivals.size)
    table = np.linspace(0, 1, 2 * GRADES).reshape(2, GRADES)
    for step, bit in STEPS.items():
        made = {"admit": Admit, "probe": Probe, "insert": Insert}[step](table)
        set_actions(arrivals, replace(Decision(), **{step: made}), grades)
        for s in range(2):
            for grade in some:
                mine = (arrivals["stream"] == s) & (grades == grade)
                assert_chance((arrivals["actions"][mine] & bit) != 0, float(table[s, grade]))


def test_the_steps_are_drawn_apart() -> None:
    """Of rows that take one step as many take another as of all rows."""
    arrivals = make_arrivals(40_000, seed=4)
    set_actions(arrivals, Decision(Admit(0.5), Probe(0.5), insert=Insert(0.5)), None)
    for one in STEPS.values():
        mine = arrivals[(arrivals["actions"] & one) == 0]
        for other in STEPS.values():
            if other != one:
                assert_chance((mine["actions"] & other) != 0, 0.5)
    # Nor have they to do with the draw itself, which decides which rows are monitored.
    few = arrivals[arrivals["draw"] < 0.1]
    for bit in STEPS.values():
        assert_chance((few["actions"] & bit) != 0, 0.5)


def test_chances_by_grade_need_frequencies() -> None:
    decision = Decision(admit=Admit(np.ones((2, GRADES)) / 2))
    with pytest.raises(SpecificationError, match=r"chances of Admit must be for each stream only"):
        set_actions(make_arrivals(3), decision, None)


# --- A chance of 0


@pytest.mark.parametrize("step", STEPS)
def test_a_chance_of_0_marks_arrivals_as_unseen(step: str) -> None:
    arrivals = make_arrivals(2_000, seed=5)
    made = {"admit": Admit, "probe": Probe, "insert": Insert}[step](np.array([0.0, 0.5]))
    set_actions(arrivals, replace(Decision(), **{step: made}), None)
    unseen = (arrivals["actions"] & UNSEEN) != 0
    assert np.array_equal(unseen, arrivals["stream"] == 0)
    assert np.all(arrivals["actions"][unseen] & STEPS[step])


def test_parts_of_windows_that_are_not_probed_mark_arrivals_as_unseen() -> None:
    arrivals = make_arrivals(100)
    probed = np.ones((2, 2, 4), bool)
    set_actions(arrivals, Decision(probe=Probe(sub_windows=probed)), None)
    assert np.all(arrivals["actions"] == UNSEEN | IN_PARTS)
    set_actions(arrivals, Decision(probe=Probe(sub_windows=probed, whole=0.25)), None)
    assert set(arrivals["actions"].tolist()) == {0, IN_PARTS}
    assert 10 < np.count_nonzero(arrivals["actions"] == 0) < 45


# --- Two strategies


def test_chances_of_two_strategies_multiply() -> None:
    by_stream = np.array([0.5, 0.8])
    by_grade = np.linspace(0.1, 1, 2 * GRADES).reshape(2, GRADES)
    both = combine(
        Decision(Admit(0.5), Probe(by_stream), insert=Insert(by_stream)),
        Decision(Admit(0.5), Probe(0.5), insert=Insert(by_grade)),
    )
    assert both.admit.chances == 0.25
    assert np.asarray(both.probe.chances).tolist() == [0.25, 0.4]
    assert np.asarray(both.insert.chances) == pytest.approx(by_stream[:, None] * by_grade)
    for step in STEPS:
        for pair in ((Decision(), BY_STREAM), (BY_STREAM, Decision())):
            found = getattr(combine(*pair), step).chances
            assert np.array_equal(found, getattr(BY_STREAM, step).chances)


def test_rows_are_drawn_by_the_product() -> None:
    arrivals = make_arrivals(20_000, seed=6)
    half = Decision(admit=Admit(np.array([0.5, 1.0])))
    set_actions(arrivals, combine(half, Decision(admit=Admit(0.4))), None)
    for s, chance in enumerate((0.2, 0.4)):
        mine = arrivals["actions"][arrivals["stream"] == s]
        assert_chance((mine & NOT_ADMITTED) != 0, chance)


# --- In a join


@dataclass(frozen=True, repr=False)
class Shedding(Strategy):
    """Sheds arrivals as is said."""

    name: ClassVar[str] = "shedding"
    spends: ClassVar[Resource] = Resource.BOTH
    decision: Decision

    def decide(self, view: View) -> Decision:
        """Decide the same each time."""
        return view.previous or self.decision


class SheddingByGrade(Shedding):
    """The same, where frequencies are observed: chances may be by grade."""

    needs: ClassVar[Needs] = Needs(frequencies=True)


ROWS = 4_000


def tables() -> dict[str, pa.Table]:
    draw = np.random.default_rng(7)
    return {
        name: pa.table({"t": np.arange(ROWS), "k": np.minimum(draw.geometric(0.3, ROWS), 9)})
        for name in ("a", "b")
    }


# The same rows as by equality of keys, which are whole numbers; sizes are not known from counts.
NEAR = ps.Within(0.5, a="k", b="k")


def join_of(strategy: object, rows: int = 3 * ROWS) -> ps.Join:
    each = ps.Stream(time="t", window=20)
    return ps.Join(
        streams={"a": each, "b": each},
        on=ps.Equal("k"),
        goal=ps.MaxSubset(strategy=strategy),  # type: ignore[arg-type]
        budget=ps.Budget(rows=rows),
        seed=11,
    )


def run(join: ps.Join) -> ps.Metrics:
    """Run a join over the tables; return what it has counted."""
    data = tables()
    operator = Operator(bind(join, {name: table.schema for name, table in data.items()}))
    operator.process(data)
    assert_sound(operator)
    return operator.metrics()


@cache
def exact_results() -> int:
    """Return how many results the exact join has, by equality and `NEAR` alike."""
    return run(replace(join_of(None), goal=ps.MaxSubset(), budget=None)).emitted


@pytest.mark.parametrize("step", STEPS)
def test_rows_that_leave_out_a_step_are_counted(step: str) -> None:
    chances = np.array([0.7, 0.2])
    made = {"admit": Admit, "probe": Probe, "insert": Insert}[step](chances)
    join = join_of(Shedding(replace(Decision(), **{step: made})))
    metrics = run(join)
    counted = {"admit": "not_admitted", "probe": "not_probed", "insert": "not_inserted"}
    for name, chance in zip(("a", "b"), chances.tolist(), strict=True):
        stream = metrics.streams[name]
        for each, counter in counted.items():
            left_out = np.arange(ROWS) < getattr(stream, counter)
            assert_chance(left_out, chance if each == step else 1.0)
        fates = (stream.not_admitted, stream.not_inserted, stream.expired, stream.held)
        assert stream.arrived == sum(fates) == ROWS
        assert (stream.dropped, stream.evicted, stream.unseen) == (0, 0, 0)
    assert metrics.lost > 0
    without_counts = run(replace(join, on=NEAR))
    # Memory would hold all rows, yet some results are lost: recall says so.
    assert metrics.emitted == without_counts.emitted < exact_results()
    for recall in (metrics.recall, without_counts.recall):
        assert recall is not None
        assert recall.low <= metrics.emitted / exact_results() <= recall.high < 1


@pytest.mark.parametrize("step", STEPS)
def test_arrivals_of_a_chance_of_0_are_counted_as_unseen(step: str) -> None:
    made = {"admit": Admit, "probe": Probe, "insert": Insert}[step](np.array([0.0, 1.0]))
    join = join_of(Shedding(replace(Decision(), **{step: made})))
    metrics = run(replace(join, on=NEAR))
    assert metrics.emitted < exact_results()
    assert [stream.unseen for stream in metrics.streams.values()] == [ROWS, 0]
    assert metrics.unseen == ROWS
    assert metrics.recall is None
    assert metrics.true_size is None


def test_chances_of_1_are_the_exact_join() -> None:
    data = tables()
    exact = replace(join_of(None), goal=ps.MaxSubset(), budget=None).replay(data)
    found = join_of(Shedding(Decision())).replay(data)
    assert canonical_rows(found.result) == canonical_rows(exact.result)
    assert found.metrics.recall is not None
    assert found.metrics.recall.value == 1


@pytest.mark.parametrize("rows", [15, 3 * ROWS])
@pytest.mark.parametrize("by_grade", [False, True])
def test_one_batch_equals_many(rows: int, by_grade: bool) -> None:
    strategy: Strategy = Shedding(BY_STREAM)
    if by_grade:
        table = np.tile(np.linspace(0.1, 1, GRADES), (2, 1))
        strategy = SheddingByGrade(replace(BY_STREAM, admit=Admit(table)))
    join = join_of(strategy, rows)
    data = {name: table.slice(0, 700) for name, table in tables().items()}
    pieces = {
        name: [table.slice(start, 137) for start in range(0, 700, 137)]
        for name, table in data.items()
    }
    once, often = join.replay(data), join.replay(pieces)
    assert canonical_rows(often.result) == canonical_rows(once.result)
    for name, stream in once.metrics.streams.items():
        for counter in ("not_admitted", "not_probed", "not_inserted", "evicted", "dropped"):
            assert getattr(often.metrics.streams[name], counter) == getattr(stream, counter)
        assert stream.not_admitted > 0


def test_two_strategies_of_a_join_shed_by_the_product() -> None:
    half, fifth = (Shedding(Decision(admit=Admit(chance))) for chance in (0.5, 0.4))
    metrics = run(join_of({"memory": half, "cpu": fifth}))
    for stream in metrics.streams.values():
        assert_chance(np.arange(ROWS) < stream.not_admitted, 0.2)


def test_results_that_shed_arrivals_lose_are_estimated() -> None:
    """Over 40 seeds the mean estimate is within 3 standard errors of the true number."""
    data = tables()
    true = replace(join_of(None), goal=ps.MaxSubset(), budget=None).replay(data).metrics.emitted
    decision = Decision(Admit(0.8), Probe(np.array([0.5, 0.9])), insert=Insert(0.7))
    budget = ps.Budget(rows=3 * ROWS, monitor=0.1)
    join = replace(join_of(Shedding(decision)), on=NEAR, budget=budget)
    found = [replace(join, seed=seed).replay(data).metrics.estimated for seed in range(40)]
    assert abs(np.mean(found) - true) < 3 * np.std(found, ddof=1) / math.sqrt(len(found))
    assert np.std(found) < 0.2 * true


def test_grades_are_sixteenths_of_octaves_of_likeliness() -> None:
    likeliness = np.array([0.0, 0.49, 0.5, 1.0, 1.99, 2.0, 1e30])
    grades: Integers = grade_of(likeliness)
    average = int(grade_of(np.ones(1))[0])
    assert (grades - average).tolist() == [-average, -17, -16, 0, 15, 16, GRADES - 1 - average]
