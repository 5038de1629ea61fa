"""A workload as it travels to Spark's workers, bound to its schemas once in each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.engine.joint_plan import JointPlan, JointSpecification

# Plans of the workloads that ran last are kept, of this many at most.
_MAX_WORKLOADS = 4

_plans: dict[str, JointPlan] = {}


@dataclass(frozen=True)
class JointDefinition:
    """A workload and its streams' schemas; `id` is the same in all workers."""

    spec: JointSpecification
    schemas: Mapping[str, pa.Schema]
    id: str = field(default_factory=lambda: uuid4().hex)

    def plan(self) -> JointPlan:
        """Return the joins bound to their schemas; only the first call in a process binds them."""
        plan = _plans.pop(self.id, None) or self.spec.bind(self.schemas)
        _plans[self.id] = plan  # comes last
        for oldest in list(_plans)[:-_MAX_WORKLOADS]:
            del _plans[oldest]
        return plan
