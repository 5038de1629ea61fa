"""How long work says what it does: a step is run inside a context, which reports progress."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Step: TypeAlias = Callable[[str], AbstractContextManager[Callable[[str], object]]]
    """Called with words on a step that is about to run; returns the context to run it in.

    The context returns a function to be called with words on how far the step is.
    """

__all__ = ["silent_step"]


def silent_step(words: str) -> AbstractContextManager[Callable[[str], object]]:
    """Return a context that reports nothing."""
    del words
    return nullcontext(len)
