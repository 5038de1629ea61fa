"""A source that behaves like Spark's Kafka source, over folders instead of a broker.

It has Kafka's columns, options and offsets: a topic has partitions, each with offsets of its own; a
micro-batch takes at most `maxOffsetsPerTrigger` of them, divided over the partitions by what they
have; a partition that is added later is read from its beginning. What it does not have: brokers,
keys that choose partitions, transactions, deletion.

A partition is a folder of segments, such as ``bids/1/000000000-000000250.jsonl``: one message a
line, from the first offset up to the second.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "kafka-stand-in"

Offsets: TypeAlias = dict[str, int]
"""The next offset of each partition, by topic and number: `{"bids-0": 250}`."""

Message: TypeAlias = tuple[None, bytes, str, int, int, datetime, int]

_SEGMENT = re.compile(r"(\d+)-(\d+)\.jsonl")


@dataclass(frozen=True)
class _Segment:
    path: Path
    first: int
    end: int


def append(folder: Path, topic: str, partition: int, messages: Sequence[str]) -> None:
    """Add messages to a partition, all at once; the partition is made if there is none."""
    place = folder / topic / str(partition)
    place.mkdir(parents=True, exist_ok=True)
    first = max((segment.end for segment in _segments(place)), default=0)
    # Hidden until it is complete.
    hidden = place / ".next"
    hidden.write_text("".join(f"{message}\n" for message in messages), encoding="utf-8")
    hidden.rename(place / f"{first:09}-{first + len(messages):09}.jsonl")


def register(spark: SparkSession) -> None:
    """Make the source known to a session; it travels with the job, as workers do not have it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    spark.dataSource.register(StandIn)


class StandIn(DataSource):
    """The source; options: `folder`, `subscribe` and `maxOffsetsPerTrigger`."""

    @classmethod
    def name(cls) -> str:
        """Return the name to be used as the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of Spark's Kafka source."""
        return (
            "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, "
            "timestamp TIMESTAMP, timestampType INT"
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's
        """Return a reader in micro-batches."""
        del schema
        return _Reader(self.options)


@dataclass(frozen=True)
class _Range(InputPartition):
    """Messages of one partition, from `first` up to but not including `end`."""

    partition: str
    first: int
    end: int


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._folder = Path(options["folder"]) / options["subscribe"]
        self._topic = options["subscribe"]
        self._most = options.get("maxOffsetsPerTrigger") or options.get("maxoffsetspertrigger")
        self._until: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802  # Spark's
        """Begin with the first message of every partition, as with `startingOffsets=earliest`."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's
        """Return how many messages a micro-batch may have."""
        return ReadAllAvailable() if self._most is None else ReadMaxRows(int(self._most))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's
        """Read what is there now, and no more."""
        self._until = self._ends()

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802  # Spark's
        """Return where the next micro-batch ends, in every partition."""
        ends = self._ends() if self._until is None else self._until
        waiting = {name: max(0, end - start.get(name, 0)) for name, end in ends.items()}
        total = sum(waiting.values())
        if not isinstance(limit, ReadMaxRows) or total <= limit.max_rows:
            return start | ends
        # As Spark's Kafka source does: each partition's part of the limit, rounded up.
        return start | {
            name: start.get(name, 0) + min(rows, math.ceil(limit.max_rows * rows / total))
            for name, rows in waiting.items()
        }

    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """Return a task for each partition that has new messages."""
        ranges = [_Range(name, start.get(name, 0), last) for name, last in sorted(end.items())]
        return [each for each in ranges if each.first < each.end]

    def read(self, partition: InputPartition) -> Iterator[Message]:
        """Yield the messages of one partition."""
        wanted = cast("_Range", partition)
        number = int(wanted.partition.rpartition("-")[2])
        for segment in _segments(self._folder / str(number)):
            if segment.end <= wanted.first or segment.first >= wanted.end:
                continue
            written = datetime.fromtimestamp(segment.path.stat().st_mtime)  # noqa: DTZ006  # Spark's own zone
            lines = segment.path.read_bytes().splitlines()
            for offset, line in enumerate(lines, start=segment.first):
                if wanted.first <= offset < wanted.end:
                    yield None, line, self._topic, number, offset, written, 0

    def _ends(self) -> Offsets:
        places = sorted(self._folder.glob("[0-9]*"))
        return {
            f"{self._topic}-{place.name}": max(segment.end for segment in _segments(place))
            for place in places
            if _segments(place)
        }


def _segments(place: Path) -> list[_Segment]:
    found = ((path, _SEGMENT.fullmatch(path.name)) for path in sorted(place.glob("*.jsonl")))
    return [_Segment(path, int(name[1]), int(name[2])) for path, name in found if name is not None]
