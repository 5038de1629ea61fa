"""Parts of windows: what is probed is what was asked for, and what is not is no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.operator import Operator
from penstock.engine.plan import bind
from penstock.strategies import Decision, Probe, Strategy
from penstock.testing import exact_join

if TYPE_CHECKING:
    from penstock.predicates import Predicate
    from penstock.strategies import View

pytestmark = pytest.mark.nojit

BOTH: dict[str, Any] = {"a": "x", "b": "x"}
ALL: dict[str, Any] = BOTH | {"c": "x"}
VECTORS: dict[str, Any] = dict.fromkeys("abc", "v")
WINDOWS = {"a": 40, "b": 24, "c": 33}


@dataclass(frozen=True)
class Parts(Strategy):
    """Probes given shares of the parts of windows."""

    name: ClassVar[str] = "parts"
    shares: tuple[tuple[tuple[float, ...], ...], ...]

    def decide(self, view: View) -> Decision:
        return view.previous or Decision(probe=Probe(sub_windows=np.array(self.shares)))


def some_shares(streams: int, seed: int) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Some of five parts whole, some in part, some not at all."""
    draw = np.random.default_rng(seed)
    shares = draw.choice([0.0, 0.0, 0.3, 0.75, 1.0, 1.0], (streams, streams, 5))
    return tuple(tuple(map(tuple, each)) for each in shares.tolist())


def tables_of(
    names: str, *, floating: bool, rows: int = 40, unit: float = 0.25
) -> dict[str, pa.Table]:
    """No two rows of the same time, so that it is known which one arrives last."""
    draw = np.random.default_rng(len(names))
    times = draw.permutation(len(names) * rows).reshape(len(names), rows)
    tables = {}
    for name, own in zip(names, np.sort(times), strict=True):
        vectors = draw.normal(size=(rows, 2)).round(1).tolist()
        tables[name] = pa.table(
            {
                "t": own * unit if floating else own,
                "x": draw.integers(0, 4, rows),
                "v": pa.array(vectors, pa.list_(pa.float32())),
            }
        )
    return tables


def join_of(on: Predicate, names: str, strategy: Strategy, scale: float) -> ps.Join:
    return ps.Join(
        streams={name: ps.Stream(time="t", window=scale * WINDOWS[name]) for name in names},
        on=on,
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(rows=10_000),
    )


def expected(join: ps.Join, tables: dict[str, pa.Table], shares: Any) -> list[tuple[int, ...]]:  # noqa: ANN401 -- nested tuples
    """Filter the exact join: in each window the newest row finds only what it probes."""
    times = [tables[name]["t"].to_pylist() for name in join.names]
    windows = [join.streams[name].window for name in join.names]
    found = []
    for members in exact_join(join, tables):
        moments = [own[row] for own, row in zip(times, members, strict=True)]
        last = int(np.argmax(moments))
        for o, moment in enumerate(moments):
            place = (moments[last] - moment) / windows[o] * 5
            part = min(int(place), 4)
            share = shares[last][o][part]
            if o != last and not (share == 1.0 or place - part < share):
                break
        else:
            found.append(members)
    return found


