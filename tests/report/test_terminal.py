from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.report.terminal import Terminal

if TYPE_CHECKING:
    import pytest

LONG = "word " * 40


def test_plain_lines_are_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(is_terminal=False).say(LONG * 3)
    assert capsys.readouterr().out == LONG * 3 + "\n"


def test_a_terminal_wraps_sentences_but_not_lines_to_copy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal(is_terminal=True)
    terminal.say(LONG)
    assert all(len(line) <= 60 for line in capsys.readouterr().out.splitlines())
    terminal.line("/a" * 50)
    assert capsys.readouterr().out == "/a" * 50 + "\n"


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(is_terminal=False)
    terminal.say("[bold] :smile:")
    terminal.table(["[a]"], [["[b]"]])
    assert capsys.readouterr().out == "[bold] :smile:\n[a]\n[b]\n"


def test_figures_are_right_aligned_under_headings_of_two_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [["fifo", "5", "oldest"], ["random", "1,000", "any"]]
    Terminal(is_terminal=False).table(["name", "rows\nheld", "leaves"], rows)
    assert capsys.readouterr().out.splitlines() == [
        "         rows",
        "name     held  leaves",
        "fifo        5  oldest",
        "random  1,000  any",
    ]


def test_a_terminal_shows_a_rule_below_the_headings(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(is_terminal=True).table(["name"], [["fifo"]])
    head, rule, row = capsys.readouterr().out.splitlines()
    assert "name" in head
    assert set(rule) <= {"─", "-"}
    assert row == "fifo"


def test_a_short_step_is_silent_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Terminal(is_terminal=False, patience=60).step("Working ..."):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_long_step_is_named_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    err = ""
    with Terminal(is_terminal=False, patience=0).step("Working ..."):
        deadline = time.monotonic() + 30
        while not err and time.monotonic() < deadline:
            time.sleep(0.01)
            err = capsys.readouterr().err
    assert err == "Working ...\n"


def test_a_terminal_shows_what_is_going_on_and_how_far_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Terminal(is_terminal=True).step("Working ...") as tell:
        tell("[2] of 3")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Working ... [2] of 3" in captured.err


def test_how_far_it_is_concerns_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal(is_terminal=False, patience=60).step("Working ...") as tell:
        tell("2 of 3")
    tell("3 of 3")
    assert capsys.readouterr() == ("", "")


def test_words_that_come_too_late_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal(is_terminal=True).step("Working ...") as tell:
        pass
    capsys.readouterr()
    tell("3 of 3")
    assert capsys.readouterr() == ("", "")
