"""A join as it travels to Spark's workers, bound to its schemas once in each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.engine.plan import bind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.engine.plan import Plan
    from penstock.spec import Specification

# Plans of the joins that ran last are kept, of this many joins at most.
_MAX_JOINS = 16

_plans: dict[str, Plan] = {}


@dataclass(frozen=True)
class Definition:
    """A join and its streams' schemas; `id` is the same in all workers."""

    spec: Specification
    schemas: Mapping[str, pa.Schema]
    id: str = field(default_factory=lambda: uuid4().hex)

    def plan(self) -> Plan:
        """Return the join bound to its schemas; only the first call in a process binds it."""
        plan = _plans.pop(self.id, None) or bind(self.spec, self.schemas)
        _plans[self.id] = plan  # comes last
        for oldest in list(_plans)[:-_MAX_JOINS]:
            del _plans[oldest]
        return plan
