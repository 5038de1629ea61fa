"""What has changed of what was learned: put together again it is the same, and it is small."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.engine.learned_arrays import (
    KEY,
    NOTHING_LEARNED,
    LearnedArrays,
    combine,
    difference,
    from_bytes,
    to_bytes,
)
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.engine.state import restore, save


def assert_same(one: LearnedArrays, other: LearnedArrays) -> None:
    assert one.arrays.keys() == other.arrays.keys()
    assert one.tables.keys() == other.tables.keys()
    pairs = [(one.arrays[name], other.arrays[name]) for name in one.arrays]
    for name, table in one.tables.items():
        assert table.keys() == other.tables[name].keys()
        pairs += [(table[column], other.tables[name][column]) for column in table]
    for a, b in pairs:
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert np.array_equal(a, b)


def random_learned(draw: np.random.Generator) -> LearnedArrays:
    """Make arrays and tables of which some are in every one, and some only in a few."""
    arrays = {
        "always": draw.integers(0, 3, (4, 5)),
        "size": draw.random(int(draw.integers(0, 4))),
        "longer": np.arange(int(draw.integers(0, 9))),
        "kind": np.array("age" if draw.random() < 0.5 else "expected"),
        "one": np.array(draw.random() < 0.5),
    }
    if draw.random() < 0.5:
        arrays["sometimes"] = draw.random(3)
    tables: dict[str, dict[str, np.ndarray]] = {}
    for name in ("rows.0", "reviewer.values.1"):
        keys = np.flatnonzero(draw.random(40) < 0.6) * (-(2**57) if name == "rows.0" else 2**57)
        tables[name] = {KEY: keys, "matches": draw.integers(0, 2, keys.size).astype(np.int16)}
        if draw.random() < 0.2:
            tables[name]["grade"] = draw.random(keys.size)
    return LearnedArrays.copy_of(arrays, tables)


def test_changes_put_together_are_the_whole() -> None:
    draw = np.random.default_rng(1)
    before = kept = combine(NOTHING_LEARNED, from_bytes(to_bytes(random_learned(draw).whole())))
    for _ in range(300):
        now = random_learned(draw)
        kept = combine(kept, from_bytes(to_bytes(difference(before, now))))
        assert_same(kept, now)
        before = now


def test_nothing_is_written_if_nothing_has_changed() -> None:
    one, same = (random_learned(np.random.default_rng(3)) for _ in range(2))
    assert difference(one, same) == {}


def rows(batch: int, count: int) -> dict[str, pa.Table]:
    first = batch * count
    times = range(first, first + count)
    # Every row finds one partner, in the same batch.
    return {n: pa.table({"t": times, "k": times}) for n in ("a", "b")}


def test_what_is_written_follows_what_has_changed_and_not_what_is_held() -> None:
    stream = ps.Stream(time="t", window=10**6)
    join = ps.Join(
        streams={"a": stream, "b": stream}, on=ps.Equal("k"), budget=ps.Budget(rows=20_000)
    )
    plan = bind(join, {name: table.schema for name, table in rows(0, 1).items()})
    operator = Operator(plan)
    chunks: dict[str, bytes] = {}
    written = []
    for batch in range(120):
        operator.process(rows(batch, 50))
        changes = save(operator)
        for name in changes.removed:
            del chunks[name]
        chunks |= changes.written
        learned = [len(d) for name, d in changes.written.items() if name.startswith("learned")]
        written.append(sum(learned))
        assert chunks.keys() == {"head", *operator.saved}
        if batch % 40 == 39:  # a restored one goes on with the same changes
            operator = restore(plan, chunks)
    whole = len(to_bytes(operator.learned.whole())) if operator.learned is not None else 0
    # All of it in a few of the micro-batches, a small part in most of them.
    assert sum(size > whole / 4 for size in written[60:]) <= 6
    assert np.mean(written[60:]) < whole / 6
