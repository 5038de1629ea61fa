from collections.abc import Callable
from typing import Any, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])

# A compiled function is called as the plain one is.
@overload
def njit(function: _F, /) -> _F: ...
@overload
def njit(
    signature: object = ...,
    /,
    *,
    boundscheck: bool = ...,
    cache: bool = ...,
    error_model: str = ...,
    forceinline: bool = ...,
    fastmath: bool | set[str] = ...,
    inline: str = ...,
    locals: dict[str, Any] = ...,
    no_cfunc_wrapper: bool = ...,
    no_cpython_wrapper: bool = ...,
    nogil: bool = ...,
    parallel: bool = ...,
    pipeline_class: Any = ...,
    _nrt: bool = ...,
) -> Callable[[_F], _F]: ...

prange = range

# Everything else that Numba exports (types, config, ...) is dynamic.
def __getattr__(name: str) -> Any: ...
