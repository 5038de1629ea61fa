"""The README's examples, run as they stand: what they print is what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import astuple
from pathlib import Path

import pytest

from penstock.demo import scenario

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.spark
def test_the_examples_print_what_the_readme_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) == 2, "the README must have an example and one for Spark, with their output"
    names: dict[str, object] = {}
    for code, printed in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, str(README), "exec"), names)  # noqa: S102  # our own README
        assert output.getvalue() == printed


def test_the_table_of_the_demo_is_what_the_demo_finds() -> None:
    """Its joins, without Spark: whatever the micro-batches, they give the same rows."""
    tables = scenario.tables(20_000, seed=0)
    exact = scenario.join(seed=0).replay(tables, shards=2).metrics
    found = {"exact": (exact.emitted, 100.0, "100", exact.held_most)}
    for name in ("fifo", "random", "best"):
        join = scenario.join(seed=0, strategy=name, rows=exact.held_most // 10)
        own = join.replay(tables, shards=2).metrics
        assert own.recall is not None
        value, low, high = (f"{100 * each:.1f}" for each in astuple(own.recall))
        said = f"{value} ({low} to {high})"
        found[name] = (own.emitted, 100 * own.emitted / exact.emitted, said, own.held_most)
    block = re.search(r"\$ make demo\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    lines = [re.split(r" {2,}", line.strip()) for line in block[1].splitlines()]
    table = {line[0]: line[1:5] for line in lines if line[0] in found}
    assert table == {
        name: [f"{results:,}", f"{recall:.1f}", said, f"{held:,}"]
        for name, (results, recall, said, held) in found.items()
    }


def test_every_page_that_the_readme_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
