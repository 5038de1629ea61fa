"""What the joins found, as tables and in words; for a terminal, and for the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from examples.news.agencies import CHANGES_AT, EVENING, MORNING, SHARE, TOPICS
from penstock.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from examples.news.agencies import Day, Found

__all__ = ["SHOWN", "by_hour", "by_topic", "other_days", "scenario", "share_of", "totals"]

SHOWN = ("politics", "sports")
"""The topics that are shown hour by hour: they change places when importance is redefined."""


def share_of(found: Found, day: Day) -> float:
    """Return the share of the exact join's importance."""
    return found.metrics.importance / day.exact.metrics.importance


def scenario(day: Day) -> str:
    """Return what there was to find, and with how much memory."""
    exact, rows = day.exact.metrics, day.own.metrics.budget_rows
    items = " and ".join(f"{each.arrived:,} of {name}" for name, each in exact.streams.items())
    return (
        f"Items: {items}. The exact join gives {exact.emitted:,} pairs, {day.hottest:.0%} of them\n"
        f"from the ten hottest stories, and holds {exact.held_most:,} items when it is busiest.\n"
        f"The others may hold {rows:,}, which is {SHARE:.0%}."
    )


def totals(day: Day) -> Table:
    """Return the line of each strategy: what it found, and what it says about it."""
    rows = []
    for each in (day.exact, *day.limited):
        metrics = each.metrics
        recall, fairness = metrics.importance_recall, metrics.fairness
        rows.append(
            (
                each.label,
                f"{metrics.importance:,.0f}",
                f"{share_of(each, day):.1%}",
                "unknown" if recall is None else f"{recall.value:.0%}",
                "unknown" if recall is None else f"{recall.low:.0%} to {recall.high:.0%}",
                f"{metrics.emitted:,}",
                "unknown" if fairness is None else f"{fairness:.2f}",
            )
        )
    columns = ("strategy", "importance", "of the exact", "it estimates", "95 % interval")
    title = "The importance of all pairs, and what the metrics say of it"
    return Table.titled(title, (*columns, "pairs", "fairness"), tuple(rows))


def by_topic(day: Day, *, evening: bool) -> Table:
    """Return what each strategy finds of each topic, the most important first."""
    hours = slice(CHANGES_AT, 24) if evening else slice(0, CHANGES_AT)
    importance: Mapping[str, int] = EVENING if evening else MORNING
    weights = np.array([importance[each] for each in TOPICS])
    exact, *limited = (each.results[hours].sum(axis=0) for each in (day.exact, *day.limited))
    rows = [
        (
            topic,
            f"{importance[topic]}",
            f"{exact[TOPICS.index(topic)]:,}",
            *(_share(each, exact, TOPICS.index(topic)) for each in limited),
        )
        for topic in sorted(TOPICS, key=lambda each: -importance[each])
    ]
    every = (f"{each @ weights / (exact @ weights):.0%}" for each in limited)
    rows.append(("all, by importance", "", f"{exact.sum():,}", *every))
    when = f"from {CHANGES_AT}:00 on" if evening else f"until {CHANGES_AT}:00"
    labels = (each.label for each in day.limited)
    return Table.titled(f"Found {when}", ("topic", "importance", "pairs", *labels), tuple(rows))


def by_hour(day: Day) -> Table:
    """Return what is found of two topics around the hour of the change, and what without it."""
    ways = {"changed": day.own}
    if day.unchanged is not None:
        ways["unchanged"] = day.unchanged
    columns = ["from"]
    rows = [[f"{hour}:00"] for hour in range(CHANGES_AT - 2, 24)]
    for topic in SHOWN:
        at = TOPICS.index(topic)
        columns += [*(f"{topic}, {how}" for how in ways), f"{topic}, of one story"]
        for hour, row in enumerate(rows, CHANGES_AT - 2):
            exact = day.exact.results[hour]
            row += [_share(each.results[hour], exact, at) for each in ways.values()]
            row.append(f"{day.leading[hour, at]:.0%}")
    title = "Found by Penstock's choice, and the part of all pairs that one story brings"
    return Table.titled(title, tuple(columns), tuple(map(tuple, rows)))


def other_days(days: Mapping[str, Day]) -> Table:
    """Return the share of the exact importance that is found on different days."""
    rows = tuple(
        (name, *(f"{share_of(each, day):.1%}" for each in day.limited))
        for name, day in days.items()
    )
    labels = tuple(each.label for each in next(iter(days.values())).limited)
    return Table.titled("Importance found on other days", ("day", *labels), rows)


def _share(found: npt.NDArray[np.int64], exact: npt.NDArray[np.int64], at: int) -> str:
    return f"{found[at] / exact[at]:.0%}" if exact[at] else "none"
