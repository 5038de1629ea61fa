"""How the kernels are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function, once per machine: the code is kept on disk.

    Without Numba's reference counting (``_nrt``): the kernels allocate nothing and keep nothing,
    yet with it every call of an inner step would count references to each array that it is
    handed, atomically, which made the loop three times slower. Inlined by force: a call of an
    inner step passes a dozen arrays, which took as long again (docs/benchmarks.md). Division
    follows NumPy: no check for zero each time, as the divisors are settings and never zero.
    """
    return njit(cache=True, error_model="numpy", _nrt=False, forceinline=True)(function)


def rare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a step that few tuples take: called, not inlined, so that the loop stays small."""
    return njit(cache=True, error_model="numpy", _nrt=False)(function)
