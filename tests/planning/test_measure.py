"""Statistics of a query from samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.planning.selection_values import selected_share

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
STREAMS = {"a": "t", "b": "t"}


def sample(rate: float, values: int, seed: int, duration: float = 200.0) -> pa.Table:
    """Rows at regular times, with uniform values."""
    rng = np.random.default_rng(seed)
    count = int(rate * duration)
    return pa.table(
        {
            "t": np.arange(count) / rate,
            "x": rng.integers(0, values, count),
            "y": rng.uniform(0, 1, count),
        }
    )


TABLES = {"a": sample(10, 20, 1), "b": sample(30, 20, 2)}


def brute(
    condition: str, window_a: float | None, rows_b: int | None, window_b: float | None = None
) -> tuple[float, float]:
    """Both selectivities, pair by pair."""
    a, b = (TABLES[name].to_pylist() for name in "ab")
    tests: dict[str, Callable[[Row, Row], bool]] = {
        "a.x = b.x": lambda one, other: one["x"] == other["x"],
        "a.y < b.y": lambda one, other: one["y"] < other["y"],
        "ABS(a.y - b.y) <= 0.1": lambda one, other: abs(one["y"] - other["y"]) <= 0.1,
        "b.y BETWEEN a.y - 0.1 AND a.y + 0.3": lambda one, other: (
            -0.1 <= other["y"] - one["y"] <= 0.3
        ),
    }
    holds = tests[condition]
    faced, found = [0, 0], [0, 0]
    for one in a[::7]:
        earlier = [other for other in b if other["t"] <= one["t"]]
        live = (
            earlier[-rows_b:]
            if rows_b
            else [other for other in earlier if other["t"] >= one["t"] - (window_b or 0)]
        )
        faced[0] += len(live)
        found[0] += sum(holds(one, other) for other in live)
    for other in b[::17]:
        live_a = [one for one in a if other["t"] - (window_a or 0) <= one["t"] < other["t"]]
        faced[1] += len(live_a)
        found[1] += sum(holds(one, other) for one in live_a)
    return found[0] / faced[0], found[1] / faced[1]


@pytest.mark.parametrize(
    "condition",
    ["a.x = b.x", "a.y < b.y", "ABS(a.y - b.y) <= 0.1", "b.y BETWEEN a.y - 0.1 AND a.y + 0.3"],
)
def test_selectivities_of_pairs_in_the_windows(condition: str) -> None:
    query = ps.Query(
        f"SELECT * FROM a [RANGE 5], b [ROWS 40] WHERE {condition}",  # noqa: S608 -- our own
        streams=STREAMS,
    )
    statistics = query.measure(TABLES)
    assert statistics.rates == pytest.approx({"a": 10, "b": 30})
    found = statistics.selectivity(query.parsed.conditions[0].text)
    # Other rows are looked at: both estimate the same share of thousands of pairs.
    assert found == pytest.approx(brute(condition, 5.0, 40), abs=0.03)


def test_equal_pairs_are_counted_exactly() -> None:
    a = pa.table({"t": [0, 5, 10], "x": [1, 2, 1]})
    b = pa.table({"t": [1, 6, 11], "x": [1, 1, 2]})
    query = ps.Query("SELECT * FROM a [RANGE 6], b [RANGE 100] WHERE a.x = b.x", streams=STREAMS)
    # a at 5 meets b at 1; a at 10 meets b at 1 and 6: two of three match.
    # b at 1 meets a at 0, which matches; b at 6 meets 0 and 5, b at 11 meets 5 and 10: two of five.
    assert query.measure({"a": a, "b": b}).selectivity("a.x = b.x") == pytest.approx((2 / 3, 3 / 5))


def test_the_share_of_a_selection() -> None:
    query = ps.Query("SELECT * FROM a [NOW] WHERE y < 0.25 AND x <> 3", streams={"a": "t"})
    found = query.measure({"a": TABLES["a"]}).selectivities
    y = TABLES["a"]["y"].to_numpy()
    assert found["a.y < 0.25"] == pytest.approx(np.mean(y < 0.25))
    assert 0.9 < found["a.x <> 3"] < 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("x BETWEEN 2 AND 3", 0.5),
        ("x IN (1, 4)", 0.5),
        ("NOT (x = 1 OR x = 2)", 0.5),
        ("s LIKE 'a%'", 0.5),
        ("s IS NULL", 0.25),
        ("s IS NOT NULL", 0.75),
        ("ABS(x - 3) < 1.5", 0.75),
        ("x * 2 + 1 >= 7", 0.5),
        ("-x < -3 AND x / 2 > 1", 0.25),
        ("UPPER(s) = 'AB' AND LENGTH(s) = 2", 0.25),
        ("TRUE", 1.0),
    ],
)
def test_expressions(text: str, share: float) -> None:
    table = pa.table({"x": [1, 2, 3, 4], "s": ["ab", "ac", "b", None]})
    assert selected_share(text, table) == share


def test_an_expression_that_only_spark_knows_needs_its_share() -> None:
    table = pa.table({"s": ["x"]})
    message = r"runs without Spark \(SOUNDEX\(s\)\).*give its share: measure\(tables, selectiv"
    with pytest.raises(ps.SchemaError, match=message):
        selected_share("soundex(s) = 'X000'", table)


def test_tables_are_counted_and_need_no_time() -> None:
    query = ps.Query(
        "SELECT * FROM a [NOW], sites WHERE a.x = sites.id", streams=STREAMS, tables=["sites"]
    )
    sites = pa.table({"id": np.arange(10)})
    statistics = query.measure({"a": TABLES["a"], "sites": sites})
    assert statistics.cardinalities == {"sites": 10}
    # Ten of twenty values have a site; each pair counts.
    assert statistics.selectivity("a.x = sites.id")[0] == pytest.approx(0.05, abs=0.005)  # type: ignore[index]


class TestRefusals:
    QUERY = ps.Query("SELECT * FROM a [NOW], b [ROWS 3] WHERE a.x = b.x", streams=STREAMS)

    def test_a_missing_table(self) -> None:
        with pytest.raises(ps.SchemaError, match=r'give one for "b"'):
            self.QUERY.measure({"a": TABLES["a"]})

    def test_a_missing_column(self) -> None:
        with pytest.raises(ps.SchemaError, match=r'column of "b" must be one of t, z'):
            self.QUERY.measure({"a": TABLES["a"], "b": pa.table({"t": [1.0], "z": [1]})})

    def test_streams_that_never_meet(self) -> None:
        later = pa.table({"t": [1000.0, 1001.0], "x": [1, 2]})
        query = ps.Query("SELECT * FROM a [RANGE 1], b [RANGE 1] WHERE a.x = b.x", streams=STREAMS)
        with pytest.raises(ps.SchemaError, match="rows that meet in their windows"):
            query.measure({"a": TABLES["a"], "b": later})

    def test_a_sample_of_one_row(self) -> None:
        one = pa.table({"t": [1.0], "x": [1]})
        with pytest.raises(ps.SchemaError, match="rows at two times at least; got 1"):
            self.QUERY.measure({"a": one, "b": TABLES["b"]})


class TestTypes:
    """Columns whose types differ are compared as in a join with a table."""

    STREAM = pa.table({"t": [0, 1], "x": [2**53 + 1, 5]})

    @pytest.mark.parametrize(
        ("own", "stored", "share"),
        [
            (pa.array(["a", "b"]), pa.array(["a", "c"], pa.large_string()), 0.25),
            (pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "c"]), 0.25),
            (
                pa.array([1_000_000, 5], pa.timestamp("us")),
                pa.array([1_000, 5], pa.timestamp("ms")),
                0.25,
            ),
            (pa.array([0, 1], pa.date32()), pa.array([0, 7], pa.timestamp("us")), 0.25),
            (pa.array([2**53 + 1, 5]), pa.array([2.0**53, 1.5]), 0.25),
            (pa.array([1, 5], pa.int8()), pa.array([5, 6]), 0.25),
            (pa.array([1, 5]), pa.array([5, 6]).cast(pa.decimal128(21, 2)), 0.25),
            (pa.array([float("nan"), -0.0]), pa.array([float("nan"), 0.0]), 0.25),
            (pa.array([None, 1]), pa.array([None, 1]), 0.25),
            (pa.array([b"a", b"b"]), pa.array([b"a", b"c"], pa.large_binary()), 0.25),
        ],
    )
    def test_equalities_with_a_table(self, own: pa.Array, stored: pa.Array, share: float) -> None:
        query = ps.Query(
            "SELECT a.t FROM a [NOW], s WHERE a.x = s.y", streams={"a": "t"}, tables=["s"]
        )
        tables = {"a": pa.table({"t": [0, 1], "x": own}), "s": pa.table({"y": stored})}
        statistics = query.measure(tables)
        assert statistics.selectivity("a.x = s.y") == (share, share)
        result = query.optimize(statistics).replay(tables).result
        assert result.num_rows == share * 4

    def test_a_condition_between_two_tables(self) -> None:
        query = ps.Query(
            "SELECT a.t FROM a [NOW], s, u WHERE a.x = s.x AND s.y = u.y AND s.z < u.z",
            streams={"a": "t"},
            tables=["s", "u"],
        )
        tables = {
            "a": self.STREAM,
            "s": pa.table({"x": [5, 6], "y": ["a", "b"], "z": [1, 2]}),
            "u": pa.table({"y": ["a", "a", "c"], "z": [1, 2, 3]}),
        }
        statistics = query.measure(tables)
        assert statistics.selectivity("s.y = u.y") == pytest.approx(2 / 6)
        assert statistics.selectivity("s.z < u.z") == pytest.approx(3 / 6)
        assert query.optimize(statistics).replay(tables).result.num_rows == 1

    @pytest.mark.parametrize("condition", ["a.x = s.x", "a.x < s.x", "s.x = u.x AND a.x = s.x"])
    def test_an_empty_table_matches_nothing(self, condition: str) -> None:
        query = ps.Query(
            f"SELECT a.t FROM a [NOW], s, u WHERE {condition}",  # noqa: S608  # it goes nowhere
            streams={"a": "t"},
            tables=["s", "u"],
        )
        empty = pa.table({"x": pa.array([], pa.int64())})
        tables = {"a": self.STREAM, "s": empty, "u": pa.table({"x": [1]})}
        statistics = query.measure(tables)
        assert statistics.cardinalities == {"s": 0, "u": 1}
        assert query.optimize(statistics).replay(tables).result.num_rows == 0

    def test_whole_numbers_are_compared_exactly(self) -> None:
        query = ps.Query(
            "SELECT a.t FROM a [RANGE 9], b [RANGE 9] WHERE a.x < b.x", streams=STREAMS
        )
        other = pa.table({"t": [1, 2], "x": [2**53 + 2, 2**53]})
        # a at 0 meets both; a at 1 meets both; b at 1 meets a at 0, b at 2 both.
        found = query.measure({"a": self.STREAM, "b": other}).selectivity("a.x < b.x")
        assert found == pytest.approx((1.0, 2 / 3))

    @pytest.mark.parametrize(
        ("condition", "kind"),
        [
            ("a.x < b.x", pa.string()),
            ("ABS(a.x - b.x) <= 1", pa.string()),
            ("a.x < b.x", pa.timestamp("us")),
            ("a.x = b.x", pa.float64()),
        ],
    )
    def test_what_joins_do_not_compare_is_named(self, condition: str, kind: pa.DataType) -> None:
        query = ps.Query(
            f"SELECT a.t FROM a [RANGE 9], b [RANGE 9] WHERE {condition}",  # noqa: S608  # as above
            streams=STREAMS,
        )
        other = pa.table({"t": [1, 2], "x": pa.array([None, None], kind)})
        with pytest.raises(
            ps.SchemaError, match=r'at line 1, column 48: column "x" of stream "[ab]"'
        ):
            query.measure({"a": self.STREAM, "b": other})

    def test_a_literal_may_be_beyond_64_bits(self) -> None:
        query = ps.Query("SELECT a.t FROM a [NOW] WHERE a.x < 9223372036854775808", streams=STREAMS)
        found = query.measure({"a": self.STREAM})
        assert found.selectivities == {"a.x < 9223372036854775808": 1.0}


class TestGiven:
    QUERY = ps.Query(
        "SELECT a.t FROM a [RANGE 5], b [RANGE 5] "
        "WHERE a.x = b.x AND SOUNDEX(a.x) = 'X' AND b.y <> 0 AND 1 / b.y > 2",
        streams=STREAMS,
    )

    def test_shares_that_are_known_are_not_measured(self) -> None:
        known: dict[str, float | tuple[float, float]] = {
            "soundex(a.x) = 'X'": 0.3,
            "a.x=b.x": (0.1, 0.2),
        }
        statistics = self.QUERY.measure(TABLES, selectivities=known)
        assert statistics.selectivity("SOUNDEX(a.x) = 'X'") == 0.3
        assert statistics.selectivity("a.x = b.x") == (0.1, 0.2)
        assert statistics.selectivity("1 / b.y > 2") == pytest.approx(0.5, abs=0.02)

    def test_without_it_the_error_says_where_to_give_it(self) -> None:
        with pytest.raises(
            ps.SchemaError, match=r"give its share: measure\(tables, selectivities="
        ):
            self.QUERY.measure(TABLES)

    @pytest.mark.parametrize(
        ("known", "message"),
        [
            ({"SOUNDEX(a.y) = 'X'": 0.3}, 'did you mean "SOUNDEX'),
            ({"a.x = b.x": 3}, "must be a number from 0 to 1"),
        ],
    )
    def test_what_is_not_of_the_query_is_refused(self, known: dict[str, Any], message: str) -> None:
        with pytest.raises(ps.SpecificationError, match=message):
            self.QUERY.measure(TABLES, selectivities=known)


def test_the_model_agrees_with_the_exact_join() -> None:
    """Results of a replay, against the modelled rate: regular arrivals, uniform keys."""
    query = ps.Query("SELECT * FROM a [RANGE 5], b [RANGE 3] WHERE a.x = b.x", streams=STREAMS)
    modelled = query.optimize(query.measure(TABLES)).rate
    join = ps.Join(
        streams={"a": ps.Stream(time="t", window=5.0), "b": ps.Stream(time="t", window=3.0)},
        on=ps.Equal("x"),
    )
    times = join.replay(TABLES).result["time"].to_numpy()
    steady = np.count_nonzero(times >= 10.0) / 190.0
    assert modelled == pytest.approx(steady, rel=0.02)
