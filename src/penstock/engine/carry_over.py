"""State that was saved by a join with another budget, strategy or goal of the same kind.

The rows go on as they are, and with them what was counted. They are put in the order of the new
strategy, and leave in that order until the rest fits into the new budget. Of what was learned, what
means the same to the new join goes on, and the rest begins again. All of it follows from the saved
state, so that two attempts at a batch do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.arrays import below
from penstock.engine.kernels.layout import (
    BY_COUNT,
    EQUAL,
    FITS,
    GAUGE,
    KEY_WORD,
    METERS,
    NEVER,
    SHED,
)
from penstock.engine.kernels.monitoring import keep_to_quota, monitor_again
from penstock.engine.learned import SIZES, keep_monitored, of_retention
from penstock.engine.refill import refill_rows, refill_vectors
from penstock.engine.retention.shrinking import shrink
from penstock.engine.size_meter import WORTHS
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Integers
    from penstock.engine.limits import Limits
    from penstock.engine.monitor import Monitor
    from penstock.engine.operator import Operator
    from penstock.engine.payload import Payload
    from penstock.engine.plan import Plan
    from penstock.engine.refill import Part
    from penstock.engine.store import Store

    Learned = Mapping[str, Array]

_LOST = ("dropped", "evicted", "not_admitted", "not_probed", "not_inserted", "unseen")
# What was counted of streams, and of the join; the most that was held is of this budget only.
_STREAM_FIELDS = (
    "clock",
    "horizon",
    "inserted",
    "not_admitted",
    "not_probed",
    "not_inserted",
    "found",
    "whole_compared",
    "unseen",
    "dropped",
    "evicted",
    "expired",
    "ended",
    "lived",
    "lived_squares",
)
_RULE_FIELDS = ("arrivals", "compared", "produced", "batch")


def kept_by(operator: Operator) -> dict[str, Any]:
    """Return how an operator keeps its rows, for `carry_over`."""
    budget, order = operator.plan.spec.budget, operator.store.retention.order
    lives = operator.store.memory.lives
    return {
        "strategies": [repr(each) for each in operator.strategies],
        "retention": type(operator.store.retention).__name__,
        "by_match": order.draws_matches,
        "limits": [] if budget is None else _limited(operator.plan),
        "spans": lives["span"].tolist(),
        "parts": lives["parts"].tolist(),
    }


def _limited(plan: Plan) -> list[str]:
    budget = plan.spec.budget
    if budget is None:
        return []
    limits = {"memory": budget.limits_memory, "cpu": budget.cpu is not None}
    return [name for name, limited in limits.items() if limited]


def carry_over(
    operator: Operator,
    head: Mapping[str, Any],
    parts: list[Part],
    orders: list[Integers],
    learned: Learned | None,
    changed: frozenset[str],
) -> None:
    """Let a new operator go on with the rows, and with what was counted and learned.

    Parameters
    ----------
    operator
        Of the new join, without rows.
    head
        Of the saved state.
    parts, orders
        The rows of each stream, and their order in time.
    learned
        What was learned; None if there was no budget.
    changed
        Parts of the join that are others now.

    Raises
    ------
    StateError
        If that cannot be done so that what was lost stays known.
    """
    before, now = head["kept_by"], kept_by(operator)
    _check(operator.plan, now, head, learned)
    same_strategy = before["strategies"] == now["strategies"] and "goal" not in changed
    same_lives = all(before[name] == now[name] for name in ("spans", "parts"))
    same_kind = before["retention"] == now["retention"] and learned is not None
    # Grades are by parts of a life; what rows have drawn is theirs for ever.
    same_rows = same_kind and same_lives and (same_strategy or operator.plan.is_sample)
    clock = np.array(head["streams"]["clock"]).max()
    memory = operator.store.memory
    if clock > NEVER:
        memory.lives["now"] = np.floor(clock / memory.lives["span"])
    if not same_rows:
        for part in parts:
            part.arrivals["rating"] = 0.0
    store, payloads = operator.store, operator.payloads
    refill_rows(store, payloads, parts, orders, learned if same_rows else None)
    refill_vectors(operator.neighbours, operator.plan, store, payloads, operator.coder)
    _count_on(operator, head, same_strategy=same_strategy)
    if learned is not None:
        memory = operator.store.memory
        if same_lives:
            memory.matched[:] = learned["matched"]
            memory.exposed[:] = learned["exposed"]
        _learn_on(operator, learned, head["rule"]["notes"][0], same_kind=same_kind)
    _estimate_on(operator, head, learned)
    operator.importance_estimate.restore(
        {name: np.array(each) for name, each in head["importance"].items()}
    )
    if not _has_lost(head) and _limited(operator.plan):
        operator.importance_estimate.estimated = operator.importance_estimate.found
    if operator.scores is not None:
        operator.scores.resume(clock)
    has_shed = learned is not None and bool(learned.get("reviewer.steps.has_shed", np.zeros(1))[0])
    if operator.work is not None:
        same_work = same_strategy and head["work"] is not None
        operator.work.carry_over(head["work"], same_strategy=same_work, has_shed=has_shed)
    if operator.reviewer is not None and clock > NEVER:
        saved = {} if learned is None else below(learned, "reviewer.")
        operator.reviewer.carry_over(
            saved, clock.item(), same_strategy=same_strategy, same_rows=same_rows
        )
    operator.reviews.reviewed = -1
    _meter_on(operator, head, parts, learned, same_goal="goal" not in changed)
    _keep_to_budget(operator, rates=not same_rows)
    _note_with_rows(operator.store, operator.payloads)


# --- What cannot be carried over


def _has_lost(head: Mapping[str, Any]) -> bool:
    return any(sum(head["streams"][name]) for name in _LOST)


def _check(
    plan: Plan, now: Mapping[str, Any], head: Mapping[str, Any], learned: Learned | None
) -> None:
    """Refuse changes that hide what was lost, or what a result stands for."""
    before, said = head["kept_by"], head["join"]
    if plan.is_sample and before["by_match"] != now["by_match"]:
        kinds = ("rows with all their matches", "matches one by one")
        raise StateError(
            f"goal must draw {kinds[before['by_match']]}, as the saved state has: {said['goal']}; "
            f"got {plan.spec.goal!r}, which draws {kinds[now['by_match']]}; choose another "
            f"strategy, or start without the saved state"
        )
    if plan.is_sample and before["limits"] != now["limits"]:
        limits = " and ".join(before["limits"])
        raise StateError(
            f"budget of a sample must limit {limits}, as in the saved state: {said['budget']}; got "
            f"{plan.spec.budget!r}; limit the same, or start without the saved state"
        )
    has_shed = learned is not None and bool(learned.get("reviewer.steps.has_shed", np.zeros(1))[0])
    lost = _has_lost(head) or has_shed
    if not lost or "memory" in now["limits"] or before["limits"] == now["limits"] == ["cpu"]:
        return
    raise StateError(
        f"budget must limit rows or memory, because rows were lost with {said['budget']}; got "
        f"{plan.spec.budget!r}, with which it could not be said how much is missing; give a limit "
        f"as large as you like, such as Budget(rows=1_000_000_000), or start without the saved "
        f"state"
    )


# --- What goes on


def _count_on(operator: Operator, head: Mapping[str, Any], *, same_strategy: bool) -> None:
    """Go on with what was counted."""
    memory, limits = operator.store.memory, operator.limits
    for name in _STREAM_FIELDS:
        memory.streams[name] = head["streams"][name]
    for name in _RULE_FIELDS:
        memory.rule[name] = head["rule"][name]
    for name in ("faced", "found"):
        memory.pairs[name] = head["pairs"][name]
    memory.order[:] = head["order"]
    if same_strategy:
        memory.streams["share"] = head["shares"]
    operator.restore_counters(head["counters"])
    operator.emitted_before = head["emitted_before"]
    measured = np.array(head["measured"], np.int64)
    if limits.in_bytes and not measured.any():
        vector = operator.store.vector_bytes
        measured[:] = [(c.arrived, c.payload_bytes + c.arrived * vector) for c in operator.counters]
    limits.measured[:] = measured


def _learn_on(operator: Operator, learned: Learned, notes: int, *, same_kind: bool) -> None:
    """Go on with what was learned of rows, and with what they stand for if that was noted."""
    store = operator.store
    memory = store.memory
    by_stream = [store.in_queue(s) for s in range(memory.streams.size)]
    for s, rows in enumerate(by_stream):
        memory.rows["matches"][rows] = learned[f"matches.{s}"]
    if notes & METERS and _limited(operator.plan) == ["cpu"]:
        work, counts = operator.work, notes & BY_COUNT and operator.size_meter is not None
        memory.rule["notes"] |= METERS | (BY_COUNT if counts else 0)
        memory.rule["notes"] |= FITS if work is not None and work.fits is not None else 0
        store.reserve_shed()
        for s, rows in enumerate(by_stream):
            for name in SHED.names or ():
                store.memory.shed[name][rows] = learned[f"shed.{name}.{s}"]
    if same_kind:
        store.retention.restore(store.memory, by_stream, of_retention(learned))


def _estimate_on(operator: Operator, head: Mapping[str, Any], learned: Learned | None) -> None:
    """Go on with the estimate of what was lost, and with the rows that it is made from."""
    store, before, now = operator.store, head["kept_by"]["limits"], _limited(operator.plan)
    goes_on = before == now or "memory" in before or _has_lost(head)
    if now and goes_on and learned is not None:
        counted = below(learned, SIZES)
        by_count = now == ["cpu"] and operator.size_meter is None
        by_count &= bool(counted) and bool(counted["rule.room"][0])
        for name in GAUGE.names or ():
            saved = counted[f"gauge.{name}"] if by_count else learned[f"gauges.{name}"]
            store.memory.gauges[name] = saved
    elif "memory" in now and store.memory.streams.size == 2:
        # Nothing was lost so far.
        store.memory.gauges["total"] = store.memory.streams["found"]
    if operator.monitor is None or "memory" not in now:
        if not _has_lost(head) and now != before:
            store.memory.gauges[:] = 0  # `Store.meter` begins with all that was found
        return
    if "memory" in before and learned is not None:
        store.memory.rule["threshold"] = head["rule"]["threshold"]
        keep_monitored(store, learned)
    elif not operator.plan.is_sample:
        _monitor_held(store, operator.monitor, operator.limits, learned)


def _meter_on(
    operator: Operator,
    head: Mapping[str, Any],
    parts: list[Part],
    learned: Learned | None,
    *,
    same_goal: bool,
) -> None:
    """Go on with the counts of keys, or begin with those of the rows in memory."""
    meter = operator.size_meter
    if meter is None:
        return
    saved = {} if learned is None else below(learned, SIZES)
    if not same_goal:
        for name in WORTHS:
            saved.pop(name, None)
    if saved and saved["rule.room"][0]:
        meter.restore(saved)
    elif _has_lost(head):
        meter.stay_off()
    elif not meter.can_begin_late:
        numbers = np.concatenate([part.arrival_numbers for part in parts])
        held = np.concatenate([part.arrivals for part in parts])
        completed = np.array(head["streams"]["found"], np.float64)
        meter.begin_with(held[np.argsort(numbers, kind="stable")], completed)


def _monitor_held(store: Store, monitor: Monitor, limits: Limits, learned: Learned | None) -> None:
    """Monitor rows of those in memory, drawn as they would have been: no row has left so far.

    If arrivals were shed by lot, each stands for as many as it was taken in for.
    """
    limits.review()
    monitor.allow(limits.rows or 0)
    memory = store.memory
    quota = int(memory.rule["quota"][0])
    rows, draws, weights = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)]
    for s in range(memory.streams.size):
        mine = store.in_queue(s)
        records = memory.rows[mine]
        words = np.zeros(mine.size, np.int64)
        if memory.rule["kind"][0] == EQUAL:
            words = memory.slots[records["slot"], KEY_WORD]
        rows.append(mine)
        draws.append(monitor.draws(s, records["time"].copy(), words, records["value"].copy()))
        name = f"shed.weight.{s}"
        was_shed = learned is not None and name in learned
        weights.append(learned[name] if learned is not None and was_shed else np.ones(mine.size))
    row, draw, weight = (np.concatenate(each) for each in (rows, draws, weights))
    order = np.lexsort((memory.rows["arrival_number"][row], draw))
    threshold = float(draw[order[quota]]) if order.size > quota else 1.0
    chosen = order[:quota]
    chosen = chosen[draw[chosen] < threshold]
    memory.rule["threshold"] = threshold
    entries = memory.monitored[: chosen.size]
    entries["draw"], entries["insert_weight"] = draw[chosen], weight[chosen]
    entries["chance"] = threshold
    entries["since"] = memory.streams["clock"].max()
    entries["likeliness"] = memory.rows["likeliness"][row[chosen]]
    for at, each in enumerate(row[chosen].tolist()):
        monitor_again(memory, at, each)


# --- The new budget


def _keep_to_budget(operator: Operator, *, rates: bool) -> None:
    """Put rows into their order; let the first leave until the others fit."""
    store, limits, reviewer = operator.store, operator.limits, operator.reviewer
    limits.review()
    rows = limits.rows or 0
    if operator.monitor is not None:
        operator.monitor.allow(rows)
    if reviewer is not None:
        reviewer.take_over(rows, operator.payloads, rates=rates)
    rule = store.memory.rule[0]
    quota = int(rule["quota"])
    while not shrink(store.memory):
        rule["quota"] = int(rule["monitored"]) // 2
        keep_to_quota(store.memory)
    rule["quota"] = quota
    rule["held_most"], rule["taken_most"] = rule["held"], rule["taken"]
    streams = store.memory.streams
    streams["held_most"] = streams["held_at_most"] = streams["held"]
    limits.review()


def _note_with_rows(store: Store, payloads: Sequence[Payload]) -> None:
    """Note with the sub-windows what the new strategy says of their rows; all are saved again."""
    memory, retention = store.memory, store.retention
    for payload in payloads:
        payload.tidy()
        for number, window in payload.sub_windows.items():
            live = payload.live(number)
            rows = window.rows.astype(np.int64)
            window.likeliness[live] = memory.rows["likeliness"][rows[live]]
            ratings = retention.ratings(memory, rows)
            if ratings is not None:
                ratings = np.where(live, ratings, 0.0)
            window.ratings = ratings
