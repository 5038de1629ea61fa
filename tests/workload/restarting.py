"""A workload that is saved after every batch, and restored for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine import state
from penstock.engine.joint_shard import JointShard
from penstock.engine.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import penstock as ps


class Restarted:
    """Joins one batch after the other, each with an operator that is restored.

    Attributes
    ----------
    found
        The results of each join.
    chunks, division
        What was saved, of each join and of the division of the budget.
    """

    def __init__(self, names: list[str]) -> None:
        self.chunks: dict[str, dict[str, bytes]] = {name: {} for name in names}
        self.division: bytes | None = None
        self._found: dict[str, list[pa.Table]] = {name: [] for name in names}

    @property
    def found(self) -> dict[str, pa.Table]:
        return {name: pa.concat_tables(pieces) for name, pieces in self._found.items()}

    def run(self, work: ps.Workload, batch: Mapping[str, pa.Table]) -> JointShard:
        """Restore what was saved, if anything was, join a batch, and save it."""
        plan = work.specification.bind({name: table.schema for name, table in batch.items()})
        operators = {
            join: state.restore(plan.plans[join], own, aligned=True)
            if own
            else Operator(plan.plans[join], aligned=True, ordered=True)
            for join, own in self.chunks.items()
        }
        joint = JointShard.restore(operators, plan.rule, self.division)
        self._check(joint)
        going = {
            join: operator.pieces({n: batch[n] for n in plan.plans[join].spec.names})
            for join, operator in operators.items()
        }
        for join, piece in joint.pieces(going):
            self._found[join].append(piece)
        self._check(joint)
        self.division = joint.save()
        for join, operator in operators.items():
            changes = state.save(operator)
            self.chunks[join] |= changes.written
            for gone in changes.removed:
                del self.chunks[join][gone]
        return joint

    @staticmethod
    def _check(joint: JointShard) -> None:
        """No join holds more than its part of the memory, and all is divided."""
        for name, resource in joint.resources.items():
            assert sum(joint.amounts[name].values()) == resource.whole
        for join, amount in joint.amounts.get("memory", {}).items():
            limits, rule = joint.operators[join].limits, joint.operators[join].store.memory.rule
            held = 8 * int(rule["taken"][0]) if limits.in_bytes else int(rule["held"][0])
            assert held <= limits.amount <= amount
            assert limits.is_set_to(amount)  # bytes are counted in whole words
