"""Rows that are made of rows of several relations: one struct column for each of them.

A join gives such rows, and takes them. `MemberRows` turns the results of one join into rows of the
next: Arrow tables, in `replay` and in Spark's Python processes alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.planning.residual import holds

if TYPE_CHECKING:
    import numpy.typing as npt

    from penstock.engine.times import TimeScale
    from penstock.planning.parsed import JoinCondition

__all__ = [
    "KEY",
    "SELECTED",
    "TIME",
    "Key",
    "MemberRows",
    "MemberWindow",
    "field_of",
    "member_column",
]

TIME = "__time"
"""Column with the time of the newest member."""

KEY = "__key"
"""Columns that the next join compares; a number follows."""

SELECTED = "__selected"
"""Column that says whether a row that counts in a window by rows may be part of a result."""


@dataclass(frozen=True)
class Key:
    """A column that the next join compares.

    Attributes
    ----------
    name
        That it gets.
    relation, column
        Whose values it has; None for the same value in all rows.
    """

    name: str
    relation: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class MemberWindow:
    """The window of a member, in units of the time scale."""

    relation: str
    time: str
    window: int | float


@dataclass(frozen=True)
class MemberRows:
    """Turns results of a join into rows of the next one, and leaves out those that do not hold.

    Attributes
    ----------
    inputs
        Of each input of the join its name and its members; one that is a stream itself has none.
    scale
        Of the times.
    windows
        Of members that have to be tested: each must be in its window at the time of the newest.
    conditions
        That the join itself does not test.
    selected
        Relations whose rows say whether they are selected.
    keys
        Columns of the next join.
    """

    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    scale: TimeScale
    windows: tuple[MemberWindow, ...] = ()
    conditions: tuple[JoinCondition, ...] = ()
    selected: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()

    @property
    def members(self) -> tuple[str, ...]:
        """The relations that a row is made of, in order."""
        return tuple(each for name, members in self.inputs for each in members or (name,))

    def __call__(self, results: pa.Table) -> pa.Table:
        """Return the rows: a struct for each member, the time, and the keys."""
        columns: dict[str, pa.ChunkedArray] = {}
        for name, members in self.inputs:
            column = results.column(name)
            columns |= {each: field_of(column, each) for each in members} or {name: column}
        rows = pa.table({**columns, TIME: results.column("time")})
        mask = self._mask(rows)
        if mask is not None and not mask.all():
            rows = rows.filter(pa.array(mask))
        return with_keys(rows, self.keys)

    def _mask(self, rows: pa.Table) -> npt.NDArray[np.bool_] | None:
        """Return which rows hold; None if there is nothing to test."""
        masks = []
        if self.windows:
            newest, _ = self.scale.read(rows.column(TIME))
            for each in self.windows:
                times, _ = self.scale.read(member_column(rows, each.relation, each.time))
                masks.append(newest - times <= each.window)
        masks.extend(
            holds(each, member_column(rows, *each.left), member_column(rows, *each.right))
            for each in self.conditions
        )
        masks.extend(
            np.asarray(member_column(rows, each, SELECTED).to_numpy(), np.bool_)
            for each in self.selected
        )
        return np.logical_and.reduce(masks) if masks else None


def with_keys(rows: pa.Table, keys: tuple[Key, ...]) -> pa.Table:
    """Add the columns that the next join compares."""
    for key in keys:
        if key.relation is None or key.column is None:
            column = pa.array(np.zeros(rows.num_rows, np.int32))
        else:
            column = member_column(rows, key.relation, key.column)
        rows = rows.append_column(key.name, column)
    return rows


def field_of(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a field of a struct column."""
    return pc.struct_field(column, [column.type.get_field_index(name)])


def member_column(rows: pa.Table, relation: str, column: str) -> pa.ChunkedArray:
    """Return a column of one member."""
    return field_of(rows.column(relation), column)
