"""The README's examples print what the README says, and the reference has every public name."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

import pytest

import penstock as ps
from penstock import strategies, testing
from penstock.demo import scenario

README = Path(__file__).parent.parent / "README.md"
DOCS = README.parent / "docs"


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
    """Run its joins without Spark: any cut into micro-batches gives the same rows."""
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


def test_every_name_for_a_strategy_is_in_the_reference() -> None:
    page = (DOCS / "api-strategies.md").read_text()
    listed = re.findall(r"^        - (\w+)$", page, re.MULTILINE)
    # The tables and how they are looked up: for the engine.
    inside = {"GRADES", "STRATEGIES", "WORK_STRATEGIES", "reason_for"}
    inside |= {"strategies_for", "strategies_of"}
    assert sorted(listed) == sorted(set(strategies.__all__) - inside)


@pytest.mark.parametrize(("page", "package"), [("api.md", ps), ("api-testing.md", testing)])
def test_every_public_name_is_in_the_reference(page: str, package: ModuleType) -> None:
    listed = set(re.findall(r"^::: (\S+)$", (DOCS / page).read_text(), re.MULTILINE))
    modules = {name for name, value in vars(package).items() if isinstance(value, ModuleType)}
    assert listed == {f"{package.__name__}.{name}" for name in set(package.__all__) - modules}
