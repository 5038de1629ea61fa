"""The README's examples, run as they stand: what they print is what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

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


def test_every_page_that_the_readme_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
