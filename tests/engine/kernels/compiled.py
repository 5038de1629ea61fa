"""Inner functions of the kernels as functions that a test can call."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from penstock.engine.kernels.jit import kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return an inner function as one that Python can call; with the JIT off it is one already."""
    return kernel(function.py_func) if hasattr(function, "py_func") else function


@cache
def all_of(module: str) -> Any:  # noqa: ANN401  # as dynamic as the module itself
    """Return the content of a module of the engine, its functions as ones that can be called."""
    found = vars(import_module(f"penstock.engine.{module}"))
    return SimpleNamespace(
        **{name: compiled(each) if callable(each) else each for name, each in found.items()}
    )
