"""Tables 1 to 4 of `kulkarni08`, row by row, and the same streams where each row probes first."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from penstock.studies.by_the_book import (
    Arrivals,
    Exact,
    Fifo,
    Greedy,
    Ijoin,
    Outcome,
    Rand,
    Size,
    simulate,
)

if TYPE_CHECKING:
    from penstock.studies.by_the_book.memory import Scheme
    from penstock.studies.by_the_book.simulate import Order, WindowReading

IMPORTANCE = {"a": 1, "b": 2, "c": 3, "d": 4}

# Of each time from 2 to 8: R's memory, S's memory, values of the results, their importance.
Row = tuple[str, str, str, int]

EXACT: list[Row] = [
    ("ab", "ba", "ab", 3),
    ("abc", "bab", "b", 2),
    ("abcd", "babb", "b", 2),
    ("abcdd", "babbc", "c", 3),
    ("abcddb", "babbcc", "bbbc", 9),
    ("abcddba", "babbccd", "add", 9),  # printed as 5; a, d and d are worth 1 + 4 + 4
    ("abcddbac", "babbccda", "aacc", 8),
]
FIFO: list[Row] = [
    ("ab", "ba", "ab", 3),
    ("bc", "ab", "b", 2),
    ("cd", "bb", "", 0),
    ("dd", "bc", "", 0),
    ("db", "cc", "", 0),
    ("ba", "cd", "", 0),
    ("ac", "da", "a", 1),
]
GREEDY: list[Row] = [
    ("ab", "ba", "ab", 3),
    ("bc", "bb", "b", 2),
    ("cd", "bb", "", 0),
    ("dd", "bc", "", 0),
    ("dd", "cc", "", 0),
    ("dd", "cd", "dd", 8),
    ("dd", "cd", "", 0),
]
SIZE: list[Row] = [
    ("ab", "ba", "ab", 3),
    ("ab", "ab", "b", 2),
    ("ab", "bb", "b", 2),
    ("ab", "bb", "", 0),
    ("bb", "bb", "bb", 4),
    ("bb", "bd", "", 0),
    ("bc", "ba", "", 0),
]


def stream(values: str) -> Arrivals:
    return Arrivals.of(range(1, 9), values, [IMPORTANCE[value] for value in values])


R, S = stream("abcddbac"), stream("babbccda")


def run(scheme: Scheme, order: Order = "shed first", reading: WindowReading = "open") -> Outcome:
    return simulate(R, S, scheme, window=8, memory=4, order=order, reading=reading)


def table(outcome: Outcome) -> list[Row]:
    rows = []
    for time in range(2, 9):
        now = outcome.times == time
        rows.append(
            (
                "".join(map(str, outcome.contents(0, time))),
                "".join(map(str, outcome.contents(1, time))),
                "".join(sorted(R.values[outcome.first[now]].tolist())),
                int(outcome.importance[now].sum()),
            )
        )
    return rows


@pytest.mark.parametrize(
    ("scheme", "expected", "total", "size"),
    [
        pytest.param(Exact(), EXACT, 36, 16, id="Table 2(a)"),
        pytest.param(Fifo(), FIFO, 6, 4, id="Table 2(b)"),
        pytest.param(Size(recent=4), SIZE, 11, 6, id="Table 3(b)"),
        pytest.param(Greedy(), GREEDY, 13, 5, id="Table 4"),
        pytest.param(Greedy(ties="oldest"), GREEDY, 13, 5, id="Table 4, ties the other way"),
    ],
)
def test_tables_of_the_paper(scheme: Scheme, expected: list[Row], total: int, size: int) -> None:
    outcome = run(scheme)
    assert table(outcome) == expected
    assert (outcome.total_importance, outcome.size) == (total, size)


def test_counting_all_of_the_past_gives_the_total_of_table_3b_and_its_rows_until_6() -> None:
    outcome = run(Size())
    assert table(outcome)[:5] == SIZE[:5]
    assert (outcome.total_importance, outcome.size) == (11, 6)


def test_table_3a_is_one_of_the_ways_that_rand_can_go() -> None:
    # The streams' draws are independent: each column is looked for by itself.
    tables = [table(run(Rand(seed=seed))) for seed in range(400)]
    for column, printed in enumerate(
        (["ab", "ac", "ad", "dd", "db", "ba", "bc"], ["ba", "ab", "bb", "bc", "bc", "bd", "ba"])
    ):
        assert printed in [[row[column] for row in rows] for rows in tables]


def test_the_window_of_section_3_2_is_refuted_by_table_2a() -> None:
    assert run(Exact(), reading="section 3.2").total_importance == 35  # R(a, 1) is gone at 8
    assert run(Exact(), reading="closed").total_importance == 36


# --- The same streams where each row probes before it asks for a place


@pytest.mark.parametrize(
    ("scheme", "outputs", "total", "size"),
    [
        pytest.param(Exact(), ["ab", "b", "b", "c", "bbbc", "add", "aacc"], 36, 16, id="EXACT"),
        # R(b, 6) meets S(b, 4), and R(c, 8) S(c, 6), before S's newcomer takes its place.
        pytest.param(Fifo(), ["ab", "b", "", "", "b", "", "ac"], 11, 6, id="FIFO"),
        # R(b, 6) and R(c, 8) are dropped, but not before they have met b and c of S.
        pytest.param(Greedy(), ["ab", "b", "", "", "b", "dd", "c"], 18, 7, id="GREEDY"),
        pytest.param(Size(recent=4), ["ab", "b", "b", "", "bb", "", ""], 11, 6, id="SIZE"),
    ],
)
def test_tables_where_tuples_probe_first(
    scheme: Scheme, outputs: list[str], total: int, size: int
) -> None:
    outcome = run(scheme, "probe first")
    assert [row[2] for row in table(outcome)] == outputs
    assert (outcome.total_importance, outcome.size) == (total, size)


@pytest.mark.parametrize("scheme", [Fifo(), Greedy(), Size()], ids=lambda each: each.name)
def test_the_order_does_not_change_which_rows_have_a_place(scheme: Scheme) -> None:
    shed, probe = table(run(scheme)), table(run(scheme, "probe first"))
    assert [row[:2] for row in shed] == [row[:2] for row in probe]


# --- IJOIN, of which the paper prints no table for these streams


@pytest.mark.parametrize(("order", "total"), [("shed first", 9), ("probe first", 12)])
def test_ijoin_gets_less_than_greedy_from_the_paper_s_own_example(order: Order, total: int) -> None:
    assert run(Ijoin(), order).total_importance == total
    assert run(Greedy(), order).total_importance > total


def test_no_setting_of_ijoin_reaches_greedy_there() -> None:
    numbers = product((0.0, 1.0, 2.0, 3.0), (1.0, 3.0, 5.0), (0.0, 0.1, 1.0), (0.0, 0.1, 1.0))
    settings = [
        changed
        for each in numbers
        for waived in (Ijoin(*each), Ijoin(*each, none_mature="drop newcomer"))
        for changed in (waived, replace(waived, ties="least important"))
    ]
    assert max(run(each).total_importance for each in settings) == 10
