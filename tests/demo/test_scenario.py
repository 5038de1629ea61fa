from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from penstock.demo import scenario
from penstock.spark.market import MarketSource
from penstock.testing import canonical_rows, expected_rows


def test_both_streams_end_at_the_same_moment() -> None:
    tables = scenario.tables(300, seed=0)
    last = tables["auctions"]["opened_at"][-1].as_py()
    assert max(tables["bids"]["at"].to_pylist()) <= last
    assert pa.types.is_timestamp(tables["bids"].schema.field("at").type)


def test_sparks_source_has_the_same_rows() -> None:
    for name, table in scenario.tables(300, seed=4).items():
        source = MarketSource(scenario.source_options(300, seed=4) | {"stream": name})
        reader = source.reader(source.schema())
        batches = [batch for part in reader.partitions() for batch in reader.read(part)]
        assert pa.Table.from_batches(batches).equals(table)


@pytest.mark.parametrize("strategy", [None, "fifo", "random"])
def test_counts_are_enough_for_recall(strategy: str | None) -> None:
    """Each result of a join with a budget is one of the exact join's, and comes once."""
    tables = scenario.tables(200, seed=1)
    exact = scenario.join(seed=1)
    rows = None if strategy is None else 20
    result = scenario.join(seed=1, strategy=strategy, rows=rows).replay(tables).result
    expected = expected_rows(exact, tables)
    assert Counter(canonical_rows(result)) <= Counter(expected)
    assert (strategy is None) == (result.num_rows == len(expected))
