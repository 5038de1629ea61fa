"""What a join with a share of the processor has spent, stretch by stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.operator import Operator
from penstock.engine.plan import bind

if TYPE_CHECKING:
    import penstock as ps
    from penstock.engine.arrays import Floats


def spent_by(join: ps.Join, tables: dict[str, pa.Table], every: float) -> list[tuple[float, float]]:
    """Return (work, account) at steps of time: of what was counted, and of what was allowed."""
    operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
    assert operator.work is not None
    end = max(float(table["time"].to_numpy().max()) for table in tables.values())
    spent = []
    for stop in np.arange(every, end, every):
        batch = {}
        for name, table in tables.items():
            times = table["time"].to_numpy()
            batch[name] = table.filter(pa.array((times >= stop - every) & (times < stop)))
        operator.process(batch)
        done = operator.work.ledger.account.spent + operator.work.ledger.not_booked
        spent.append((done, float(operator.work.ledger.account.credit)))
    return spent


def used_and_kept(spent: Floats, stretch: int, allowed: float) -> tuple[Floats, Floats]:
    """Return what each stretch of so many steps has used, and what it has used or kept.

    As shares of what was allowed in it, and kept from before it.
    """
    done, before = spent[stretch:, 0] - spent[:-stretch, 0], np.maximum(spent[:-stretch, 1], 0.0)
    after = np.maximum(spent[stretch:, 1], 0.0)
    return done / (allowed + before), (done + after) / (allowed + before)
