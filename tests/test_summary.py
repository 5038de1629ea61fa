"""`Metrics.summary`: what a join has done, in ten lines of plain words."""

from __future__ import annotations

from dataclasses import fields, replace

import pyarrow as pa
import pytest

import penstock as ps

ORDERS = ps.StreamMetrics(arrived=1_000, evicted=700, dropped=1, expired=199, held=100)
ITEMS = ps.StreamMetrics(arrived=4_000, expired=4_000)
FULL = ps.Metrics(
    streams={"orders": ORDERS, "items": ITEMS},
    strategy="fifo",
    emitted=1_500,
    budget_rows=100,
    held_most=100,
    bytes_most=28_000_000,
    inserted=1_000,
    compared=1_500,
    estimated=3_900.0,
    variance=160_000.0,
)


def lines(metrics: ps.Metrics) -> dict[str, str]:
    """The lines by their labels; what has no label belongs to the line before."""
    found: dict[str, str] = {}
    label = ""
    for line in metrics.summary().splitlines():
        label = line[:10].strip() or label
        found[label] = "; ".join(filter(None, [found.get(label), line[11:]]))
    return found


def items(**counts: int) -> ps.Metrics:
    return replace(FULL, streams={"orders": ORDERS, "items": replace(ITEMS, **counts)})


def test_printing_metrics_shows_the_summary_and_repr_stays() -> None:
    assert str(FULL) == FULL.summary()
    assert repr(FULL).startswith("Metrics(streams={'orders': StreamMetrics(arrived=1000")


def test_lost_results_come_first_and_lost_rows_later() -> None:
    said = lines(FULL)
    labels = ["Results", "Rows in", "Held", "Lost rows", "Strategy", "To change"]
    assert list(said) == labels
    assert said["Results"] == (
        "1,500 given, about 2,400 lost: recall 38.5% (95% interval 31.5% to 47%)"
    )
    assert said["Rows in"] == "5,000: orders 1,000, items 4,000"
    assert said["Held"] == "at most 100 rows (28 MB) of 100 that the budget allows; 100 now"
    assert said["Lost rows"] == (
        "700 evicted to make room (orders 700), 1 dropped because memory was full (orders 1)"
    )
    assert said["Strategy"] == "fifo"
    assert said["To change"].startswith("more memory or shorter windows; `penstock explain` tells")


def test_an_exact_join_needs_no_change() -> None:
    each = ps.Stream(time="t", window=10)
    table = pa.table({"t": [1, 2, 20], "id": [1, 1, 1]})
    join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("id"))
    done = join.replay({"a": table, "b": table}).metrics
    said = lines(done)
    assert list(said) == ["Results", "Rows in", "Held", "To change"]
    assert said["Results"] == "5 given, none lost: the join is exact so far"
    assert said["Held"].startswith("at most 4 rows (")
    assert said["Held"].endswith("without a budget; 2 now")
    assert said["To change"] == "nothing"


def test_one_is_singular() -> None:
    one = replace(
        FULL,
        streams={"a": ps.StreamMetrics(arrived=1, held=1)},
        emitted=1,
        budget_rows=1,
        held_most=1,
    )
    assert lines(one)["Held"] == "at most 1 row (28 MB) of 1 that the budget allows; 1 now"
    assert lines(replace(one, budget_rows=None))["Held"] == "at most 1 row (28 MB); 1 now"


def test_before_the_first_row() -> None:
    empty = replace(FULL, streams={"orders": ps.StreamMetrics(), "items": ps.StreamMetrics()})
    assert str(empty) == "No rows have come yet."
    assert str(replace(FULL, streams={})) == "No rows have come yet."


@pytest.mark.parametrize(
    ("metrics", "why", "change"),
    [
        (
            replace(FULL, estimated=0.0),
            "no monitored row has had a result",
            "a larger Budget(monitor=...), or fewer shards",
        ),
        (
            items(not_admitted=2, unseen=1),
            "1 arrival had no chance to be compared with all rows in memory",
            "give every step a chance above 0",
        ),
        (
            replace(FULL, streams={**FULL.streams, "sites": ITEMS}, estimated=0.0),
            "with a limit of memory it is estimated for two streams, or for equal keys, only",
            "replay a part of the streams with and without the budget",
        ),
    ],
    ids=["no result", "unseen", "three streams"],
)
def test_where_recall_is_unknown_it_is_said_and_why(
    metrics: ps.Metrics, why: str, change: str
) -> None:
    assert metrics.recall is None
    said = lines(metrics)
    assert said["Results"] == f"1,500 given; how many were lost is not known: {why}"
    assert change in said["To change"]


