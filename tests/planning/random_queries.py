"""Random conjunctive queries over small streams, and their results by definition."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import penstock as ps
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.plan import Plan
from tests.oracles.naive_query import NaiveRelation, Test, naive_query, usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.oracles.naive_query import Row


@dataclass(frozen=True)
class RandomQuery:
    """A query, its rows, and the ids of its results."""

    query: ps.Query
    tables: Mapping[str, pa.Table]
    expected: Counter[tuple[Any, ...]]

    def plans(self) -> Iterator[Plan]:
        """Yield all plans of the query, with nothing dropped."""
        statistics = ps.planning.QueryStatistics(
            rates=dict.fromkeys(self.query.streams, 1.0),
            selectivities={
                each.text: 0.5
                for each in (*self.query.parsed.selections, *self.query.parsed.conditions)
            },
            cardinalities=dict.fromkeys(self.query.tables, 5.0),
        )
        model = self.query.model(statistics)
        for tree in all_plans(model):
            boxes = DropBoxes(kept={}, rate=1.0, cost=1.0, value=1.0)
            yield Plan(self.query, model, tree, boxes, 1.0, None)


def random_query(seed: int, *, count: int, tables: int = 0, single: bool = False) -> RandomQuery:
    """Return a query over so many streams; of one condition for all of them if it is single."""
    chance = random.Random(seed)
    names = "abcd"[:count] + "uvw"[:tables]
    relations, given, text = [], {}, []
    for name in names:
        is_table = name in "uvw"
        window = None if is_table else chance.choice([0, 1, 4, 10, 25])
        rows = [_row(chance, name, at, timed=not is_table) for at in range(6 if is_table else 14)]
        rows.sort(key=lambda row: row["t"] or 0)
        relations.append(NaiveRelation(name, rows, window))
        given[name] = _table(rows)
        bracket = "" if is_table else " [NOW]" if window == 0 else f" [RANGE {window}]"
        text.append(f"{name}{bracket}")
    said, tests = _conditions(chance, names, single=single)
    where = f" WHERE {' AND '.join(said)}" if said else ""
    output = ", ".join(f"{name}.id AS {name}_id" for name in names)
    query = ps.Query(
        f"SELECT {output} FROM {', '.join(text)}{where}",
        streams={name: "t" for name in names if name not in "uvw"},
        tables=[name for name in names if name in "uvw"],
        schemas=given,
    )
    return RandomQuery(query, given, naive_query(relations, tests, "id"))


def _row(chance: random.Random, name: str, at: int, *, timed: bool) -> Row:
    return {
        "id": f"{name}{at}",
        "t": chance.randrange(30) if timed else None,
        "x": None if chance.random() < 0.05 else chance.randrange(3),
        "y": float("nan") if chance.random() < 0.05 else chance.choice([-0.0, 0.0, 0.5, 1.5, 2.0]),
        "k": chance.choice(["red", "blue", "a much longer name than the others", None]),
    }


def _table(rows: list[Row]) -> pa.Table:
    kinds = {"id": pa.string(), "t": pa.int64(), "x": pa.int32(), "y": pa.float64()}
    return pa.table(
        {name: pa.array([row[name] for row in rows], kind)
         for name, kind in (*kinds.items(), ("k", pa.string()))}
    )


def _conditions(
    chance: random.Random, names: str, *, single: bool
) -> tuple[list[str], list[tuple[set[str], Test]]]:
    said: list[str] = []
    tests: list[tuple[set[str], Test]] = []

    def add(one: str, other: str, kind: str, c: str, d: str) -> None:
        texts = {
            "=": f"{one}.{c} = {other}.{d}",
            "<": f"{one}.{c} < {other}.{d}",
            "!=": f"{other}.{d} <> {one}.{c}",
            "near": f"ABS({one}.{c} - {other}.{d}) <= 1",
            "band": f"{one}.{c} BETWEEN {other}.{d} - 1 AND {other}.{d} + 0.5",
        }
        compare = {
            "=": lambda x, y: x == y,
            "<": lambda x, y: x < y,
            "!=": lambda x, y: x != y,
            "near": lambda x, y: abs(x - y) <= 1,
            "band": lambda x, y: y - 1 <= x <= y + 0.5,
        }[kind]

        def test(members: Mapping[str, Row]) -> bool:
            x, y = members[one][c], members[other][d]
            return usable(x, y) and bool(compare(x, y))

        said.append(texts[kind])
        tests.append(({one, other}, test))

    if single:
        kind = chance.choice(["=", "near"])
        for at, other in enumerate(names[1:], start=1):
            for one in names[:at] if kind == "near" else names[at - 1]:
                add(one, other, kind, "x", "x")
        return said, tests
    for at, other in enumerate(names[1:], start=1):
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
            one = chance.choice(names[:at])
            kind = chance.choice(["=", "=", "=", "<", "!=", "near", "band"])
            numbers = chance.choice([("x", "x"), ("x", "x"), ("y", "y"), ("x", "y"), ("t", "x")])
            if numbers[0] == "t" and "uvw".find(one) >= 0:
                numbers = ("x", "x")
            if kind == "=":
                numbers = chance.choice([("x", "x"), ("k", "k"), ("y", "y"), ("t", "t")])
                if numbers == ("t", "t") and {one, other} & set("uvw"):
                    numbers = ("x", "x")
            pair = (one, other) if chance.random() < 0.5 or numbers[0] == "t" else (other, one)
            if f"{pair}{kind}{numbers}" not in said:
                add(*pair, kind, *numbers)
    for name in names:
        if chance.random() < 0.3:
            said.append(f"({name}.x >= 1 OR {name}.k = 'red')")
            tests.append(({name}, _selected(name)))
    return list(dict.fromkeys(said)), tests


def _selected(name: str) -> Test:
    return lambda members: (members[name]["x"] or 0) >= 1 or members[name]["k"] == "red"


def cut(table: pa.Table, parts: int, seed: int) -> list[pa.Table]:
    """Cut a table into so many micro-batches, at random."""
    chance = random.Random(seed)
    ends = sorted(chance.randrange(table.num_rows + 1) for _ in range(parts - 1))
    return [
        table.slice(start, end - start)
        for start, end in zip([0, *ends], [*ends, table.num_rows], strict=True)
    ]
