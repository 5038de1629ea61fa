"""More text than Arrow's offsets of 32 bits can count: in results, in windows, in a batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.engine import payload, wide
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save
from penstock.testing import canonical_rows, expected_rows

MANY = 2**31  # bytes, one more than offsets of 32 bits can count


def _join(window: int) -> ps.Join:
    return ps.Join(
        streams={"a": ps.Stream(time="t", window=window), "b": ps.Stream(time="t", window=0)},
        on=ps.Equal("k"),
    )


def _wide(rows: int, width: int, start: int = 0) -> pa.Table:
    """Return rows with so many bytes of text each."""
    text = pa.array(["x" * width]).take(pa.array(np.zeros(rows, np.int64)))
    return pa.table({"t": np.arange(start, start + rows), "k": np.arange(rows) % 7, "text": text})


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be large that has more than a few kilobytes."""
    monkeypatch.setattr(wide, "_SAFE_BYTES", 3_000)
    monkeypatch.setattr(payload, "MOST_BYTES", 2_000)
    monkeypatch.setattr(payload, "_RESULT_BYTES", 5_000)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("saving", [False, True])
def test_small_pieces_have_the_same_rows(*, saving: bool) -> None:
    draws = np.random.default_rng(4)
    tables = {
        name: pa.table(
            {
                "t": np.arange(300),
                "k": draws.integers(0, 20, 300),
                "text": ["y" * width for width in draws.integers(0, 400, 300).tolist()],
                "nested": [[{"a": "z" * width}] for width in draws.integers(0, 90, 300).tolist()],
            }
        )
        for name in "ab"
    }
    join = _join(100)
    plan = bind(join, {name: table.schema for name, table in tables.items()})
    operator = Operator(plan)
    stored: dict[str, bytes] = {}
    pieces: list[pa.Table] = []
    for start in range(0, 300, 60):
        # In chunks, as Spark delivers them.
        batch = {
            name: pa.concat_tables([table.slice(start, 25), table.slice(start + 25, 35)])
            for name, table in tables.items()
        }
        pieces.extend(operator.pieces(batch))
        for each in operator.payloads:
            assert all(
                window.table.nbytes < 3_000 or window.rows.size == 1
                for window in each.sub_windows.values()
            )
        if saving:
            changes = save(operator)
            kept = {n: d for n, d in stored.items() if n not in changes.removed}
            stored = kept | dict(changes.written)
            operator = restore(plan, stored)
    assert len(pieces) > 50
    assert canonical_rows(pa.concat_tables(pieces)) == expected_rows(join, tables)


@pytest.mark.slow
def test_results_of_more_than_2_gib() -> None:
    """500,000 results with 4.5 kB of text each."""
    tables = {"a": _wide(100, 4_500), "b": _wide(35_000, 1, start=100)}
    plan = bind(_join(10**6), {name: table.schema for name, table in tables.items()})
    rows = size = 0
    for piece in Operator(plan).pieces(tables):
        rows += piece.num_rows
        size += pc.sum(pc.binary_length(pc.struct_field(piece["a"], "text"))).as_py()
    assert rows == 500_000
    assert size == 4_500 * rows > MANY


@pytest.mark.slow
def test_a_window_of_5_gb() -> None:
    """Held, found, and in a micro-batch of 3 GB too."""
    width = 100_000
    plan = bind(_join(10**6), {"a": _wide(1, 1).schema, "b": _wide(1, 1).schema})
    operator = Operator(plan)
    # One column, twice 1.5 GB, in chunks that share their bytes.
    part = _wide(15_000, width)
    operator.process({"a": pa.concat_tables([part, part])})
    for start in (20_000, 35_000):
        operator.process({"a": _wide(10_000, width, start=start)})
    held = sum(window.table.nbytes for window in operator.payloads[0].sub_windows.values())
    assert held > 5_000_000_000
    found = operator.process({"b": _wide(1, 1, start=50_000)})
    assert found.num_rows == operator.store.held // 7 + 1
    lengths = pc.binary_length(pc.struct_field(found["a"], "text"))
    assert pc.sum(lengths).as_py() == width * found.num_rows


@pytest.mark.slow
def test_single_values_of_100_mb() -> None:
    tables = {"a": _wide(3, 100_000_000), "b": _wide(3, 100_000_000, start=3)}
    found = _join(10).replay(tables).result
    assert found.num_rows == 3
    assert pc.binary_length(pc.struct_field(found["b"], "text")).to_pylist() == [100_000_000] * 3
