"""Numba's compiler without work that the kernels have no use for: they compile a third faster.

Numba treats a function that others call as it treats one that Python calls: it optimises it as far
as it can, and makes machine code of it. A function that is only compiled into kernels needs
neither. Each kernel that it becomes a part of is optimised as a whole.

And Numba looks up each attribute, operator and call by the options of the function that it is in.
To compare two sets of options it makes dictionaries of all options there are, which took a sixth of
the time.

Both reach into Numba, so they apply only to versions they were tried with. With others Numba
compiles in its own way: the code is as good, and it takes longer.
"""

from __future__ import annotations

from typing import Any, Final

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

_TRIED: Final = ((0, 68),)

_OfNumba = Any  # Numba has no types


class _Flags(Flags):
    """Options that are compared by those that were set."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values

    def __hash__(self) -> int:
        return len(self._values)


class _Environments:
    """Those of parts: a part has none of its own, as its code runs nowhere but in a kernel."""

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Do nothing: there is no machine code that could ask for it."""


class _Part(JITCodeLibrary):
    """Code that is linked into kernels, and is neither optimised nor run by itself."""

    @property
    def codegen(self) -> type[_Environments]:
        """What is told of the part's environment once it is compiled."""
        return _Environments

    def get_pointer_to_function(self, _name: str) -> int:
        """Return 0: Python cannot call it."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Leave that to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _ForKernels(Compiler):
    """Compiles a function that Python calls."""

    def _compile_core(self) -> _OfNumba:
        self.state.flags = _Flags(self.state.flags)
        return super()._compile_core()


class _ForParts(_ForKernels):
    """Compiles a function that only kernels call."""

    def define_pipelines(self) -> _OfNumba:
        """Return the steps of the compilation, and have them fill another kind of library."""
        self.state.library = _Part(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


_IS_TRIED: Final = numba.version_info.short in _TRIED

FOR_KERNELS: Final[Any] = _ForKernels if _IS_TRIED else None
"""The compiler of functions that Python calls; None for Numba's own."""
FOR_PARTS: Final[Any] = _ForParts if _IS_TRIED else None
"""The compiler of functions that only kernels call; None for Numba's own."""
