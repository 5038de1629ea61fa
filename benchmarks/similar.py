"""Three streams joined on similar vectors, against a product of matrices of the same windows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import penstock as ps
from benchmarks.report import Target
from penstock.bench.timing import Say, Spread, ratios, seconds, take_turns
from penstock.engine.replay import Replay
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

_NAMES = ("a", "b", "c")
_DIMENSIONS = 64
_WANTED = 1 / 3  # of the comparisons of the product in the same time
# Products of other sizes, from 256 by 512 to 1024 by 1024, were within a tenth of this.
_ROWS, _COLUMNS = 512, 1024
# Vectors of length 1 in random directions are at a distance of 1.41, and 1.04 is rare.
_DISTANCE = 1.04


@dataclass(frozen=True)
class Sizes:
    """What is run: rows of each stream, and of each window."""

    rows: int
    window_rows: int
    rounds: int


FULL = Sizes(rows=40_000, window_rows=10_000, rounds=5)
QUICK = Sizes(rows=400, window_rows=100, rounds=1)


@dataclass(frozen=True)
class Case:
    """One type of numbers.

    Attributes
    ----------
    results
        Of the join.
    engine, product
        Million comparisons in a second of processor time.
    share
        Of the engine in those of the product.
    """

    type: str
    results: int
    engine: Spread
    product: Spread
    share: Spread


@dataclass(frozen=True)
class Similar:
    """Figures of the join on similar vectors."""

    sizes: Sizes
    cases: tuple[Case, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        return (
            Table.titled(
                f"Windows of {self.sizes.window_rows:,} vectors of {_DIMENSIONS} dimensions; "
                f"million comparisons a second",
                ("type", *(case.type for case in self.cases)),
                (
                    ("results", *(f"{case.results:,}" for case in self.cases)),
                    ("Penstock", *(case.engine.text(0) for case in self.cases)),
                    ("product of matrices", *(case.product.text(0) for case in self.cases)),
                    ("share", *(case.share.text() for case in self.cases)),
                ),
            ),
        )

    def targets(self) -> tuple[Target, ...]:
        """Compare speeds: the join costs little more than the product."""
        return tuple(
            Target(
                f"{case.type}, at least a third of the comparisons of the product",
                f"{case.share.median:.2f}",
                case.share.median >= _WANTED,
            )
            for case in self.cases
        )


def run(*, quick: bool, say: Say) -> Similar:
    """Measure. Set OPENBLAS_NUM_THREADS=1 for one core, of both."""
    sizes = QUICK if quick else FULL
    types = ("float32",) if quick else ("float32", "float64")
    cases = []
    for name in types:
        say(name)
        cases.append(_measure(name, sizes, say))
    return Similar(sizes, tuple(cases))


def _measure(type_: str, sizes: Sizes, say: Say) -> Case:
    rng = np.random.default_rng(1)
    vectors = {}
    tables = {}
    for name in _NAMES:
        own = rng.normal(size=(sizes.rows, _DIMENSIONS))
        own = (own / np.linalg.norm(own, axis=1)[:, None]).astype(type_)
        column = pa.FixedSizeListArray.from_arrays(pa.array(own.ravel()), _DIMENSIONS)
        vectors[name], tables[name] = own, pa.table({"time": np.arange(sizes.rows), "v": column})
    columns: dict[str, Any] = dict.fromkeys(_NAMES, "v")
    join = ps.Join(
        streams={name: ps.Stream(time="time", window=sizes.window_rows - 1) for name in _NAMES},
        on=ps.Similar(_DISTANCE, **columns),
    )
    contestants: dict[str, Any] = {
        "engine": partial(join.replay, tables),
        "product": partial(_product, vectors, sizes.window_rows),
    }
    turns = take_turns(contestants, _compared, sizes.rounds, say)
    rates = {
        name: [turn.kept[0] / time / 1e6 for turn, time in zip(own, seconds(own), strict=True)]
        for name, own in turns.items()
    }
    return Case(
        type_,
        turns["engine"][0].kept[1],
        Spread.of(rates["engine"]),
        Spread.of(rates["product"]),
        ratios(rates["engine"], rates["product"]),
    )


def _product(vectors: Mapping[str, npt.NDArray[Any]], window: int) -> int:
    """Multiply each block of each stream's rows with the next stream's window; return the pairs."""
    pairs = 0
    into = np.empty((_ROWS, _COLUMNS), vectors["a"].dtype)
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        for at in range(0, len(vectors[name]), _ROWS):
            block = vectors[name][at : at + _ROWS]
            for first in range(max(0, at - window), at, _COLUMNS):
                part = vectors[other][first : min(first + _COLUMNS, at)]
                np.matmul(block, part.T, out=into[: len(block), : len(part)])
                pairs += len(block) * len(part)
    return max(pairs, 1)


def _compared(result: Replay | int) -> tuple[int, int]:
    """Return the comparisons that were made, and the results."""
    if isinstance(result, Replay):
        return result.metrics.compared, result.metrics.emitted
    return result, 0
