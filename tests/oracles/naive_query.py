"""Conjunctive queries by their definition: all combinations of rows, tested one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Test = Callable[[Mapping[str, Row]], bool]


@dataclass(frozen=True)
class NaiveRelation:
    """Rows of a stream with a window by time or of the last rows, or of a table (window None).

    With windows of the last rows no two rows of a query may have the same time.
    """

    name: str
    rows: Sequence[Row]
    window: float | None
    time: str = "t"
    last: int | None = None


def naive_query(
    relations: Sequence[NaiveRelation], tests: Sequence[tuple[set[str], Test]], output: str
) -> Counter[tuple[Any, ...]]:
    """Return the column `output` of each member, for each result.

    Members must all be in their windows at the time of the newest. Tests name the relations that
    they need; they are False for null and NaN.
    """
    found: list[dict[str, Row]] = [{}]
    for at, relation in enumerate(relations):
        known = {each.name for each in relations[: at + 1]}
        due = [test for needs, test in tests if needs <= known and relation.name in needs]
        extended = ({**members, relation.name: row} for members in found for row in relation.rows)
        found = [
            members
            for members in extended
            if _in_windows(members, relations) and all(test(members) for test in due)
        ]
    return Counter(tuple(members[each.name][output] for each in relations) for members in found)


def _in_windows(members: Mapping[str, Row], relations: Sequence[NaiveRelation]) -> bool:
    streams = [each for each in relations if each.window is not None and each.name in members]
    times = [members[each.name][each.time] for each in streams]
    if None in times:
        return False
    newest = max(times, default=0)
    return all(_in_window(each, time, newest) for each, time in zip(streams, times, strict=True))


def _in_window(relation: NaiveRelation, time: float, now: float) -> bool:
    if relation.last is None:
        return relation.window is not None and now - time <= relation.window
    later = [row for row in relation.rows if time < row[relation.time] <= now]
    return len(later) < relation.last


def usable(*values: Any) -> bool:  # noqa: ANN401 -- values of any kind
    """Return whether no value is null or NaN."""
    return not any(
        value is None or (isinstance(value, float) and math.isnan(value)) for value in values
    )
