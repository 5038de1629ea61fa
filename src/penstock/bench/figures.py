"""What the benchmark of joins measured, as tables, targets and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from penstock.bench.timing import Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADINGS = (
    "query",
    "thousand\nrows/s",
    "rows/s\n/ floor",
    "results per\nleft row",
    "state\nMB",
    "seconds per\nmicro-batch",
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The figures of one query.

    Attributes
    ----------
    name
        Its name in the table.
    rows_per_batch
        Rows that a micro-batch takes, of both streams.
    seconds
        Of each micro-batch that counts, the rounds one after the other.
    results_per_left_row
        About 5 for the exact join; 0 for the floor, which joins nothing.
    state_bytes
        Size of its state at the end: by Penstock's own count, or as Spark reports it.
    """

    name: str
    rows_per_batch: int
    seconds: tuple[float, ...]
    results_per_left_row: float
    state_bytes: int

    @property
    def rows_per_second(self) -> float:
        """Rows per second of processing time."""
        return self.rows_per_batch * len(self.seconds) / sum(self.seconds)


@dataclass(frozen=True)
class Target:
    """A ratio, and the bound that it should keep."""

    words: str
    ratio: float
    least: float | None = None
    most: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the ratio keeps the bound."""
        return (self.least is None or self.ratio >= self.least) and (
            self.most is None or self.ratio <= self.most
        )

    def cells(self) -> tuple[str, ...]:
        """Return its row of the table."""
        if self.least is not None and self.most is not None:
            wanted = f"{self.least} to {self.most}"
        else:
            wanted = f"at least {self.least}" if self.most is None else f"at most {self.most}"
        return (self.words, f"{self.ratio:.2f}", wanted, "reached" if self.reached else "missed")


@dataclass(frozen=True)
class Figures:
    """All figures of the benchmark of joins.

    Attributes
    ----------
    queries
        By their short names: ``floor``, ``exact``, ``long``, ``fifo``, ``best``, ``spark`` and
        ``rocksdb``.
    """

    queries: dict[str, Measured]

    @property
    def headings(self) -> Sequence[str]:
        """Headings of the table."""
        return _HEADINGS

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table."""
        floor = self.queries["floor"].rows_per_second
        return [
            (
                each.name,
                f"{each.rows_per_second / 1e3:,.0f}",
                f"{each.rows_per_second / floor:.2f}",
                "" if each.results_per_left_row == 0 else f"{each.results_per_left_row:.2f}",
                "" if not each.state_bytes else f"{each.state_bytes / 1e6:.1f}",
                Spread.of(each.seconds).text(),
            )
            for each in self.queries.values()
        ]

    def targets(self) -> list[Target]:
        """Return the ratios with bounds, of those queries that were run."""

        def ratio(one: str, other: str) -> float:
            return self.queries[one].rows_per_second / self.queries[other].rows_per_second

        found = [
            Target("exact / floor", ratio("exact", "floor"), least=0.8),
            Target("exact, window ten times longer / exact", ratio("long", "exact"), least=0.6),
            Target("fifo, a tenth of the memory / exact", ratio("fifo", "exact"), least=1.0),
            Target(
                "state bytes, fifo / exact",
                self.queries["fifo"].state_bytes / self.queries["exact"].state_bytes,
                most=0.15,
            ),
        ]
        if "best" in self.queries:
            words = "own choice, a tenth of the memory / exact"
            found.append(Target(words, ratio("best", "exact"), least=1.0))
        if "spark" in self.queries:
            found.insert(0, Target("exact / Spark, default", ratio("exact", "spark"), least=2.5))
        if "rocksdb" in self.queries:
            found.insert(1, Target("exact / Spark, RocksDB", ratio("exact", "rocksdb"), least=8.0))
        return found

    def as_json(self) -> dict[str, object]:
        """Return all figures as JSON types."""
        return {
            "queries": {
                name: asdict(each) | {"rows_per_second": each.rows_per_second}
                for name, each in self.queries.items()
            },
            "targets": [asdict(target) | {"reached": target.reached} for target in self.targets()],
        }
