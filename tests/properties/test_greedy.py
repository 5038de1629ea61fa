"""GREEDY: a more important row is not evicted earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from tests.engine.support import choices, examples

if TYPE_CHECKING:
    from tests.engine.support import Pick

STREAMS = ("r", "s")


def residence(tables: dict[str, pa.Table], made: ps.Join, number: int) -> int:
    """Return after how many of the steps a row of r is in memory."""
    operator = Operator(bind(made, {name: table.schema for name, table in tables.items()}))
    stayed = 0
    for start in range(len(tables["r"])):
        operator.process({name: table.slice(start, 1) for name, table in tables.items()})
        rows = operator.store.memory.rows
        held = rows[operator.store.in_queue(0)]
        stayed += int(np.count_nonzero(held["time"] == 2 * number))
    return stayed


@given(pick=choices())
@examples(30)
def test_more_importance_never_shortens_the_time_of_a_row_in_memory(pick: Pick) -> None:
    rows = pick(2, 25)
    scores = {name: [float(pick(0, 9)) for _ in range(rows)] for name in STREAMS}
    keys = {name: [pick(0, 4) for _ in range(rows)] for name in STREAMS}
    number = pick(0, rows - 1)
    made = ps.Join(
        streams={name: ps.Stream(time="t", window=pick(1, 60)) for name in STREAMS},
        on=ps.Equal("k"),
        goal=ps.MaxImportance(of="score", strategy="greedy"),
        budget=ps.Budget(rows=pick(2, 8), monitor=0),
    )

    def stay() -> int:
        tables = {
            name: pa.table(
                {"t": 2 * np.arange(rows) + place, "k": keys[name], "score": scores[name]}
            )
            for place, name in enumerate(STREAMS)
        }
        return residence(tables, made, number)

    before = stay()
    scores["r"][number] += pick(1, 9)
    assert stay() >= before
