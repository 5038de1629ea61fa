"""Queries in SQL: what is read, and what is refused in which words."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock as ps
from penstock.planning import QueryStatistics
from penstock.planning.subsets import Subsets

STREAMS = {"auctions": "opened_at", "bids": "at", "people": "joined_at"}
MARKET = """
SELECT a.id, b.price, p.name
FROM auctions a [RANGE 7 DAYS], bids b [RANGE 1 HOUR], people p [ROWS 10000]
WHERE a.id = b.auction AND b.bidder = p.id AND b.price > 100
"""
SCHEMAS = {
    "auctions": pa.schema({"id": pa.int64(), "opened_at": pa.timestamp("us")}),
    "bids": pa.schema(
        {
            "auction": pa.int64(),
            "bidder": pa.string(),
            "price": pa.float64(),
            "at": pa.timestamp("us"),
        }
    ),
    "people": pa.schema({"id": pa.string(), "name": pa.string(), "joined_at": pa.timestamp("us")}),
}


TWO = "SELECT * FROM auctions a [ROWS 5], bids b [ROWS 5] WHERE"


def query(text: str, **options: object) -> ps.Query:
    return ps.Query(text, streams=STREAMS, **options)  # type: ignore[arg-type]


def joined(condition: str) -> ps.Query:
    return query(" ".join([TWO, condition]))


class TestReading:
    def test_the_market(self) -> None:
        parsed = query(MARKET).parsed
        assert [each.window for each in parsed.sources] == [
            "[RANGE 7 days]",
            "[RANGE 1 hour]",
            "[ROWS 10000]",
        ]
        assert [each.predicate for each in parsed.conditions] == [
            ps.Equal(a="id", b="auction"),
            ps.Equal(b="bidder", p="id"),
        ]
        assert [(each.relation, each.text) for each in parsed.selections] == [
            ("b", "b.price > 100")
        ]
        assert parsed.output == (("id", "a.id"), ("price", "b.price"), ("name", "p.name"))

    @pytest.mark.parametrize(
        ("condition", "predicate"),
        [
            ("a.x = b.y", ps.Equal(a="x", b="y")),
            ("a.x < b.y", ps.Compare("<", a="x", b="y")),
            ("a.x <> b.y", ps.Compare("!=", a="x", b="y")),
            ("b.y >= a.x", ps.Compare(">=", b="y", a="x")),
            ("ABS(a.x - b.y) <= 2.5", ps.Within(2.5, a="x", b="y")),
            ("b.y BETWEEN a.x - 1 AND a.x + 3", ps.Band(low=-1, high=3, a="x", b="y")),
            ("b.y BETWEEN a.x AND a.x + 3", ps.Band(low=0, high=3, a="x", b="y")),
        ],
    )
    def test_conditions(self, condition: str, predicate: object) -> None:
        assert [each.predicate for each in joined(condition).parsed.conditions] == [predicate]

    @pytest.mark.parametrize(
        "text",
        [
            "SELECT * FROM auctions a [ROWS 5] JOIN bids b [ROWS 5] ON a.id = b.auction",
            "SELECT * FROM auctions [ROWS 5] a, bids [ROWS 5] AS b WHERE (a.id = b.auction)",
            "select * from auctions a [rows 5] cross join bids b [rows 5] where a.id = b.auction",
        ],
    )
    def test_ways_to_write_the_same(self, text: str) -> None:
        parsed = query(text).parsed
        assert [(each.name, each.origin, each.rows) for each in parsed.sources] == [
            ("a", "auctions", 5),
            ("b", "bids", 5),
        ]
        assert [each.predicate for each in parsed.conditions] == [ps.Equal(a="id", b="auction")]

    def test_any_expression_over_one_stream_is_a_selection(self) -> None:
        condition = "(b.price > 100 OR upper(b.bidder) LIKE 'X%') AND a.id = b.auction"
        parsed = joined(condition).parsed
        assert [each.text for each in parsed.selections] == [
            "b.price > 100 OR UPPER(b.bidder) LIKE 'X%'"
        ]
        assert parsed.selections[0].columns == ("price", "bidder")

    def test_columns_without_a_prefix_are_found_by_the_schemas(self) -> None:
        text = "SELECT price FROM auctions a [NOW], bids [NOW] WHERE id = auction AND price > 1"
        parsed = query(text, schemas=SCHEMAS).parsed
        assert parsed.conditions[0].predicate == ps.Equal(a="id", bids="auction")
        assert parsed.output == (("price", "bids.price"),)

    def test_the_window_of_the_stream_counts_where_the_query_has_none(self) -> None:
        found = ps.Query(
            "SELECT * FROM a, b [ROWS 3]",
            streams={"a": ps.Stream(time="t", window="2 hours"), "b": "t"},
        )
        assert [each.window for each in found.parsed.sources] == ["[RANGE 2 hours]", "[ROWS 3]"]

    def test_equalities_that_follow(self) -> None:
        text = (
            "SELECT * FROM auctions a [ROWS 5], bids b [ROWS 5], people p [ROWS 5] "
            "WHERE a.x = b.y AND b.y = p.z"
        )
        last = query(text).parsed.conditions[-1]
        assert (last.text, last.follows) == ("a.x = p.z", True)

    def test_it_is_equal_to_itself_and_not_to_others(self) -> None:
        assert query(MARKET) == query(MARKET)
        assert hash(query(MARKET)) == hash(query(MARKET))
        assert query(MARKET) != query(MARKET.replace("100", "200"))


REFUSED = [
    ("SELECT * FROM bids", r'window of stream "bids" at line 1, column 15 must be given'),
    ("SELECT * FROM bids [UNBOUNDED]", r"must be given; got '\[UNBOUNDED\]'"),
    ("SELECT * FROM bids [RANGE soon]", r"window at line 1, column 20 must be a duration"),
    ("SELECT * FROM bids [ROWS 0]", r"window at line 1, column 20 must be a time, a number of"),
    ("SELECT * FROM bidz [ROWS 9]", r'"bidz" at line 1, column 15 .* did you mean "bids"\?'),
    ("SELECT *\nFROM bids b [NOW]\nWHERE c.x = 1", r"line 3, column 7 must be of one of b"),
    ("SELECT * FROM bids [NOW], bids [NOW]", r'"bids" at line 1, column 27 must be a name of its'),
    ("SELECT count(*) FROM bids [NOW]", r"query at line 1, column 8 must be without aggregates"),
    ("SELECT x FROM bids [NOW] GROUP BY x", r"line 1, column 26 must be without GROUP BY"),
    ("SELECT DISTINCT x FROM bids [NOW]", r"line 1, column 8 must be without DISTINCT"),
    ("SELECT x FROM bids [NOW] LIMIT 3", r"line 1, column 26 must be without LIMIT"),
    ("SELECT x FROM bids [NOW] WHERE x IN (SELECT 1)", r"must be without subqueries"),
    ("SELECT x FROM (SELECT 1) y", r"must be without subqueries"),
    (
        "SELECT order_id FROM bids [NOW] ORDER BY order_id",
        r"query at line 1, column 33 must be without ORDER BY",
    ),
    (
        "SELECT country, count(*) FROM bids [NOW]",
        r"query at line 1, column 17 must be without aggregates",
    ),
    (
        "SELECT limits, b.limit\nFROM bids b [NOW]\nLIMIT 3",
        r"query at line 3, column 1 must be without LIMIT",
    ),
    ("SELECT x FROM bids [NOW] WHERE x = 1 AND 1 = 1", r"condition at line 1, column 42 must"),
    ("SELECT x FROM bids [NOW] WHERE x = 1 AND TRUE", r"condition at line 1, column 42 must"),
    ("SELECT x FROM bids [NOW] WHERE x = 1 AND NOT 2 = 1", r"condition at line 1, column 42 must"),
    (
        "SELECT * FROM bids TABLESAMPLE (10 PERCENT) b [NOW]",
        r'"bids" at line 1, column 15 must be without TABLESAMPLE; got',
    ),
    (
        "SELECT * FROM bids PIVOT (max(x) FOR y IN (1)) [NOW]",
        r"must be without PIVOT; got",
    ),
    (
        "SELECT * FROM auctions a [NOW], bids VERSION AS OF 3 [NOW]",
        r'"bids" at line 1, column 33 must be without VERSION AS OF or TIMESTAMP AS OF; got',
    ),
    (
        "SELECT * FROM bids TIMESTAMP AS OF '2024-01-01' [NOW]",
        r"must be without VERSION AS OF or TIMESTAMP AS OF; got",
    ),
    ("SELECT * FROM mine.bids [NOW]", r'"bids" at line 1, column 15 must be without a database'),
    ("SELECT * FROM bids AS b (x, y) [NOW]", r"must be without other names for its columns"),
    ("SELECT * FROM range(5) [NOW]", r"FROM at line 1, column 15 must be of streams and tables"),
    ("DELETE FROM bids", r"must be one SELECT; got 'DELETE'"),
    ("SELECT x FROM bids [NOW] WHERE", r"query at line 1, column \d+ must be SQL"),
    ("SELECT FROM FROM", r"must be SQL"),
    ("", r"query must be a text in SQL"),
    (
        "SELECT * FROM bids b [NOW] LEFT JOIN auctions a [NOW] ON a.id = b.auction",
        r"JOIN at line 1, column 38 must be an inner one with ON; got 'LEFT'",
    ),
    (
        "SELECT * FROM bids b [NOW], auctions a [NOW] WHERE a.x = b.y OR a.z = 1",
        r"condition at line 1, column 52 must be a condition over one stream, or a comparison",
    ),
    (
        "SELECT * FROM bids b [NOW], auctions a [NOW] WHERE a.x + 1 = b.y",
        r"condition at line 1, column 52",
    ),
    ("SELECT x FROM bids b [NOW], auctions a [NOW]", r'"x" at line 1, column 8 .* write b.x'),
    ("SELECT a.x, b.x FROM bids b [NOW], auctions a [NOW]", r"of another name than others"),
    (
        "SELECT * EXCEPT (x) FROM bids [NOW]",
        r"SELECT \* at line 1, column 10 must be without EXCEPT; got '\* EXCEPT \(x\)'",
    ),
    ("SELECT b.price, b.* EXCEPT (x) FROM bids b [NOW]", r"column 21 must be without EXCEPT"),
    ("SELECT * REPLACE (1 AS x) FROM bids [NOW]", r"column 10 must be without REPLACE"),
    (
        "SELECT bidz.* FROM bids [NOW]",
        r'"bidz.\*" at line 1, column 8 must be all of one of bids; got .* did you mean "bids"',
    ),
    ("SELECT b.price, * FROM bids b [NOW]", r"SELECT \* at line 1, column 17 must be alone"),
    (
        "SELECT b.at, explode(b.x) FROM bids b [NOW]",
        r"line 1, column 14 must be without functions that make several rows of one",
    ),
    ("SELECT b.at FROM bids b [NOW] WHERE inline_outer(b.x) = 1", r"column 37 must be without fun"),
    ("SELECT\n/*+ BROADCAST(b) */ x FROM bids b [NOW]", r"line 2, column 1 must be without hints"),
    ("SELECT x FROM bids [NOW] UNION SELECT 1", r"line 1, column 26 must be one SELECT; got 'UNI"),
    ("SELECT x FROM bids [NOW] FETCH FIRST 3 ROWS ONLY", r"column 26 must be without FETCH"),
    (
        "SELECT * FROM bids b [NOW], auctions B [NOW]",
        r'"B" at line 1, column 29 must be a name of its own, case ignored',
    ),
    (
        "SELECT * FROM bids Weight [NOW]",
        r'"Weight" at line 1, column 15 must be none of time, weight, cluster, importance',
    ),
    (
        "SELECT * FROM bids low [NOW], auctions a [NOW] WHERE low.x BETWEEN a.y - 1 AND a.y + 1",
        r"condition at line 1, column 54 must be",
    ),
    (
        "SELECT * FROM bids b [NOW], auctions a [NOW] WHERE b.info.city = a.city",
        r"condition at line 1, column 52 must be a condition over one stream, or a comparison",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ps.SpecificationError, match=message):
        query(text)


def test_a_refusal_says_what_is_possible() -> None:
    with pytest.raises(ps.SpecificationError, match=r"possible are SELECT columns FROM streams"):
        query("SELECT sum(x) FROM bids [NOW]")


class TestNames:
    def test_a_field_of_a_struct(self) -> None:
        text = "SELECT b.info.city FROM bids b [NOW] WHERE b.info.city = 'X' AND info.size > 2"
        kind = pa.struct({"city": pa.string(), "size": pa.int64()})
        schemas = {"bids": pa.schema({"info": kind, "at": pa.int64()})}
        parsed = query(text, schemas=schemas).parsed
        assert [(each.relation, each.text, each.columns) for each in parsed.selections] == [
            ("b", "b.info.city = 'X'", ("info",)),
            ("b", "b.info.size > 2", ("info",)),
        ]
        assert parsed.output == (("city", "b.info.city"),)
        assert parsed.columns == (("b", "info"),)

    def test_a_quote_that_is_doubled_is_a_quote_as_in_spark(self) -> None:
        text = "SELECT b.x FROM bids b [NOW] WHERE b.x = 'O''Brien' AND b.y = "
        text += '"say ""x"""'
        assert [each.text for each in query(text).parsed.selections] == [
            r"b.x = 'O\'Brien'",
            "b.y = 'say \"x\"'",
        ]

    def test_comments_are_no_part_of_a_condition(self) -> None:
        text = "SELECT b.x FROM bids b [NOW] WHERE b.x /* dollars */ > 2 -- or more"
        assert [each.text for each in query(text).parsed.selections] == ["b.x > 2"]

    def test_equalities_that_follow_have_names_in_quotes_where_needed(self) -> None:
        text = (
            "SELECT * FROM auctions a [NOW], bids b [NOW], people p [NOW] "
            "WHERE a.`x y` = b.y AND b.y = p.`z``z`"
        )
        assert query(text).parsed.conditions[-1].text == "a.`x y` = p.`z``z`"


