"""What must hold for every strategy, over every workload: one function for each promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.engine.identity import content_hashes
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.sharding import route
from penstock.engine.state import restore, save
from penstock.engine.stream_progress import progress_of_all
from penstock.metrics import Metrics, total
from penstock.strategies import (
    STRATEGIES,
    WORK_STRATEGIES,
    Decision,
    ResidencePriority,
    SampleThreshold,
    Strategy,
    StreamView,
    View,
)
from penstock.testing import canonical_rows, cut, cut_rows
from tests.conformance.workloads import REVIEWED, WORKLOADS, Workload, workload_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from penstock.engine.replay import Replay
    from penstock.goals import Goal

Batch = dict[str, pa.Table]
Rows = list[tuple[str, ...]]


StrategyLike = str | Strategy


@dataclass(frozen=True, eq=False)
class Case:
    """One strategy over one workload with one kind of budget; both None for the exact join.

    The strategy is the name of one in the table, or any strategy object.
    """

    workload: Workload
    strategy: StrategyLike | None = None
    kind: str | None = None

    def __str__(self) -> str:
        return f"{self.name or 'exact'}, {self.workload.name}, {self.kind or 'no budget'}"

    @property
    def name(self) -> str | None:
        """Name of the strategy."""
        return self.strategy.name if isinstance(self.strategy, Strategy) else self.strategy

    @property
    def budget(self) -> ps.Budget | None:
        """A budget that is too small, or None."""
        if self.kind is None:
            return None
        budget = self.workload.budgets[self.kind]
        if budget.memory is not None and isinstance(self.first.retain.order, ResidencePriority):
            # Its rows are half as large again, for what they have given so far.
            return ps.Budget(memory=3 * int(budget.memory) // 2)
        return budget

    def join(self, budget: ps.Budget | None = None, seed: int = 0) -> ps.Join:
        """Make the join, with its own budget or another one."""
        return self.workload.join(goal_of(self.strategy), budget or self.budget, seed)

    @cached_property
    def first(self) -> Decision:
        """What the strategy decides before the first row; the exact join if there is none."""
        if self.strategy is None:
            return Decision()
        names = self.workload.streams
        streams = tuple(StreamView(name, 1.0, 1.0, share=1 / len(names)) for name in names)
        view = View(streams, room=100, goal=goal_of(self.strategy))
        return strategy_of(self.strategy).decide(view)

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What the strategy decides before the first row, and after the last with ample memory."""
        if self.strategy is None:
            return (Decision(),)
        join = self.workload.join(goal_of(self.strategy), ps.Budget(rows=10_000))
        tables = self.workload.tables
        operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
        operator.process(tables)
        assert operator.reviewer is not None
        return self.first, operator.reviewer.decision

    @property
    def sheds_arrivals(self) -> bool:
        """Whether some rows are lost however much memory there is."""
        return any(decision.sheds_arrivals for decision in self.decisions)


def strategy_of(strategy: StrategyLike) -> Strategy:
    """Return the strategy that is meant."""
    if isinstance(strategy, Strategy):
        return strategy
    return {**STRATEGIES, **WORK_STRATEGIES}[strategy]()


def goal_of(strategy: StrategyLike | None, half_life: float = 2.0) -> Goal:
    """Return a goal that the strategy serves: the first of three that it does."""
    served = (ps.MaxSubset,) if strategy is None else strategy_of(strategy).serves
    if issubclass(ps.MaxSubset, served):
        return ps.MaxSubset(strategy=strategy, half_life=half_life)
    if issubclass(ps.MaxImportance, served):
        return ps.MaxImportance(of=some_importance, strategy=strategy, half_life=half_life)
    return ps.Sample(strategy=strategy, half_life=half_life)


