"""The generated auction market as a Spark data source, so that streams can be had without a broker.

Auctions and bids are two streams of one market. Their offsets are in the market's own time and not
in rows of either stream, so that two queries, or the two sides of one, advance together.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from penstock.durations import to_units
from penstock.errors import SpecificationError, did_you_mean, must
from penstock.testing import Market, market

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping

    from pyspark.sql.types import StructType

__all__ = ["MarketSource"]

Integers = npt.NDArray[np.int64]
Offset: TypeAlias = dict[str, int]
StreamName: TypeAlias = Literal["auctions", "bids"]
Texts: TypeAlias = dict[str, str | None]

# The options as they are spelled, with their defaults; None for those that have none.
_DEFAULTS: Texts = {
    "stream": None,
    "auctions": "1000",
    "bidsPerAuction": "20",
    "zipf": "0.5",
    "life": "7 days",
    "over": "30 days",
    "seed": "0",
    "end": "last-auction",
    "rowsPerSecond": None,
    "rowsPerBatch": "100000",
    "partitions": "1",
}
_TIME_COLUMNS: Mapping[StreamName, str] = {"auctions": "opened_at", "bids": "at"}

# Two readers of one query look at the clock some milliseconds apart. As rows fall due in steps of
# a tenth of a second, both nearly always see the same step, and end the micro-batch together.
_STEPS_PER_SECOND = 10

# As many as Spark puts into a batch of its own (spark.sql.execution.arrow.maxRecordsPerBatch).
_ROWS_PER_ARROW_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class _Site:
    """What the market is made from; two streams with the same one fit together."""

    auctions: int
    bids_per_auction: float
    zipf: float
    life: str
    over: str
    seed: int
    end: str


@dataclass(frozen=True, slots=True)
class _Settings:
    """All options, checked."""

    stream: StreamName
    site: _Site
    rows_per_second: float | None
    rows_per_batch: int
    partitions: int


@dataclass(frozen=True, slots=True)
class _Rows(InputPartition):
    """Rows of a stream, from `first` up to but not including `end`."""

    first: int
    end: int


class MarketSource(DataSource):
    """Auctions and bids of `penstock.testing.market` as the data source ``penstock-market``.

    Register it once in a session, then read either stream, whole or as a stream::

        spark.dataSource.register(MarketSource)
        spark.read.format("penstock-market").option("stream", "bids").load()
        spark.readStream.format("penstock-market").option("stream", "auctions").load()

    The same options give the same rows, whoever reads them and how often. The times are those of
    `market`: both streams begin on 1 January 2026 (UTC).

    ==================  ================  =======================================================
    option              default           what it says
    ==================  ================  =======================================================
    ``stream``          must be given     ``auctions`` or ``bids``
    ``auctions``        ``1000``          how many auctions open
    ``bidsPerAuction``  ``20``            the mean, before bids after the end are left out
    ``zipf``            ``0.5``           how hot the hot auctions are; with 0 all are alike
    ``life``            ``7 days``        from the opening of an auction to its closing
    ``over``            ``30 days``       auctions open evenly over this time
    ``seed``            ``0``             of all that is random
    ``end``             ``last-auction``  where both streams end: ``last-auction``, when the last
                                          auction opens, or ``last-bid``, with all bids
    ``rowsPerSecond``   no pace           rows of both streams together that fall due in a second
    ``rowsPerBatch``    ``100000``        rows of both streams together in a micro-batch, at most
    ``partitions``      ``1``             into how many a read or a micro-batch is split
    ==================  ================  =======================================================

    ``rowsPerSecond`` and ``rowsPerBatch`` say how a stream is read and mean nothing to ``read``.

    An offset of a stream is ``{"until": t}``: all rows up to the time t, in microseconds since
    1970, have been read. Without a pace, micro-batch k ends where k times ``rowsPerBatch`` rows of
    the market have come, bids and auctions counted together. So two streams with the same options
    are cut at the same times, and a micro-batch may have no rows of one of them. Rows of the same
    microsecond stay together, which may add a few to a micro-batch.

    With ``rowsPerSecond`` time begins to count when the query starts, from where its checkpoint
    says. A query that is too slow for the pace catches up later, ``rowsPerBatch`` at a time. Rows
    fall due ten times a second; should a tenth pass between the questions to the two streams, one
    is ahead by that much until the next micro-batch.

    With the trigger ``availableNow`` (and with ``once``) the pace is ignored: the whole market is
    there, and the query ends when it has been read.

    Every Python process that reads generates the market for itself and keeps it: one for each
    stream and one for each core. A million rows take about 60 MB and a second in each.

    Parameters
    ----------
    options
        The options. Upper and lower case are the same, as everywhere in Spark.
    clock
        Tells the time in seconds, for the pace.

    Raises
    ------
    SpecificationError
        If an option is unknown, missing or wrong. Spark wraps it in an ``AnalysisException``.

    Examples
    --------
    >>> source = MarketSource({"stream": "bids", "auctions": "50"})
    >>> source.schema().simpleString()
    'struct<auction_id:bigint,bidder:string,price:decimal(12,2),at:timestamp>'
    >>> MarketSource({"stream": "bids", "rowPerBatch": "10"})
    Traceback (most recent call last):
    ...
    penstock.errors.SpecificationError: options of penstock-market must be among stream, \