@pytest.mark.parametrize(
    ("count", "words", "change"),
    [
        ("late", "12 late", "raise the lateness of items"),
        ("bad_times", "12 without a usable time", "filter or repair the times of items"),
        ("far_ahead", "12 too far ahead", "look for a wrong clock in items"),
        ("null_keys", "12 without a key", "filter the rows of items that have no key"),
    ],
)
def test_every_cause_for_which_rows_are_not_used(count: str, words: str, change: str) -> None:
    said = lines(items(**{count: 12}))
    assert said["Not used"] == f"{words} (items 12)"
    assert change in said["To change"]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ("not_admitted", "not admitted by the strategy"),
        ("not_probed", "not compared with all rows in memory"),
        ("not_inserted", "not inserted by the strategy"),
        ("dropped", "dropped because memory was full"),
        ("evicted", "evicted to make room"),
    ],
)
def test_every_cause_for_which_rows_are_lost(count: str, words: str) -> None:
    lost = replace(FULL, streams={"orders": ps.StreamMetrics(arrived=5_000, **{count: 1_234})})
    assert lines(lost)["Lost rows"] == f"1,234 {words} (orders 1,234)"


# Counts that say neither that rows were lost nor that they were not used.
OTHER_COUNTS = {
    "arrived",
    "bad_importance",
    "copies",
    "ended",
    "expired",
    "held",
    "held_most",
    "unseen",
    "waiting",
    "waiting_bytes",
}


def test_rows_that_wait_and_for_which_stream() -> None:
    ahead = ps.StreamMetrics(arrived=900, waiting=120, waiting_bytes=2_000_000, behind=0.0)
    slow = ps.StreamMetrics(arrived=50, behind=3_600.0)
    said = lines(replace(FULL, streams={"bids": ahead, "asks": slow}))
    assert said["Waiting"] == "120 rows (2.0 MB; bids 120) for asks"


def test_rows_without_a_usable_importance() -> None:
    stream = ps.StreamMetrics(arrived=900, bad_importance=7)
    assert "repair the importance of" in replace(FULL, streams={"bids": stream}).summary()


def test_every_count_of_lost_or_unused_rows_has_words() -> None:
    """Whatever is counted, each under its cause: a new count needs words, or a place above."""
    counts = [each.name for each in fields(ps.StreamMetrics) if each.type == "int"]
    causes = [name for name in counts if name not in OTHER_COUNTS]
    stream = ps.StreamMetrics(arrived=999, **{name: 2**i for i, name in enumerate(causes)})
    metrics = replace(FULL, streams={"orders": stream})
    said = lines(metrics)
    numbers = [
        int(word)
        for label in ("Lost rows", "Not used")
        for word in said[label].split()
        if word.isdigit()
    ]
    assert sorted(numbers) == [2**i for i in range(len(causes))]
    assert sum(numbers) == metrics.lost + stream.invalid + stream.late


def test_rows_that_were_not_used_are_not_called_exact() -> None:
    exact = replace(items(late=1), strategy=None, budget_rows=None)
    exact = replace(exact, streams={"items": exact.streams["items"]})
    assert lines(exact)["Results"] == (
        "1,500 given, none lost among the rows that were used: the join is exact so far"
    )


def test_a_sample_is_not_a_loss() -> None:
    said = lines(replace(FULL, strategy="uniform", fractions=0.4, shards=1))
    assert said["Results"] == (
        "1,500 given, a random sample of about 3,900: 38.5% (95% interval 31.5% to 47%)"
    )
    assert said["To change"] == "more memory makes the sample larger"


def test_importance_has_a_line_of_its_own() -> None:
    important = replace(
        FULL, importance=2_000.0, importance_estimated=2_500.0, importance_variance=0.0
    )
    assert lines(important)["Importance"] == "2,000 given, about 500 lost: recall 80%"


def test_the_last_batch_is_told_apart() -> None:
    later = replace(FULL, batch_emitted=1, batch_estimated=2.0, batch_variance=0.0)
    assert lines(later)["Last batch"] == "1 result given: recall 50%"


def test_lost_rows_without_lost_results_need_no_change() -> None:
    enough = replace(FULL, estimated=1_400.0, variance=1.0)
    said = lines(enough)
    assert said["Results"].startswith("1,500 given, none lost by the estimate: recall 100%")
    assert said["To change"] == "nothing"


def test_memory_that_is_full_in_some_shards_only() -> None:
    assert "use fewer shards" in lines(replace(FULL, budget_rows=200))["To change"]


def test_there_are_never_more_than_ten_lines() -> None:
    counts = dict.fromkeys(("late", "bad_times", "far_ahead", "null_keys", "dropped"), 3)
    worst = replace(
        items(**counts),
        variance=1e9,
        importance=1.0,
        importance_estimated=2.0,
        batch_emitted=5,
        batch_estimated=8.0,
    )
    assert len(worst.summary().splitlines()) == 10