PREDICATES = {
    "equal": (ps.Equal("x"), "ab"),
    "equal of three": (ps.Equal("x"), "abc"),
    "within": (ps.Within(1, **BOTH), "ab"),
    "band of three": (ps.Band(low=0, high=1, **ALL), "abc"),
    "compare": (ps.Compare("<", **BOTH), "ab"),
    "compare of three": (ps.Compare("<=", **ALL), "abc"),
    "similar": (ps.Similar(1.0, a="v", b="v"), "ab"),
    "similar of three": (ps.Similar(1.6, metric="euclidean", **VECTORS), "abc"),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", PREDICATES)
@pytest.mark.parametrize("unit", [None, 0.1])
def test_what_is_probed_is_found_and_nothing_else(name: str, seed: int, unit: float | None) -> None:
    on, names = PREDICATES[name]
    shares = some_shares(len(names), seed)
    tables = tables_of(names, floating=unit is not None, unit=unit or 1)
    join = join_of(on, names, Parts(shares), unit or 1)
    pieces = {n: [t.slice(0, 7), t.slice(7, 20), t.slice(27)] for n, t in tables.items()}
    wanted = expected(join, tables, shares)
    assert 0 < len(wanted) < len(exact_join(join, tables))
    times = [tables[n]["t"].to_pylist() for n in names]
    for given in (tables, pieces):
        result = join.replay(given).result
        columns = [[row["t"] for row in result[n].to_pylist()] for n in names]
        rows = sorted(
            tuple(own.index(t) for own, t in zip(times, each, strict=True))
            for each in zip(*columns, strict=True)
        )
        assert rows == wanted


def newest(share: float, streams: int = 2) -> Parts:
    """Probes the newest tenth of windows, or a part of it."""
    parts = (share, *[0.0] * 9)
    return Parts(((parts,) * streams,) * streams)


@pytest.mark.parametrize("name", ["compare", "similar"])
def test_what_is_not_probed_is_no_work(name: str) -> None:
    on, names = PREDICATES[name]
    tables = tables_of(names, floating=False, rows=300)
    compared = [
        join_of(on, names, strategy, 5).replay(tables).metrics.compared
        for strategy in (Parts((((1.0,),) * 2,) * 2), newest(1.0), newest(0.5))
    ]
    # `Compare` reads whole chains, of a sixteenth of the window each: two or three of them.
    assert compared[1] < {"compare": 0.25, "similar": 0.11}[name] * compared[0]
    assert compared[2] <= compared[1]


@pytest.mark.parametrize("unit", [None, 1e-3])
def test_windows_out_of_reach_are_not_multiplied(
    monkeypatch: pytest.MonkeyPatch, unit: float | None
) -> None:
    """Nor where a window is less than a unit of time, which may be a float."""
    multiplied: list[int] = []
    from penstock.engine import neighbours  # noqa: PLC0415 -- patched here

    whole = neighbours.Neighbours._product

    def counting(self: Any, block: Any, window: Any) -> Any:  # noqa: ANN401 -- as it is
        multiplied.append(len(block) * len(window))
        return whole(self, block, window)

    monkeypatch.setattr(neighbours.Neighbours, "_product", counting)
    monkeypatch.setattr(neighbours, "_FEWEST", 8)
    tables = tables_of("ab", floating=unit is not None, rows=300, unit=unit or 1)
    sums = []
    for strategy in (Parts((((1.0,),) * 2,) * 2), newest(1.0)):
        multiplied.clear()
        join_of(PREDICATES["similar"][0], "ab", strategy, 5 * (unit or 1)).replay(tables)
        sums.append(sum(multiplied))
    assert sums[1] < 0.3 * sums[0]


@pytest.mark.parametrize("shares", [[[[1.5]]], [[[-0.1]]], [[[np.nan]]]])
def test_shares_are_from_0_to_1(shares: Any) -> None:  # noqa: ANN401 -- nested lists
    with pytest.raises(ps.SpecificationError, match="shares of parts, from 0 to 1"):
        Probe(sub_windows=np.array(shares))


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_counted_by_the_rows_that_are_there(seed: int) -> None:
    tables = tables_of("abc", floating=True)
    join = ps.Join(
        streams={name: ps.Stream(time="t", window=WINDOWS[name]) for name in "abc"},
        on=ps.Similar(0.5, **VECTORS),
    )
    operator = Operator(bind(join, {name: table.schema for name, table in tables.items()}))
    operator.process(tables)
    shares = np.array(some_shares(3, seed))
    counted = operator.store.count_parts(shares)
    memory = operator.store.memory
    now = float(memory.streams["clock"].max())
    for s, other in np.ndindex(3, 3):
        window = WINDOWS["abc"[other]]
        places = 5 * (now - memory.rows["time"][operator.store.in_queue(other)]) / window
        asked = [
            place - min(int(place), 4) < shares[s, other, min(int(place), 4)]
            or shares[s, other, min(int(place), 4)] == 1.0
            for place in places
        ]
        assert counted[s, other] == pytest.approx(5 * np.mean(asked))
    assert not np.allclose(counted, shares.sum(axis=2))
