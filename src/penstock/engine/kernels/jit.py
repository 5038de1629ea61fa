"""How the kernels are compiled."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

from penstock.engine.kernels.compiler import FOR_KERNELS, FOR_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")

wide = cast("Callable[[Any], int]", np.int64)
"""Converts a whole number to 64 bits, as whole numbers are inside the kernels."""
NO: Final = cast("bool", np.bool_(False))  # noqa: FBT003
"""False, as an argument of an inner function."""

INLINED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "error_model": "numpy",
        "forceinline": True,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
        "_nrt": False,
        "pipeline_class": FOR_PARTS,
    }
)
"""Options of functions that are compiled into each kernel that calls them."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, once per machine: the code is cached on disk.

    Without Numba's reference counting (``_nrt``): the kernels allocate nothing and keep nothing.
    With it, every call of an inner step would count references to each array argument, atomically,
    which made the loop three times slower. Division follows NumPy: it does not check for zero, as
    the divisors are settings and never zero.
    """
    return njit(cache=True, error_model="numpy", _nrt=False, pipeline_class=FOR_KERNELS)(function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into each kernel that calls it.

    Inlining is forced: a call passes a dozen arrays, which took as long as all the rest
    (docs/benchmarks.md). Without wrappers: only kernels call it, and a wrapper for two dozen
    arrays takes as long to compile as the function itself.

    Pass whole numbers through `wide`, also literals and elements of arrays of smaller numbers.
    Otherwise the function is compiled again for each type.
    """
    return njit(**INLINED)(function)


def rare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a step that few rows need: called, not inlined, so that the loop stays small."""
    return njit(
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        _nrt=False,
        pipeline_class=FOR_PARTS,
    )(function)