class TestSchemas:
    def test_an_unknown_column(self) -> None:
        text = "SELECT b.prise FROM bids b [NOW]"
        with pytest.raises(ps.SpecificationError, match=r'got \'prise\'; did you mean "price"\?'):
            query(text, schemas=SCHEMAS)

    def test_types_must_fit(self) -> None:
        text = "SELECT * FROM bids b [NOW], people p [ROWS 3] WHERE b.auction = p.id"
        with pytest.raises(
            ps.SchemaError, match=r'"b.auction = p.id" at line 1, column 53: column "auction" of'
        ):
            query(text, schemas=SCHEMAS)

    @pytest.mark.parametrize(
        ("condition", "message"),
        [
            ("b.at < p.at", r'"b.at < p.at" at line 1, column 65: column "at" .* must be numeric'),
            ("ABS(b.at - p.at) <= 2", 'column "at" of stream "b" must be numeric to be compared'),
            ("b.name BETWEEN p.name AND p.name + 1", 'column "name" of stream "p" must be numeric'),
            ("b.whole = p.real", r'"whole" .* \(int64\) and .* \(double\) must be of one kind'),
            ("b.at = p.at", r"\(timestamp\[us\]\) and .* \(timestamp\[ms\]\) must be of one kind"),
            ("b.day = p.at", r"\(date32\[day\]\) and .* \(timestamp\[ms\]\) must be of one kind"),
            (
                "b.whole = s.whole AND s.whole = p.real",
                r'"b.whole = p.real", which follows from others at line 1, column 87: column "whol',
            ),
        ],
    )
    def test_what_a_join_cannot_compare_is_refused_at_once(
        self, condition: str, message: str
    ) -> None:
        kinds = {"name": pa.string(), "whole": pa.int64(), "real": pa.float64()}
        others = {"at": pa.timestamp("us"), "day": pa.date32()}
        schemas = {
            "bids": pa.schema(kinds | others),
            "people": pa.schema(kinds | {"at": pa.timestamp("ms"), "joined_at": others["at"]}),
            "sites": pa.schema(kinds),
        }
        text = "SELECT b.at FROM bids b [NOW], people p [ROWS 5], sites s WHERE "
        with pytest.raises(ps.SchemaError, match=message):
            query(f"{text}{condition}", schemas=schemas, tables=["sites"])

    @pytest.mark.parametrize(
        ("window", "kind", "message"),
        [
            (
                "1 HOUR",
                pa.int64(),
                r'window of "b" at line 1, column 18 .* time column "at" is int',
            ),
            ("5", pa.timestamp("us"), r'window of "b" at line 1, column 18 must be a clock durat'),
        ],
    )
    def test_windows_must_fit_the_times(self, window: str, kind: pa.DataType, message: str) -> None:
        with pytest.raises(ps.SchemaError, match=message):
            query(
                f"SELECT b.at FROM bids b [RANGE {window}]",  # noqa: S608  # it goes nowhere
                schemas={"bids": pa.schema({"at": kind})},
            )

    def test_times_must_be_comparable(self) -> None:
        schemas = {"bids": pa.schema({"at": pa.int64()}), "auctions": SCHEMAS["auctions"]}
        with pytest.raises(ps.SchemaError, match=r'time columns of streams "b" .* and "a"'):
            query("SELECT b.at FROM bids b [NOW], auctions a [NOW]", schemas=schemas)

    def test_a_table_may_have_numbers_of_another_type(self) -> None:
        schemas = {"bids": SCHEMAS["bids"], "sites": pa.schema({"id": pa.float64()})}
        text = "SELECT b.at FROM bids b [NOW], sites s WHERE b.auction = s.id"
        assert query(text, schemas=schemas, tables=["sites"]).parsed.conditions

    def test_an_ambiguous_column(self) -> None:
        text = "SELECT id FROM auctions [NOW], people [NOW]"
        with pytest.raises(ps.SpecificationError, match=r"of one of auctions, people"):
            query(text, schemas=SCHEMAS)


