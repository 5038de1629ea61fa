"""Steps of the compiled loop that differ by the kind of retention, or of predicate.

The loop is compiled for each kind by itself, so that it has neither the code nor the arrays of the
others (docs/benchmarks.md says what that is worth). Which function is called follows from the type
of an argument: that of `Memory.retained`, or of what a probe works on.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from numba.core import cgutils, types
from numba.extending import intrinsic, overload, overload_attribute

from penstock.engine.kernels.jit import INLINED
from penstock.engine.kernels.layout import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")

_OfNumba = Any  # Numba has no types

_RETAINED = Memory._fields.index("retained")


def by_retention(
    steps: Mapping[type, Callable[..., Any]],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a step that some kinds of retention take in their own way.

    Parameters
    ----------
    steps
        For types of `Memory.retained` the function to call, with the arguments of the decorated
        one. For other types that is called itself.
    """
    return _by_type(
        steps,
        lambda arguments: type(arguments[0].retained),
        lambda types: getattr(types[0].types[_RETAINED], "instance_class", tuple),
    )


def by_predicate(
    steps: Mapping[type, Callable[..., Any]],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a step that depends on how rows are found.

    Parameters
    ----------
    steps
        For types of the second argument, what a probe works on, the function to call; for other
        types the decorated one is called itself.
    """
    return _by_type(
        steps, lambda arguments: type(arguments[1]), lambda types: types[1].instance_class
    )


def _by_type(
    steps: Mapping[type, Callable[..., Any]],
    type_of: Callable[[Any], type],
    type_of_numba: Callable[[Any], type],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def decorate(common: Callable[P, R]) -> Callable[P, R]:
        # Where the JIT is off.
        @wraps(common)
        def chosen(*args: P.args, **named: P.kwargs) -> R:
            return steps.get(type_of(args), common)(*args, **named)

        def compiled(*types: object) -> Callable[..., R]:
            step = steps.get(type_of_numba(types), common)
            return cast("Callable[..., R]", getattr(step, "py_func", step))

        overload(chosen, jit_options=cast("Any", dict(INLINED)), strict=False)(compiled)
        return chosen

    return decorate


@intrinsic
def _without_retained(_: object, memory: _OfNumba) -> tuple[_OfNumba, Callable[..., _OfNumba]]:
    nothing = types.Tuple(())

    def generate(
        context: _OfNumba, builder: _OfNumba, signature: _OfNumba, arguments: _OfNumba
    ) -> _OfNumba:
        parts = cgutils.unpack_tuple(builder, arguments[0])
        parts[_RETAINED] = context.make_tuple(builder, nothing, ())
        return context.make_tuple(builder, signature.return_type, parts)

    kinds = list(memory.types)
    kinds[_RETAINED] = nothing
    return types.NamedTuple(kinds, memory.instance_class)(memory), generate


@cast("Any", overload_attribute)(
    types.NamedTuple, "of_any_kind", jit_options=dict(INLINED), strict=False
)
def _of_any_kind(memory: _OfNumba) -> Callable[..., _OfNumba] | None:
    """Compile `Memory.of_any_kind`."""

    def compiled(memory: Memory) -> Memory:
        return _without_retained(memory)  # type: ignore[call-arg]  # Numba gives the first

    return compiled if memory.instance_class is Memory else None
