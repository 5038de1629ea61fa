"""What was decided, as the compiled loop reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.decision_checks import check_sub_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.arrays import Array
    from penstock.engine.store import Store
    from penstock.strategies import Decision


def act_on(
    store: Store, decision: Decision, turned: Sequence[int], *, has_shed: bool, limits_memory: bool
) -> None:
    """Set what the compiled loop acts on.

    Parameters
    ----------
    store
        The memory.
    decision
        Of all strategies together.
    turned
        Streams of which a part of a life has gone by.
    has_shed
        Whether a step was ever left out.
    limits_memory
        Whether memory is limited.
    """
    rule = store.memory.rule
    if decision.retain.shares is not None:
        store.memory.streams["share"] = decision.retain.shares
    rule["emits_drawn"] = decision.emit.only_drawn
    rule["sheds"] = decision.sheds_arrivals or has_shed
    if decision.probe.sub_windows is not None or rule["sub_windows"][0]:
        check_sub_windows(decision.probe.sub_windows, store.memory.streams.size)
        probed, whole = decision.probe.sub_windows, decision.probe.whole
        counted = None
        if limits_memory and probed is not None:
            counted = store.count_parts(probed)
        store.set_sub_windows(probed, whole, counted)
    store.retention.apply(store.memory, decision.retain.order, turned)


def resume(store: Store, decision: Decision, parts_probed: Array | None, *, has_shed: bool) -> None:
    """Set the same after a restart; the rest is in the saved memory."""
    rule, probe = store.memory.rule, decision.probe
    rule["sheds"] = decision.sheds_arrivals or has_shed
    rule["emits_drawn"] = decision.emit.only_drawn
    store.set_sub_windows(probe.sub_windows, probe.whole, parts_probed)
    store.retention.resume(store.memory, decision.retain.order)