class TestModel:
    STATISTICS = QueryStatistics(
        rates={"auctions": 1.0, "bids": 20.0, "people": 2.0},
        selectivities={
            "a.id=b.auction": (0.0, 0.001),
            "b.bidder = p.id": 0.0001,
            "b.price>100": 0.2,
        },
    )

    def test_windows_and_selectivities(self) -> None:
        model = query(MARKET).model(self.STATISTICS)
        assert [each.window for each in model.relations] == [7 * 86_400, 72_000, 10_000]
        assert [(each.selectivity, each.backward) for each in model.conditions] == [
            (0.0, 0.001),
            (0.0001, None),
        ]
        assert not model.single

    def test_one_equality_of_three_can_be_one_operator(self) -> None:
        text = (
            "SELECT * FROM auctions a [NOW], bids b [ROWS 9], people p [ROWS 9] "
            "WHERE a.x = b.x AND b.x = p.x"
        )
        numbers = QueryStatistics(
            rates=self.STATISTICS.rates, selectivities={"a.x = b.x": 0.1, "b.x = p.x": 0.2}
        )
        model = query(text).model(numbers)
        assert model.single
        assert [each.selectivity for each in model.conditions] == [0.1, 0.2, 0.1]
        assert len({each.group for each in model.conditions}) == 1

    def test_two_columns_of_a_relation_that_equal_one_are_two_conditions(self) -> None:
        text = "SELECT * FROM auctions a [ROWS 9], bids b [ROWS 9], people p [ROWS 9] WHERE "
        text += "a.x = b.y AND a.z = b.y"
        two = {"a.x = b.y": 0.1, "a.z = b.y": 0.2}
        numbers = QueryStatistics(rates=self.STATISTICS.rates, selectivities=two)
        subsets = Subsets.of(query(text).model(numbers))
        assert subsets.windows[0b011] == pytest.approx(81 * 0.1 * 0.2)
        plan = query(text).plans(numbers)[0]
        assert "join on a.x = b.y AND a.z = b.y" in str(plan)
        # With a third relation: four columns, so three conditions.
        more = {**two, "b.y = p.w": 0.5, "a.x = p.w": 0.1, "a.z = p.w": 0.2}
        numbers = QueryStatistics(rates=self.STATISTICS.rates, selectivities=more)
        found = query(f"{text} AND b.y = p.w")
        subsets = Subsets.of(found.model(numbers))
        assert subsets.windows[0b011] == pytest.approx(81 * 0.1 * 0.2)
        assert subsets.windows[0b101] == pytest.approx(81 * 0.1 * 0.2)
        assert subsets.windows[0b111] == pytest.approx(729 * 0.5 * 0.2 * 0.1)

    def test_what_is_said_twice_counts_once(self) -> None:
        text = (
            "SELECT * FROM auctions a [ROWS 9], bids b [ROWS 9] "
            "WHERE a.x < b.y AND b.y > a.x AND a.x < b.y AND a.z = b.z AND b.z = a.z "
            "AND ABS(a.x - b.y) <= 2 AND ABS(b.y - a.x) <= 2 AND a.x > 1 AND a.x>1"
        )
        parsed = query(text).parsed
        assert [each.text for each in parsed.conditions] == [
            "a.x < b.y",
            "a.z = b.z",
            "ABS(a.x - b.y) <= 2",
        ]
        assert [each.text for each in parsed.selections] == ["a.x > 1"]

    def test_what_is_missing_is_named(self) -> None:
        numbers = QueryStatistics(rates=self.STATISTICS.rates)
        with pytest.raises(ps.SpecificationError, match=r'the condition "a.id = b.auction"'):
            query(MARKET).model(numbers)

    def test_tables_are_unbounded(self) -> None:
        found = ps.Query(
            "SELECT * FROM bids b [ROWS 5], people p WHERE b.bidder = p.id",
            streams={"bids": "at"},
            tables=["people"],
        )
        numbers = QueryStatistics(
            rates={"bids": 10.0},
            selectivities={"b.bidder = p.id": 0.01},
            cardinalities={"people": 100},
        )
        plan = found.optimize(numbers)
        assert plan.model.relations[1].is_table
        assert plan.rate == pytest.approx(10.0)
        assert "p: people [UNBOUNDED]  table of 100 rows" in str(plan)


