# ruff: noqa: INP001  # a setting of the site, not a package
"""Put examples of short docstrings under a heading, for the reference pages.

A docstring may end with a doctest that has no "Examples" heading. Markdown would take its ``>>>``
for quotations.
"""

from __future__ import annotations

import re

import griffe


class DoctestSections(griffe.Extension):
    """Add the heading "Examples" where a docstring has a doctest and no such heading."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:  # noqa: ARG002  # griffe's
        """Change the docstring of one object."""
        if obj.docstring is not None and "Examples\n---" not in obj.docstring.value:
            obj.docstring.value = re.sub(
                r"^>>>", "Examples\n--------\n>>>", obj.docstring.value, count=1, flags=re.MULTILINE
            )