auctions, bidsPerAuction, zipf, life, over, seed, end, rowsPerSecond, rowsPerBatch, partitions; \
got 'rowPerBatch'; did you mean "rowsPerBatch"?
    """

    def __init__(
        self, options: MutableMapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(options)
        self._settings = _read_options(options)
        self._clock = clock

    @classmethod
    def name(cls) -> str:
        """Give the name to be used as the format."""
        return "penstock-market"

    def schema(self) -> StructType:
        """Give the columns of the stream; times are timestamps, whatever the session's zone."""
        # The smallest market has the same columns as any other.
        smallest = _table(market(auctions=1), self._settings.stream)
        return from_arrow_schema(smallest.schema, prefer_timestamp_ntz=False)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Give a reader of the whole stream."""
        del schema
        return _WholeReader(self._settings)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's
        """Give a reader of the stream in micro-batches."""
        del schema
        return _StreamReader(self._settings, self._clock)


class _WholeReader(DataSourceReader):
    """Reads a stream from beginning to end."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        rows = _table(_generate(self._settings.site), self._settings.stream).num_rows
        # Given no partition at all, Spark would make up one that is not ours.
        return _split(0, rows, self._settings.partitions) or [_Rows(0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(self._settings, cast("_Rows", partition))


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream in micro-batches that end where those of the other stream do.

    Spark makes two of these for each stream of a query. One lives in a process of its own on the
    driver for as long as the query runs, and answers all questions on offsets. The other is only
    pickled, for tasks to call its `read`; so all that changes is on the first.
    """

    def __init__(self, settings: _Settings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._pace = settings.rows_per_second
        self._began: tuple[float, int] | None = None  # when, and how many rows had been read

    def initialOffset(self) -> Offset:  # noqa: N802  # Spark's
        return {"until": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's
        # Spark asks both streams for this before it asks either for an offset. Were the market
        # generated only then, the clock of the second would begin later by as long as that takes.
        _all_times(self._settings.site)
        return ReadMaxRows(self._settings.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's
        self._pace = None

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  # Spark's
        times = _all_times(self._settings.site)
        read = int(np.searchsorted(times, start["until"], side="right"))
        end = times.size
        if isinstance(limit, ReadMaxRows):
            if self._began is None:
                self._began = (self._clock(), read)
            end = self._due()
            if end - read > limit.max_rows:
                # To the next multiple and not just as many more: should one stream be behind the
                # other, they are together again.
                end = (read // limit.max_rows + 1) * limit.max_rows
        return {"until": int(times[end - 1])} if end > read else start

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  # Spark's
        due = self._due()
        return {"until": int(_all_times(self._settings.site)[due - 1])} if due else None

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        times = _times(_generate(self._settings.site), self._settings.stream)
        first, last = np.searchsorted(times, [start["until"], end["until"]], side="right")
        return _split(int(first), int(last), self._settings.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(self._settings, cast("_Rows", partition))

    def _due(self) -> int:
        """Give how many rows of the market there are by now, both streams together."""
        rows = _all_times(self._settings.site).size
        if self._pace is None:
            return rows
        if self._began is None:
            return 0
        began, read = self._began
        steps = math.floor((self._clock() - began) * _STEPS_PER_SECOND)
        return int(min(read + steps * self._pace / _STEPS_PER_SECOND, rows))


# Spark makes a new reader in every task; the process stays, and with it what it has generated.
# Two, so that a query on two markets does not generate them in turns.
@lru_cache(maxsize=2)
def _generate(site: _Site) -> Market:
    made = market(
        auctions=site.auctions,
        bids_per_auction=site.bids_per_auction,
        zipf=site.zipf,
        life=site.life,
        over=site.over,
        seed=site.seed,
    )
    if site.end == "last-bid":
        return made
    last = _times(made, "auctions")[-1]
    bids = np.searchsorted(_times(made, "bids"), last, side="right")
    return Market(auctions=made.auctions, bids=made.bids.slice(0, int(bids)))


@lru_cache(maxsize=2)
def _all_times(site: _Site) -> Integers:
    """Give the times of all rows of both streams, in order."""
    made = _generate(site)
    return np.sort(np.concatenate([_times(made, stream) for stream in _TIME_COLUMNS]))


def _times(made: Market, stream: StreamName) -> Integers:
    times: Integers = _table(made, stream)[_TIME_COLUMNS[stream]].cast(pa.int64()).to_numpy()
    return times


def _table(made: Market, stream: StreamName) -> pa.Table:
    return made.auctions if stream == "auctions" else made.bids


def _split(first: int, end: int, partitions: int) -> list[InputPartition]:
    """Split rows into parts of nearly the same size, none of them empty."""
    parts = min(partitions, end - first)
    edges = np.linspace(first, end, parts + 1, dtype=np.int64).tolist()
    return [_Rows(*edge) for edge in pairwise(edges)]


def _batches(settings: _Settings, rows: _Rows) -> Iterator[pa.RecordBatch]:
    table = _table(_generate(settings.site), settings.stream)
    part = table.slice(rows.first, rows.end - rows.first)
    return iter(part.to_batches(max_chunksize=_ROWS_PER_ARROW_BATCH))


def _read_options(options: Mapping[str, str]) -> _Settings:
    """Check all options; Spark gives their names in lower case and their values as text."""
    spelled = {name.lower(): name for name in _DEFAULTS}
    for name in options:
        if name.lower() not in spelled:
            hint = did_you_mean(name, _DEFAULTS, "leave it out")
            known = f"among {', '.join(_DEFAULTS)}"
            raise SpecificationError(must(f"options of {MarketSource.name()}", known, name, hint))
    text = _DEFAULTS | {spelled[name.lower()]: value for name, value in options.items()}
    pace = "rowsPerSecond"
    return _Settings(
        stream=cast("StreamName", _one_of("stream", text, tuple(_TIME_COLUMNS))),
        site=_Site(
            auctions=_whole("auctions", text, least=1),
            bids_per_auction=_number("bidsPerAuction", text, zero=True),
            zipf=_number("zipf", text, zero=True),
            life=_duration("life", text),
            over=_duration("over", text),
            seed=_whole("seed", text, least=0),
            end=_one_of("end", text, ("last-auction", "last-bid")),
        ),
        rows_per_second=None if text[pace] is None else _number(pace, text, zero=False),
        rows_per_batch=_whole("rowsPerBatch", text, least=1),
        partitions=_whole("partitions", text, least=1),
    )


def _one_of(name: str, text: Texts, choices: tuple[str, ...]) -> str:
    value = (text[name] or "").lower()
    if value not in choices:
        hint = did_you_mean(value, choices, "choose one of these")
        known = " or ".join(f'"{choice}"' for choice in choices)
        raise SpecificationError(must(f"option {name}", known, text[name], hint))
    return value


def _whole(name: str, text: Texts, *, least: int) -> int:
    number = _parsed(int, text[name])
    if not number >= least:
        raise _refusal(name, text, f"a whole number, at least {least}")
    return int(number)


def _number(name: str, text: Texts, *, zero: bool) -> float:
    number = _parsed(float, text[name])
    if not 0 <= number < math.inf or (number == 0 and not zero):
        raise _refusal(name, text, f"a finite number, {'at least' if zero else 'above'} 0")
    return number


def _duration(name: str, text: Texts) -> str:
    value = text[name] or ""
    if to_units(value, 10**6, f"option {name}", "times of a market are timestamps") < 1:
        raise _refusal(name, text, "a duration of at least a microsecond")
    return value


def _parsed(kind: type[int | float], value: str | None) -> float:
    """Read a number; what is none is NaN, which is neither below nor above any."""
    try:
        return kind(value or "")
    except ValueError:
        return math.nan


def _refusal(name: str, text: Texts, requirement: str) -> SpecificationError:
    default = _DEFAULTS[name]
    hint = f'write .option("{name}", "{default}")' if default else "leave it out to have no pace"
    return SpecificationError(must(f"option {name}", requirement, text[name], hint))
