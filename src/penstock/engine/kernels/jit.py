"""How the kernels are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

wide = cast("Callable[[Any], int]", np.int64)
"""Gives a whole number 64 bits, as whole numbers are inside the kernels."""
NO: Final = cast("bool", np.bool_(False))  # noqa: FBT003
"""False, for an argument of an inner function."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, once per machine: the code is kept on disk.

    Without Numba's reference counting (``_nrt``): the kernels allocate nothing and keep nothing,
    yet with it every call of an inner step would count references to each array that it is
    handed, atomically, which made the loop three times slower. Division follows NumPy: no check
    for zero each time, as the divisors are settings and never zero.
    """
    return njit(cache=True, error_model="numpy", _nrt=False)(function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into each kernel that calls it.

    Inlined by force: a call passes a dozen arrays, which took as long as all the rest
    (docs/benchmarks.md). Without wrappers: only kernels call it, and a way in from Python for two
    dozen arrays takes as long to compile as the function itself.

    Give it whole numbers as `wide` makes them, not as they come out of an array of smaller ones or
    are written in the code: it would be compiled anew for each type.
    """
    return njit(
        error_model="numpy",
        forceinline=True,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        _nrt=False,
    )(function)


def rare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a step that few tuples take: called, not inlined, so that the loop stays small."""
    return njit(error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True, _nrt=False)(
        function
    )
