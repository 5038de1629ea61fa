"""The README's example, run as it stands: what it prints is what the README says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_the_readme_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks, "the README must have an example and its output"
    for code, printed in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, str(README), "exec"), {})  # noqa: S102  # our own README
        assert output.getvalue() == printed


def test_every_page_that_the_readme_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
