"""docs/extending.md: its strategies are the files of the examples, and keep every promise."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.strategies.every_second import EverySecond
from examples.strategies.longest_key import LongestKey
from examples.strategies.newer_half import NewerHalf
from penstock.strategies import Needs
from tests.conformance.checks import conforms

if TYPE_CHECKING:
    from penstock.strategies import Strategy

ROOT = Path(__file__).parents[1]
FILES = ("every_second", "newer_half", "longest_key")


def test_the_page_shows_the_files() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.DOTALL)
    assert shown == [(ROOT / f"examples/strategies/{name}.py").read_text() for name in FILES]


def test_the_page_has_all_needs() -> None:
    page = (ROOT / "docs/extending.md").read_text()
    listed = re.findall(r"^\| `(\w+)=[^`]+` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(each.name for each in fields(Needs))


@pytest.mark.parametrize(
    ("strategy", "workload"),
    [
        (EverySecond("orders"), "equal of two"),
        (EverySecond("b"), "equal of three"),
        (EverySecond("south"), "within"),
        (NewerHalf(), "equal of two"),
        (NewerHalf(), "equal of three"),
        (NewerHalf(), "within"),
        (LongestKey("item"), "equal of two"),
        (LongestKey("site"), "equal of three"),
    ],
    ids=str,
)
def test_each_conforms(strategy: Strategy, workload: str) -> None:
    conforms(strategy, [workload])
