from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.errors import SpecificationError
from penstock.spark.market import MarketSource
from penstock.testing import FakeClock, Market, market

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSourceReader, InputPartition

    from penstock.spark.market.readers import StreamReader

STREAMS = ("auctions", "bids")
TIMES = {"auctions": "opened_at", "bids": "at"}
# Some of the micro-batches have no auction.
SMALL = {"auctions": "40", "over": "3 days", "life": "1 day", "seed": "3", "rowsPerBatch": "10"}
LIMIT = ReadMaxRows(10)

Offset = dict[str, int]


def small_market(*, whole: bool = False) -> Market:
    site = market(auctions=40, zipf=0.5, over="3 days", life="1 day", seed=3)
    opened, bid = (site.auctions["opened_at"], site.bids["at"])
    bids = sum(time <= opened[-1].as_py() for time in bid.to_pylist())
    return site if whole else Market(site.auctions, site.bids.slice(0, bids))


def table_of(site: Market, stream: str) -> pa.Table:
    return {"auctions": site.auctions, "bids": site.bids}[stream]


def stream_reader(stream: str, clock: FakeClock | None = None, **options: str) -> StreamReader:
    source = MarketSource(SMALL | {"stream": stream} | options, clock or FakeClock())
    return cast("StreamReader", source.streamReader(source.schema()))


def read_rows(reader: DataSourceReader | StreamReader, parts: list[InputPartition]) -> pa.Table:
    batches = [batch for part in parts for batch in reader.read(part)]
    return pa.Table.from_batches(batches) if batches else None


def count_rows(readers: list[StreamReader], start: Offset, end: Offset) -> int:
    """Count the rows of an offset range, all streams together."""
    found = [read_rows(reader, reader.partitions(start, end)) for reader in readers]
    return sum(table.num_rows for table in found if table is not None)


def offsets(reader: StreamReader) -> list[Offset]:
    """Ask for offsets as Spark does under availableNow, until nothing is new."""
    limit = reader.getDefaultReadLimit()
    reader.prepareForTriggerAvailableNow()
    ends = [reader.initialOffset()]
    while (end := reader.latestOffset(ends[-1], limit)) != ends[-1]:
        ends.append(end)
    return ends


@pytest.mark.parametrize("end", ["last-auction", "last-bid"])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("partitions", ["1", "3", "5000"])
def test_the_whole_read_is_the_market(stream: str, end: str, partitions: str) -> None:
    source = MarketSource(SMALL | {"stream": stream, "end": end, "partitions": partitions})
    reader = source.reader(source.schema())
    parts = list(reader.partitions())
    expected = table_of(small_market(whole=end == "last-bid"), stream)
    assert read_rows(reader, parts).equals(expected)
    assert len(parts) == min(int(partitions), expected.num_rows)


def test_both_streams_end_when_the_last_auction_opens() -> None:
    site = small_market()
    whole = small_market(whole=True)
    assert 0 < site.bids.num_rows < whole.bids.num_rows == 800
    assert offsets(stream_reader("bids"))[-1] == offsets(stream_reader("auctions"))[-1]
    last = {"until": site.auctions["opened_at"].cast(pa.int64())[-1].as_py()}
    assert offsets(stream_reader("bids"))[-1] == last


def test_micro_batches_of_both_streams_are_in_step_and_bounded() -> None:
    readers = [stream_reader(stream, partitions="2") for stream in STREAMS]
    auctions, bids = (offsets(reader) for reader in readers)
    assert auctions == bids
    sizes = [count_rows(readers, start, end) for start, end in pairwise(bids)]
    total = small_market().auctions.num_rows + small_market().bids.num_rows
    assert set(sizes[:-1]) == {10}
    assert sum(sizes) == total


@pytest.mark.parametrize("stream", STREAMS)
def test_micro_batches_are_the_stream_in_its_order(stream: str) -> None:
    reader = stream_reader(stream, partitions="2")
    found = [read_rows(reader, reader.partitions(*pair)) for pair in pairwise(offsets(reader))]
    assert (None in found) == (stream == "auctions")
    together = pa.concat_tables(table for table in found if table is not None)
    assert together.equals(table_of(small_market(), stream))


def test_a_range_without_rows_has_no_partitions() -> None:
    reader = stream_reader("auctions")
    ends = offsets(reader)
    assert reader.partitions(ends[4], ends[4]) == []


def test_rows_of_one_microsecond_stay_together() -> None:
    readers = [stream_reader(stream, over="9 us", life="2 us") for stream in STREAMS]
    auctions, bids = (offsets(reader) for reader in readers)
    assert auctions == bids
    assert len(bids) - 1 <= 9
    assert count_rows(readers, bids[0], bids[-1]) == sum(
        count_rows(readers, *pair) for pair in pairwise(bids)
    )