def some_importance(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return an importance for each row, from 1 to 10 that follows from what they hold."""
    return content_hashes(table) % 10 + 1


def serves(strategy: StrategyLike, streams: int) -> bool:
    """Return whether a strategy serves joins of so many streams: samples are of joins of two."""
    return streams == 2 or not is_sample(strategy)


def suits(strategy: StrategyLike, workload: Workload) -> bool:
    """Return whether a strategy serves a workload."""
    return serves(strategy, len(workload.streams))


def is_sample(strategy: StrategyLike | None) -> bool:
    """Return whether a strategy draws a sample."""
    return isinstance(goal_of(strategy), ps.Sample)


def draws(case: Case) -> bool:
    """Return whether a strategy asks for random numbers, or has the engine draw."""
    if case.strategy is None:
        return False
    by_lot = any(
        np.any((np.asarray(step.chances) > 0) & (np.asarray(step.chances) < 1))
        for decision in case.decisions
        for step in (decision.admit, decision.probe, decision.insert)
    )
    return by_lot or is_sample(case.strategy) or strategy_of(case.strategy).needs.draws


# --- How the checks run a join


@dataclass(frozen=True)
class Run:
    """What a join gave; `held` is a (rows held, rows allowed) for each batch and shard."""

    rows: Rows
    metrics: Metrics
    held: Sequence[tuple[int, int | None]]


def run(
    join: ps.Join,
    batches: Iterable[Batch],
    *,
    shards: int = 1,
    saving: bool = False,
    ended: bool = False,
) -> Run:
    """Take a join through batches; with `saving`, through a new operator for every batch.

    With `ended` no row waits beyond the last.
    """
    batches = list(batches)
    plan = bind(join, {name: table.schema for name, table in batches[0].items()})
    operators = [Operator(plan, shard=shard, shards=shards) for shard in range(shards)]
    stored: list[dict[str, bytes]] = [{} for _ in range(shards)]
    results, held = [], []
    for number, batch in enumerate(batches, start=1):
        stream_progress = progress_of_all(plan, batch) if shards > 1 else None
        last = ended and number == len(batches)
        for shard, part in enumerate(route(plan, batch, shards)):
            results.append(operators[shard].process(part, stream_progress, last=last))
            if saving:
                _bring_up_to_date(stored[shard], operators[shard])
                operators[shard] = restore(plan, stored[shard], shard=shard, shards=shards)
            rule = operators[shard].store.memory.rule
            held.append((int(rule["taken_most"][0]), int(rule["limit"][0])))
    metrics = total(operator.metrics() for operator in operators)
    return Run(canonical_rows(pa.concat_tables(results)), metrics, held)


def _bring_up_to_date(stored: dict[str, bytes], operator: Operator) -> None:
    changes = save(operator)
    for name in changes.removed:
        del stored[name]
    stored.update(changes.written)


def in_step(case: Case) -> list[Batch]:
    """Cut all streams at the same times."""
    return cut(case.join(), case.workload.tables, case.workload.cuts)


def out_of_step(case: Case, seed: int = 0) -> list[Batch]:
    """Cut each stream where it likes; rows that are not in order may then be late."""
    return cut_rows(case.workload.tables, batches=7, seed=seed)


# Checks that follow one another ask for the same.
@lru_cache(maxsize=32)
def replayed(case: Case, how: str = "at once", shards: int = 1) -> Replay:
    """Return what comes of a case's join: of all rows at once, "in step" or "out of step"."""
    tables: Mapping[str, pa.Table | list[pa.Table]] = case.workload.tables
    if how != "at once":
        tables = as_lists({"in step": in_step, "out of step": out_of_step}[how](case))
    return case.join().replay(tables, shards=shards)


def as_lists(batches: Sequence[Batch]) -> dict[str, list[pa.Table]]:
    """Turn batches into what `Join.replay` takes."""
    return {name: [batch[name] for batch in batches] for name in batches[0]}


def counted(metrics: Metrics) -> Metrics:
    """Leave out what is measured, as Arrow's buffers are shared in other ways in other batches."""
    streams = {name: replace(each, row_bytes=0.0) for name, each in metrics.streams.items()}
    return replace(metrics, streams=streams, bytes_most=0)


def unweighted(result: pa.Table) -> Rows:
    """Return results as the exact join has them: without weights, clusters and importance."""
    if "importance" in result.column_names:
        result = result.drop_columns(["importance"])
    if "cluster" in result.column_names:
        ones = pa.array(np.ones(result.num_rows))
        weight = result.column_names.index("weight")
        result = result.set_column(weight, "weight", ones).drop_columns(["cluster"])
    return canonical_rows(result)


def is_part_of(rows: Rows, whole: Rows) -> bool:
    """Return whether no row is there more often than in the whole."""
    return not Counter(rows) - Counter(whole)


# --- The checks


def the_workload_is_too_much(case: Case) -> None:
    """Else the other checks would show nothing: rows are lost, and so are results, but not all.

    Rows are lost for lack of room, or because the strategy sheds a step of theirs.
    """
    replay = replayed(case)
    if case.kind is None:
        assert replay.metrics.lost == 0
        assert replay.metrics.emitted == len(case.workload.exact)
    else:
        assert replay.metrics.lost > 0
        assert 0 < replay.metrics.emitted < len(case.workload.exact)
    assert replay.metrics.strategy == case.name


def the_seed_decides(case: Case) -> None:
    """The same seed gives the same output, another one another, if the strategy draws at all."""
    outputs = [
        canonical_rows(case.join(seed=seed).replay(case.workload.tables).result)
        for seed in (1, 1, 2, 2**63 - 1)
    ]
    assert outputs[0] == outputs[1]
    different = {tuple(output) for output in outputs}
    if not draws(case):
        assert len(different) == 1
    elif case.name in STRATEGIES:
        assert len(different) == 3
    else:
        # It may draw seldom, or for a few rows.
        assert len(different) > 1


def the_input_is_left_alone(case: Case) -> None:
    """No table is changed, nor any buffer of one."""
    before = {name: _as_bytes(table) for name, table in case.workload.tables.items()}
    for shards in (1, 2):
        case.join().replay(case.workload.tables, shards=shards)
    for name, table in case.workload.tables.items():
        assert _as_bytes(table) == before[name]


def _as_bytes(table: pa.Table) -> bytes:
    # As bytes even NaN is equal to itself.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def saving_changes_nothing(case: Case) -> None:
    """Saved and restored after every batch is as good as uninterrupted, in every number."""
    for shards, batches in ((1, in_step(case)), (2, out_of_step(case))):
        uninterrupted = run(case.join(), batches, shards=shards)
        assert run(case.join(), batches, shards=shards, saving=True) == uninterrupted


def what_is_saved_follows_from_the_rows(case: Case) -> None:
    """Two attempts at a batch save the same bytes under the same names, whoever restores what.

    One goes on with its operator. The other restores its own each time, gets the rows of a batch in
    another order, and each stream in other pieces.
    """
    for shards, batches in ((1, in_step(case)), (2, out_of_step(case))):
        plan = bind(case.join(), {name: table.schema for name, table in batches[0].items()})
        generator = np.random.default_rng(shards)
        for shard in range(shards):
            one = Operator(plan, shard=shard, shards=shards, ordered=True)
            other = Operator(plan, shard=shard, shards=shards, ordered=True)
            stored: dict[str, bytes] = {}
            for batch in batches:
                part = route(plan, batch, shards)[shard]
                stream_progress = progress_of_all(plan, batch) if shards > 1 else None
                one.process(part, stream_progress)
                other.process(_delivered_otherwise(part, generator), stream_progress)
                changes = save(one)
                assert save(other) == changes
                for name in changes.removed:
                    del stored[name]
                stored |= changes.written
                other = restore(plan, stored, shard=shard, shards=shards)


def _delivered_otherwise(batch: Batch, generator: np.random.Generator) -> Batch:
    """Return a batch with the rows of each stream in another order, and in two pieces."""
    shuffled = {
        name: table.take(generator.permutation(table.num_rows)) for name, table in batch.items()
    }
    return {
        name: pa.concat_tables(
            [table.slice(table.num_rows // 3), table.slice(0, table.num_rows // 3)]
        )
        for name, table in reversed(shuffled.items())
    }


def the_cut_into_batches_changes_nothing(case: Case) -> None:
    """Where the streams advance together, one batch gives what many give."""
    once = replayed(case)
    often = replayed(case, "in step")
    assert canonical_rows(often.result) == canonical_rows(once.result)
    assert counted(often.metrics) == counted(once.metrics)


def the_cut_into_batches_changes_nothing_in_shards(case: Case) -> None:
    """Nor does it over several shards."""
    for shards in (2, 3):
        once = replayed(case, "at once", shards)
        often = replayed(case, "in step", shards)
        assert canonical_rows(often.result) == canonical_rows(once.result)


def the_output_is_part_of_the_exact_join(case: Case) -> None:
    """Whatever is lost, nothing is made up, and nothing comes twice."""
    for shards in (1, 3):
        for how in ("in step", "out of step"):
            replay = replayed(case, how, shards)
            assert is_part_of(unweighted(replay.result), case.workload.exact)
            assert replay.metrics.emitted == replay.result.num_rows


@lru_cache(maxsize=1)
def _exactly(workload: Workload) -> Metrics:
    return workload.join().replay(workload.tables).metrics


def enough_budget_gives_the_exact_join(case: Case) -> None:
    """A budget of what the exact join holds at most loses nothing."""
    exact = _exactly(case.workload)
    enough = {
        None: None,
        "rows": ps.Budget(rows=exact.held_most),
        # The mean size of a row is only known as rows come, so some more is needed.
        "memory": ps.Budget(memory=10 * exact.bytes_most),
    }[case.kind]
    replay = case.join(budget=enough).replay(case.workload.tables)
    assert unweighted(replay.result) == case.workload.exact
    assert set(replay.result["weight"].to_pylist()) == {1.0}
    assert replay.metrics.lost == 0


def the_budget_is_never_exceeded(case: Case) -> None:
    """Not after any batch and, where it is in rows, not for an instant; over all shards."""
    ways = (in_step(case), out_of_step(case))
    for number, shards in enumerate((1, 3)):
        budgets = _budgets(case, shards)
        runs = list(product(budgets, ways))
        if len(budgets) == 2:
            # Half of them: each pair of a budget, a way and a number of shards is there.
            runs = [(budgets[number], ways[0]), (budgets[1 - number], ways[1])]
        for budget, batches in runs:
            done = run(case.join(budget=budget), batches, shards=shards)
            for held, allowed in done.held:
                assert allowed is None or held <= allowed
            if budget is not None and budget.rows is not None:
                assert done.metrics.budget_rows == budget.rows
                assert done.metrics.held_most <= budget.rows


def _budgets(case: Case, shards: int) -> list[ps.Budget | None]:
    """Return the case's own budget and, if it is in rows, the least that there can be."""
    budget = case.budget
    if budget is None or budget.rows is None:
        return [budget]
    least = shards * len(case.workload.streams)
    return [ps.Budget(rows=rows) for rows in (least, max(least + 1, budget.rows))]


def the_order_of_delivery_does_not_matter(case: Case) -> None:
    """Rows of a batch may come in any order."""
    generator = np.random.default_rng(0)
    batches = in_step(case)
    shuffled = [
        {name: table.take(generator.permutation(table.num_rows)) for name, table in batch.items()}
        for batch in batches
    ]
    for shards in (1, 2):
        one = run(case.join(), batches, shards=shards)
        other = run(case.join(), shuffled, shards=shards)
        assert other.rows == one.rows
        assert counted(other.metrics) == counted(one.metrics)


def every_row_is_accounted_for(case: Case) -> None:
    """Each row that arrived is in one place or left under one cause."""
    for shards in (1, 2, 3):
        for how in ("in step", "out of step"):
            metrics = replayed(case, how, shards).metrics
            for name, stream in metrics.streams.items():
                assert stream.arrived == case.workload.tables[name].num_rows
                assert stream.arrived + stream.copies == accounted(stream)


def accounted(stream: ps.StreamMetrics) -> int:
    """Add up what became of a stream's rows."""
    shed = stream.not_admitted + stream.not_inserted
    left = stream.dropped + stream.evicted + stream.expired
    return stream.late + stream.invalid + shed + left + stream.held


# --- Checks of samples


def a_result_stands_for_one_or_more(case: Case) -> None:
    """Weights are one over a chance."""
    for shards in (1, 2, 3):
        for how in ("in step", "out of step"):
            result = replayed(case, how, shards).result
            weights = result["weight"].to_numpy()
            assert np.all(np.isfinite(weights))
            assert weights.min(initial=1.0) == 1.0


def a_cluster_is_one_row_with_its_matches(case: Case) -> None:
    """All its results have the same waiting row, and their chances only fall.

    Where results are drawn one by one each is a cluster of its own.
    """
    for shards in (1, 2, 3):
        for how in ("in step", "out of step"):
            result = replayed(case, how, shards).result
            clusters = _clusters(result, case.workload.streams)
            sizes = Counter(map(len, clusters.values()))
            assert sum(size * number for size, number in sizes.items()) == result.num_rows
            order = case.first.retain.order
            if isinstance(order, SampleThreshold) and order.by_match:
                assert set(sizes) <= {1}
            for members in clusters.values():
                one, other, weights = zip(*members, strict=True)
                assert len(set(one)) == 1 or len(set(other)) == 1
                assert list(weights) == sorted(weights)


def _clusters(result: pa.Table, names: Iterable[str]) -> dict[int, list[tuple[str, str, float]]]:
    """Return the members and the weight of each result, in the order in which they came."""
    columns = [map(repr, result[name].to_pylist()) for name in names]
    clusters: dict[int, list[tuple[str, str, float]]] = {}
    for cluster, weight, one, other in zip(
        result["cluster"].to_pylist(), result["weight"].to_pylist(), *columns, strict=True
    ):
        clusters.setdefault(cluster, []).append((one, other, weight))
    return clusters


CHECKS: Mapping[str, Callable[[Case], None]] = {
    check.__name__: check
    for check in (
        the_workload_is_too_much,
        the_seed_decides,
        the_input_is_left_alone,
        saving_changes_nothing,
        what_is_saved_follows_from_the_rows,
        the_cut_into_batches_changes_nothing,
        the_cut_into_batches_changes_nothing_in_shards,
        the_output_is_part_of_the_exact_join,
        enough_budget_gives_the_exact_join,
        the_budget_is_never_exceeded,
        the_order_of_delivery_does_not_matter,
        every_row_is_accounted_for,
    )
}

# And those that only samples go through.
CHECKS_OF_SAMPLES: Mapping[str, Callable[[Case], None]] = {
    check.__name__: check
    for check in (a_result_stands_for_one_or_more, a_cluster_is_one_row_with_its_matches)
}


# --- All checks of a strategy


def checks_of(case: Case) -> dict[str, Callable[[Case], None]]:
    """Return the checks that apply to a case, by name.

    A strategy that sheds arrivals, by what it decides before the first row or after the last, does
    not give the exact join with enough memory: rows that are not admitted, not inserted, or do not
    probe whole windows lose results all the same.
    """
    checks = dict(CHECKS)
    if case.sheds_arrivals:
        del checks[enough_budget_gives_the_exact_join.__name__]
    return checks | (dict(CHECKS_OF_SAMPLES) if is_sample(case.strategy) else {})


def conforms(
    strategy: StrategyLike, workloads: Iterable[Workload | str] = (*WORKLOADS, REVIEWED)
) -> int:
    """Run every check that applies to a strategy over workloads, and return how many were run.

    Parameters
    ----------
    strategy
        The name of one in the table, or any strategy object. It need not be registered.
    workloads
        Or their names. Joins of three are left out for a sample: it serves joins of two.

    Raises
    ------
    AssertionError
        If a check fails; a note says which, and over which workload.
    ValueError
        If the strategy serves none of the workloads.
    """
    named = [workload_named(each) if isinstance(each, str) else each for each in workloads]
    cases = [
        Case(workload, strategy, kind)
        for workload in named
        if suits(strategy, workload)
        for kind in workload.budgets
    ]
    if not cases:
        raise ValueError(f"no workload that {strategy} serves")
    count = 0
    for case in cases:
        for name, check in checks_of(case).items():
            try:
                check(case)
            except Exception as error:
                error.add_note(f"{name}: {case}")
                raise
            count += 1
    return count
