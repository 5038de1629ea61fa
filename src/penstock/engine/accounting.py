"""What a shard has done, as metrics: what was counted, and what the monitored rows show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.engine.expected_variance import expected_with
from penstock.engine.kernels import layout
from penstock.metrics import Metrics, StreamMetrics
from penstock.strategies import reason_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.alignment import Alignment
    from penstock.engine.arrays import Integers
    from penstock.engine.importance_estimate import ImportanceEstimate
    from penstock.engine.plan import Plan
    from penstock.engine.reviewing import Reviewer
    from penstock.engine.size_meter import SizeMeter
    from penstock.engine.store import Store
    from penstock.engine.work import Work
    from penstock.strategies import Strategy

_COUNTED = (
    "not_admitted",
    "not_probed",
    "not_inserted",
    "dropped",
    "evicted",
    "expired",
    "held",
    "held_most",
    "ended",
)


@dataclass(frozen=True)
class OperatorCounters:
    """What the operator itself counts.

    Attributes
    ----------
    shard, shards
        Which part of how many this is.
    row_limit
        Rows that may be held; None without a budget.
    measured
        Each stream's rows so far, and their bytes, where the budget is in bytes.
    bytes_most
        The most that was held, where the budget is in bytes.
    state_bytes
        Of what is saved.
    emitted_before
        Results before the last batch.
    seconds
        Processor time so far.
    """

    shard: int
    shards: int
    row_limit: int | None
    measured: Integers | None
    bytes_most: int | None
    state_bytes: int
    emitted_before: int
    seconds: float


def account(
    plan: Plan,
    store: Store,
    strategies: Sequence[Strategy],
    reviewer: Reviewer | None,
    importance: ImportanceEstimate,
    alignment: Alignment,
    counters: OperatorCounters,
    *,
    work: Work | None = None,
    size_meter: SizeMeter | None = None,
) -> Metrics:
    """Return what a shard has done so far."""
    if size_meter is not None and not size_meter.is_on:
        size_meter = None
    records, rule = store.memory.streams, store.memory.rule
    streams = {}
    total_bytes = 0.0
    for s, side in enumerate(plan.sides):
        record, own = records[s], alignment.counters[s]
        rows, size = own.arrived, own.payload_bytes
        if counters.measured is not None:
            rows, size = counters.measured[s].tolist()
            size -= rows * store.vector_bytes
        row_bytes = float(size / rows) if rows else 0.0
        # One shard answers for what came to all of them; the rest of what it got are copies.
        arrived = own.arrived
        if counters.shards > 1:
            arrived = own.whole if counters.shard == 0 else 0
        streams[side.name] = StreamMetrics(
            arrived=arrived,
            copies=own.arrived - arrived,
            late=own.late,
            bad_times=own.bad_times,
            far_ahead=own.far_ahead,
            null_keys=own.null_keys,
            bad_importance=own.bad_importance,
            row_bytes=row_bytes,
            waiting=alignment.spool.rows(s),
            waiting_bytes=sum(chunk.size for chunk in alignment.spool.chunks[s]),
            **(alignment.times(s) if counters.shard == 0 else {}),
            # A row has no share of a window of rows, of which time says nothing.
            lived=0.0 if side.last_rows else float(record["lived"]),
            lived_squares=0.0 if side.last_rows else float(record["lived_squares"]),
            **{name: int(record[name]) for name in _COUNTED},
            # Counts see every arrival, whatever it leaves out.
            unseen=int(record["unseen"]) if size_meter is None else 0,
        )
        total_bytes += int(record["held_at_most"]) * (
            row_bytes + store.row_overhead + store.vector_bytes
        )
    return Metrics(
        streams=streams,
        strategy=" + ".join(strategy.name for strategy in strategies) or None,
        emitted=int(rule["produced"][0]),
        budget_rows=counters.row_limit,
        held_most=int(rule["held_most"][0]),
        bytes_most=round(total_bytes) if counters.bytes_most is None else counters.bytes_most,
        state_bytes=counters.state_bytes,
        seconds=counters.seconds,
        inserted=int(records["inserted"].sum()),
        compared=int(rule["compared"][0]),
        why=reason_for(plan.spec.goal) if strategies else None,
        importance=importance.found,
        **_importance(importance, size_meter),
        **store.retention.metrics(store.memory),
        **_estimates(plan, store, reviewer, counters, size_meter),
        **({} if work is None else _work_of(store, work, size_meter)),
    )


def _importance(importance: ImportanceEstimate, size_meter: SizeMeter | None) -> dict[str, Any]:
    """Return how much importance there was to find: from counts, or from monitored rows."""
    if size_meter is not None and size_meter.counts_worth:
        sums = size_meter.sums
        return {
            "importance_estimated": sums["worth"],
            "importance_variance": sums["worth_variance"],
            "importance_fourth": sums["worth_fourth"],
        }
    return {
        "importance_estimated": importance.estimated,
        "importance_variance": importance.variance,
    }


def _work_of(store: Store, work: Work, size_meter: SizeMeter | None) -> dict[str, Any]:
    """Return what was done, what was allowed, and what the exact join would have done."""
    ledger = work.ledger
    unit = ledger.unit
    arrivals, _, compared, results = ledger.counted.tolist()
    whole = float(store.memory.gauges["total"].sum())
    if size_meter is not None:
        whole = size_meter.sums["total"]
    whole = max(results, whole)
    if store.memory.rule["emits_drawn"][0]:
        results = float(store.memory.pairs["found"].sum())  # drawn or not
    # Where rows probe parts of windows, comparisons for a result are fewer than usual.
    all_compared = work.wanted_compared
    if all_compared is None:
        all_compared = whole * compared / results if results else 0.0
    wanted = ledger.charges.of(
        arrivals=arrivals, inserted=arrivals, compared=all_compared, results=whole
    )
    costs = ledger.costs.times(1.0 / unit)
    account = ledger.account_now
    return {
        "work": account.spent / unit,
        "work_allowed": account.allowed / unit,
        "work_wanted": wanted / unit,
        "arrival_cost": costs.arrival,
        "insert_cost": costs.insert,
        "compare_cost": costs.compare,
        "result_cost": costs.result,
        "timed_shards": 1,
    }


def _estimates(
    plan: Plan,
    store: Store,
    reviewer: Reviewer | None,
    counters: OperatorCounters,
    size_meter: SizeMeter | None,
) -> dict[str, Any]:
    """Return what counts or the monitored rows show, and which model is followed."""
    if reviewer is None:
        return {}
    gauges = store.memory.gauges
    sums = {name: float(gauges[name].sum()) for name in gauges.dtype.names or ()}
    if size_meter is not None:
        sums = size_meter.sums
    elif reviewer.steps.has_shed and sums["total"] > 0.0:
        _complete(sums, store, reviewer)
    elif store.memory.rule["kind"][0] == layout.EQUAL and not plan.is_sample:
        # A thousand replays of keys with a limit of memory alone hold without Student's t. Those of
        # UNIFORM do not, whose results weigh more as memory gets tighter; clusters note no squares.
        sums["fourth"] = sums["batch_fourth"] = 0.0
    estimates: dict[str, Any] = {
        "estimated": sums["total"],
        "variance": sums["variance"],
        "fourth": sums["fourth"],
        "batch_emitted": int(store.memory.rule["produced"][0]) - counters.emitted_before,
        "batch_estimated": sums["batch_total"],
        "batch_variance": sums["batch_variance"],
        "batch_fourth": sums["batch_fourth"],
    }
    if reviewer.observer is not None:
        estimates |= reviewer.observer.choice()
    return estimates


def _complete(sums: dict[str, float], store: Store, reviewer: Reviewer) -> None:
    """Add what chances of all rows say to what results stand for: rows that were shed count too."""
    expected, memory = reviewer.steps.expected_variance, store.memory
    totals = memory.gauges["total"]
    # By the streams that arrive; of monitored rows, which wait, there are two.
    by_arriving = totals if store.meters else totals[::-1]
    completed = float(expected.complete(by_arriving, float(memory.streams["clock"].max())).sum())
    factor = completed / sums["total"]
    for name, power in (("total", 1), ("variance", 2), ("fourth", 4)):
        for each in (name, f"batch_{name}"):
            sums[each] *= factor**power
    least = expected.of(completed)
    sums["variance"], sums["fourth"] = expected_with(sums["variance"], sums["fourth"], least)
    # What the batch has of all results, it has of their variance.
    least *= sums["batch_total"] / completed
    sums["batch_variance"], sums["batch_fourth"] = expected_with(
        sums["batch_variance"], sums["batch_fourth"], least
    )