def test_a_restart_may_change_the_size_of_micro_batches() -> None:
    start = offsets(stream_reader("bids"))[3]
    readers = [stream_reader(stream, rowsPerBatch="25") for stream in STREAMS]
    limit = readers[0].getDefaultReadLimit()
    end = readers[0].latestOffset(start, limit)
    assert end == readers[1].latestOffset(start, limit)
    assert count_rows(readers, start, end) == 20
    assert count_rows(readers, end, readers[0].latestOffset(end, limit)) == 25


def test_a_market_without_bids_has_no_rows_to_read() -> None:
    source = MarketSource(SMALL | {"stream": "bids", "bidsPerAuction": "0"})
    reader = source.reader(source.schema())
    assert not read_rows(reader, list(reader.partitions()))


def test_pace_is_that_of_both_streams_together() -> None:
    clock = FakeClock(100.0)
    readers = [stream_reader(stream, clock, rowsPerSecond="8") for stream in STREAMS]
    start = readers[0].initialOffset()
    assert [reader.reportLatestOffset() for reader in readers] == [None, None]
    for due in (0, 8, 16, 24):
        ends = [reader.latestOffset(start, LIMIT) for reader in readers]
        assert ends[0] == ends[1]
        assert ends[0] == readers[0].reportLatestOffset() or due == 0
        assert count_rows(readers, readers[0].initialOffset(), ends[0]) == due
        start = ends[0]
        clock.advance(1.0)


def test_a_slow_query_catches_up_in_bounded_micro_batches() -> None:
    clock = FakeClock()
    readers = [stream_reader(stream, clock, rowsPerSecond="8") for stream in STREAMS]
    ends = [readers[0].latestOffset(readers[0].initialOffset(), LIMIT)]
    clock.advance(4.0)
    while (end := readers[0].latestOffset(ends[-1], LIMIT)) != ends[-1]:
        ends.append(end)
    assert [count_rows(readers, *pair) for pair in pairwise(ends)] == [10, 10, 10, 2]


def test_pace_begins_where_the_checkpoint_says() -> None:
    start = offsets(stream_reader("bids"))[5]
    clock = FakeClock(100.0)
    readers = [stream_reader(stream, clock, rowsPerSecond="3.5") for stream in STREAMS]
    assert readers[0].latestOffset(start, LIMIT) == start
    clock.advance(2.0)
    assert count_rows(readers, start, readers[0].latestOffset(start, LIMIT)) == 7


def test_paced_streams_end_like_others() -> None:
    clock = FakeClock()
    reader = stream_reader("bids", clock, rowsPerSecond="1e300")
    start = reader.latestOffset(reader.initialOffset(), LIMIT)
    assert start == reader.initialOffset()
    clock.advance(1e10)
    last = offsets(stream_reader("bids"))[-1]
    assert reader.reportLatestOffset() == last
    assert reader.latestOffset(last, LIMIT) == last


def test_clocks_that_differ_by_less_than_a_step_give_the_same_offsets() -> None:
    clocks = [FakeClock(), FakeClock(7.0)]
    readers = [
        stream_reader(stream, clock, rowsPerSecond="50")
        for stream, clock in zip(STREAMS, clocks, strict=True)
    ]
    start = [reader.latestOffset(reader.initialOffset(), LIMIT) for reader in readers]
    clocks[0].advance(0.11)
    clocks[1].advance(0.19)
    ends = [reader.latestOffset(start[0], LIMIT) for reader in readers]
    assert ends[0] == ends[1]
    assert count_rows(readers, start[0], ends[0]) == 5


def test_a_stream_that_is_behind_gets_back_into_step() -> None:
    clock = FakeClock()
    readers = [stream_reader(stream, clock, rowsPerSecond="50") for stream in STREAMS]
    starts = [reader.latestOffset(reader.initialOffset(), LIMIT) for reader in readers]
    clock.advance(0.15)
    behind, ahead = starts[0], readers[1].latestOffset(starts[1], LIMIT)
    assert count_rows(readers, behind, ahead) == 5
    clock.advance(60.0)
    assert readers[0].latestOffset(behind, LIMIT) == readers[1].latestOffset(ahead, LIMIT)


def test_available_now_and_once_ignore_the_pace() -> None:
    unpaced = offsets(stream_reader("bids"))
    assert offsets(stream_reader("bids", rowsPerSecond="1")) == unpaced
    paced = stream_reader("bids", rowsPerSecond="1")
    assert paced.latestOffset(paced.initialOffset(), ReadAllAvailable()) == unpaced[-1]


def test_readers_can_be_sent_to_tasks() -> None:
    source = MarketSource(SMALL | {"stream": "bids"})
    reader = pickle.loads(pickle.dumps(source.streamReader(source.schema())))  # noqa: S301
    part = pickle.loads(pickle.dumps(reader.partitions({"until": 0}, offsets(reader)[-1])))  # noqa: S301
    assert read_rows(reader, part).equals(small_market().bids)


