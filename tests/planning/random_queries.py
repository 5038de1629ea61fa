"""Random conjunctive queries over small streams, and their results by definition."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import penstock as ps
from penstock.planning.all_plans import all_plans
from penstock.planning.drop_boxes import DropBoxes
from penstock.planning.plan import Plan
from tests.oracles.naive_query import NaiveRelation, Test, naive_query, usable

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping

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
            selectivities=dict.fromkeys(
                [
                    *(each.text for each in self.query.parsed.selections),
                    *(each.text for each in self.query.parsed.conditions),
                ],
                0.5,
            ),
            cardinalities=dict.fromkeys(self.query.tables, 5.0),
        )
        model = self.query.model(statistics)
        for tree in all_plans(model):
            boxes = DropBoxes(kept={}, rate=1.0, cost=1.0, value=1.0)
            yield Plan(self.query, model, tree, boxes, 1.0, None)


def random_query(
    seed: int, *, count: int, tables: int = 0, single: bool = False, by_rows: str = ""
) -> RandomQuery:
    """Return a query over so many streams; of one condition for all of them if it is single.

    Streams that `by_rows` names have windows of their last rows. Then all times are different.
    """
    chance = random.Random(seed)
    names = "abcde"[:count] + "uvw"[:tables]
    relations, given, text = [], {}, []
    times = chance.sample(range(14 * count), 14 * count) if by_rows else None
    for name in names:
        is_table = name in "uvw"
        window = None if is_table else chance.choice([0, 1, 4, 10, 25])
        rows = [_row(chance, name, at, timed=not is_table) for at in range(6 if is_table else 14)]
        if times is not None and not is_table:
            rows = [{**row, "t": times.pop()} for row in rows]
        rows.sort(key=lambda row: row["t"] or 0)
        last = chance.choice([1, 3, 6]) if name in by_rows else None
        relations.append(NaiveRelation(name, rows, window, last=last))
        given[name] = _table(rows)
        bracket = "" if is_table else " [NOW]" if window == 0 else f" [RANGE {window}]"
        text.append(f"{name}{bracket}" if last is None else f"{name} [ROWS {last}]")
    said, tests = _conditions(chance, names, single=single)
    where = f" WHERE {' AND '.join(said)}" if said else ""
    output = ", ".join(f"{name}.id AS {name}_id" for name in names)
    query = ps.Query(
        f"SELECT {output} FROM {', '.join(text)}{where}",  # noqa: S608  # it goes nowhere
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
        {
            name: pa.array([row[name] for row in rows], kind)
            for name, kind in (*kinds.items(), ("k", pa.string()))
        }
    )


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y,
    "<": lambda x, y: x < y,
    "!=": lambda x, y: x != y,
    "near": lambda x, y: abs(x - y) <= 1,
    "band": lambda x, y: y - 1 <= x <= y + 0.5,
}


def _condition(kind: str, one: tuple[str, str], other: tuple[str, str]) -> tuple[str, Test]:
    """Return a condition in SQL, and as a test of members."""
    x, y = (".".join(each) for each in (one, other))
    texts = {
        "=": f"{x} = {y}",
        "<": f"{x} < {y}",
        "!=": f"{y} <> {x}",
        "near": f"ABS({x} - {y}) <= 1",
        "band": f"{x} BETWEEN {y} - 1 AND {y} + 0.5",
    }

    def test(members: Mapping[str, Row]) -> bool:
        values = (members[one[0]][one[1]], members[other[0]][other[1]])
        return usable(*values) and COMPARE[kind](*values)

    return texts[kind], test


def _conditions(
    chance: random.Random, names: str, *, single: bool
) -> tuple[list[str], list[tuple[set[str], Test]]]:
    found: dict[str, tuple[set[str], Test]] = {}
    if single:
        kind = chance.choice(["=", "near"])
        for at, right in enumerate(names[1:], start=1):
            for left in names[:at] if kind == "near" else names[at - 1]:
                text, test = _condition(kind, (left, "x"), (right, "x"))
                found[text] = {left, right}, test
        return list(found), list(found.values())
    for at, right in enumerate(names[1:], start=1):
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
            left = chance.choice(names[:at])
            kind = chance.choice(["=", "=", "=", "<", "!=", "near", "band"])
            text, test = _condition(kind, *_columns(chance, kind, left, right))
            found[text] = {left, right}, test
    for name in names:
        if chance.random() < 0.3:
            found[f"({name}.x >= 1 OR {name}.k = 'red')"] = {name}, _selected(name)
    return list(found), list(found.values())


def _columns(
    chance: random.Random, kind: str, left: str, right: str
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Choose columns that can be compared; tables have no times."""
    pairs = [("x", "x"), ("x", "x"), ("y", "y"), ("x", "y"), ("t", "x")]
    if kind == "=":
        pairs = [("x", "x"), ("k", "k"), ("y", "y"), ("t", "t")]
    one, other = chance.choice(pairs)
    if "t" in (one, other) and {left, right} & set("uvw"):
        one, other = "x", "x"
    sides = ((left, one), (right, other))
    return sides if chance.random() < 0.5 else (sides[1], sides[0])


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