class TestPlan:
    def test_it_says_that_it_is_feasible(self) -> None:
        plan = query(MARKET).optimize(TestModel.STATISTICS)
        assert plan.feasible
        assert plan.recall == 1
        assert str(plan).startswith("feasible: it needs ")
        assert "select b.price > 100" in str(plan)

    def test_it_says_what_it_drops(self) -> None:
        plan = query(MARKET).optimize(
            TestModel.STATISTICS, budget=ps.Budget(cpu=1e-4, costs=ps.Costs.usual())
        )
        assert not plan.feasible
        assert plan.cost == pytest.approx(1e-4, rel=1e-6)
        assert 0 < plan.recall < 1
        assert "with drop boxes it gives" in str(plan)
        assert "drop box keeps" in str(plan)

    def test_too_little_memory_is_said(self) -> None:
        plan = query(MARKET).optimize(TestModel.STATISTICS, budget=ps.Budget(rows=1000))
        assert not plan.feasible
        assert "with any drop boxes it keeps at least" in plan.why
        assert "1,000 are allowed" in plan.why
        assert "would also need" not in plan.why

    def test_too_little_memory_and_time_are_both_said(self) -> None:
        budget = ps.Budget(rows=1000, cpu=1e-4, costs=ps.Costs.usual())
        plan = query(MARKET).optimize(TestModel.STATISTICS, budget=budget)
        assert plan.cost == pytest.approx(1e-4, rel=1e-6)
        assert "with any drop boxes it keeps at least 10,000 rows, and 1,000 are" in plan.why
        assert "; without drop boxes it would also need" in plan.why

    def test_windows_by_time_fit_behind_drop_boxes(self) -> None:
        text = MARKET.replace("[ROWS 10000]", "[RANGE 1 HOUR]")
        budget = ps.Budget(rows=1000, cpu=1e-4, costs=ps.Costs.usual())
        found = query(text)
        plan = found.optimize(TestModel.STATISTICS, budget=budget)
        assert not plan.feasible
        assert plan.fits_memory
        assert plan.memory <= 1000 * (1 + 1e-6)
        assert plan.cost <= 1e-4 * (1 + 1e-6)
        assert "rows, and 1,000 are allowed; with drop boxes it gives" in plan.why
        ranked = found.plans(TestModel.STATISTICS, budget=budget)
        assert all(each.fits_memory for each in ranked)
        assert ranked[0].rate == pytest.approx(plan.rate, rel=1e-4)

    def test_memory_in_bytes_is_refused(self) -> None:
        with pytest.raises(ps.SpecificationError, match="budget of a query must be in rows"):
            query(MARKET).optimize(TestModel.STATISTICS, budget=ps.Budget(memory="1GB"))

    def test_no_processor_is_refused(self) -> None:
        with pytest.raises(ps.SpecificationError, match="processors must be above 0; got 0"):
            query(MARKET).optimize(TestModel.STATISTICS, processors=0)

    def test_the_ranking_has_the_best_first(self) -> None:
        by_time = query(MARKET.replace("[ROWS 10000]", "[RANGE 1 HOUR]"))
        plans = by_time.plans(TestModel.STATISTICS)
        best = by_time.optimize(TestModel.STATISTICS)
        assert plans[0].full.cost == pytest.approx(best.full.cost)
        assert len(plans) == 3