def test_case_of_options_does_not_matter() -> None:
    mixed = {"STREAM": "Bids", "Auctions": "40", "bidsperauction": "2", "END": "Last-Bid"}
    source = MarketSource(mixed)
    reader = source.reader(source.schema())
    assert read_rows(reader, list(reader.partitions())).num_rows == 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, 'option stream must be "auctions" or "bids"; got None; choose one of these'),
        ({"stream": "bid"}, "got 'bid'; did you mean \"bids\"?"),
        ({"rowspersecnd": "5"}, "got 'rowspersecnd'; did you mean \"rowsPerSecond\"?"),
        ({"path": "/tmp"}, "partitions; got 'path'; leave it out"),  # noqa: S108
        ({"auctions": "0"}, "option auctions must be a whole number, at least 1; got '0'; write"),
        ({"auctions": "1.5"}, 'got \'1.5\'; write .option("auctions", "1000")'),
        ({"seed": "-1"}, "option seed must be a whole number, at least 0; got '-1'"),
        ({"bidsPerAuction": "nan"}, "option bidsPerAuction must be a finite number, at least 0"),
        ({"zipf": "hot"}, "option zipf must be a finite number, at least 0; got 'hot'"),
        ({"life": "10"}, "option life must be a duration of zero or more; got '10'; add a unit"),
        ({"life": "0 s"}, "option life must be a duration of at least a microsecond; got '0 s'"),
        ({"over": "a while"}, "option over must be a duration of zero or more; got 'a while'"),
        ({"end": "last-bids"}, "got 'last-bids'; did you mean \"last-bid\"?"),
        ({"rowsPerSecond": "0"}, "must be a finite number, above 0; got '0'; leave it out"),
        ({"rowsPerSecond": ""}, "must be a finite number, above 0; got ''; leave it out"),
        ({"rowsPerBatch": "inf"}, "option rowsPerBatch must be a whole number, at least 1"),
        ({"partitions": "0"}, "option partitions must be a whole number, at least 1; got '0'"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    given = {"stream": "bids"} | options if options else {}
    with pytest.raises(SpecificationError) as caught:
        MarketSource(given)
    assert message in str(caught.value)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session with the source, in another time zone than the market."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.dataSource.register(MarketSource)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(zone))


@pytest.mark.spark
@pytest.mark.parametrize("stream", STREAMS)
def test_spark_reads_the_market_row_for_row(session: SparkSession, stream: str) -> None:
    reader = session.read.format("penstock-market").options(**SMALL, stream=stream, partitions=3)
    found = reader.load().selectExpr("*", f"unix_micros({TIMES[stream]}) AS micros").toArrow()
    expected = table_of(small_market(), stream)
    assert found.drop_columns("micros").cast(expected.schema).equals(expected)
    assert found["micros"].equals(expected[TIMES[stream]].cast(pa.int64()))


@pytest.mark.spark
def test_spark_streams_the_market_in_step(session: SparkSession) -> None:
    options = SMALL | {"rowsPerBatch": "200", "rowsPerSecond": "1"}
    frames = [
        session.readStream.format("penstock-market")
        .options(**options, stream=stream)
        .load()
        .selectExpr(f"'{stream}' AS stream", f"unix_micros({time}) AS micros")
        for stream, time in TIMES.items()
    ]
    query = (
        frames[0].union(frames[1]).writeStream.format("memory").queryName("market_in_step")
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()

    progress = [json.loads(report.json) for report in query.recentProgress]
    sizes = [report["numInputRows"] for report in progress]
    assert sizes[:-1] == [200] * 3
    assert 0 < sizes[-1] <= 200
    for report in progress:
        one, other = report["sources"]
        assert one["endOffset"] == other["endOffset"]
    found = session.table("market_in_step").toArrow()
    for stream, column in TIMES.items():
        micros = found.filter(pa.compute.equal(found["stream"], stream))["micros"]
        expected = table_of(small_market(), stream)[column].cast(pa.int64())
        assert sorted(micros.to_pylist()) == expected.to_pylist()


@pytest.mark.spark
def test_spark_reads_every_row_once_over_a_restart(session: SparkSession, tmp_path: Path) -> None:
    frame = (
        session.readStream.format("penstock-market")
        .options(**SMALL | {"rowsPerBatch": "200"}, stream="bids")
        .load()
    )
    found: dict[int, pa.Table] = {}
    broken = True

    def keep(batch: DataFrame, number: int) -> None:
        if broken and number == 2:
            raise RuntimeError("broken on purpose")
        assert number not in found
        found[number] = batch.toArrow()

    def run() -> None:
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path))
        writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="broken on purpose"):
        run()
    assert sorted(found) == [0, 1]
    broken = False
    run()
    assert sorted(found) == [0, 1, 2, 3]
    expected = small_market().bids
    assert pa.concat_tables(found.values()).cast(expected.schema).equals(expected)


@pytest.mark.spark
def test_spark_shows_what_is_wrong_with_an_option(session: SparkSession) -> None:
    reader = session.readStream.format("penstock-market").options(stream="bids", rowsPerBach=5)
    with pytest.raises(AnalysisException, match='did you mean "rowsPerBatch"'):
        reader.load()
