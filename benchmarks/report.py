"""How figures are shown: tables and targets, on a terminal or on a page."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from penstock.report.tables import Table


@dataclass(frozen=True)
class Target:
    """What was wanted, what was measured, and whether that is enough."""

    wanted: str
    seen: str
    reached: bool

    def as_text(self) -> str:
        """Return it as one line."""
        return f"{'reached' if self.reached else 'NOT reached'}: {self.wanted}: {self.seen}"


class Figures(Protocol):
    """What every benchmark returns: a frozen dataclass that can show itself."""

    def tables(self) -> tuple[Table, ...]:
        """Return the figures as tables."""
        ...

    def targets(self) -> tuple[Target, ...]:
        """Compare them with what is wanted; empty if they are for information."""
        ...


def as_text(figures: Figures) -> str:
    """Return figures as text for a terminal."""
    blocks = [table.as_text() for table in figures.tables()]
    targets = [target.as_text() for target in figures.targets()]
    return "\n\n".join([*blocks, "\n".join(targets)] if targets else blocks)


def as_markdown(figures: Figures) -> str:
    """Return figures as Markdown for a page."""
    blocks = [table.as_markdown() for table in figures.tables()]
    targets = [
        f"- Target, {target.as_text().replace('NOT reached', '**not reached**')}"
        for target in figures.targets()
    ]
    return "\n\n".join([*blocks, "\n".join(targets)] if targets else blocks)


def machine() -> str:
    """Describe the machine, without its name."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "pyarrow"))
    return (
        f"Measured on {os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
        f"{_memory()}, with Python {platform.python_version()}, {libraries}. "
        f"Everything here runs on one core."
    )


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known on this system
        return ""
    return f" with {size / 2**30:.0f} GiB of memory"
