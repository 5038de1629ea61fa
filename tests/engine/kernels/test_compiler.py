"""How kernels are compiled: each step once, and with other versions of Numba in its own way."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numba
import pytest

from penstock.engine.kernels import compiler
from penstock.engine.kernels.jit import inner
from penstock.strategies import LowestRating, Oldest
from tests.conftest import JIT_IS_OFF
from tests.engine.kernels.memories import make_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.kernels.layout import Memory


def _free(memory: Memory) -> int:
    free: int = memory.rule[0]["free_row"] - 5
    return free


def _free_of(free: Callable[[Memory], int]) -> Callable[[Memory], int]:
    def kernel(memory: Memory) -> int:
        return free(memory.of_any_kind) * 2

    return kernel


@pytest.mark.nojit
def test_a_step_that_knows_nothing_of_retention_is_compiled_once() -> None:
    free: Any = inner(_free)
    kernel = numba.njit(_nrt=False, pipeline_class=compiler.FOR_KERNELS)(_free_of(free))
    memories = [make_store(order=order).memory for order in (Oldest(), LowestRating())]
    assert type(memories[0].retained) is not type(memories[1].retained)
    for number, memory in enumerate(memories):
        memory.rule["free_row"] = number
        assert kernel(memory) == 2 * (number - 5)
    if not JIT_IS_OFF:
        assert len(kernel.signatures) == 2  # type: ignore[attr-defined]  # of Numba's
        assert len(free.signatures) == 1


@pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled")
def test_numbas_own_way_gives_the_same() -> None:
    kernel = numba.njit(_nrt=False)(_free_of(numba.njit(_nrt=False)(_free)))
    memory = make_store(order=Oldest()).memory
    memory.rule["free_row"] = 7
    assert kernel(memory) == 4


@pytest.mark.parametrize(("version", "is_tried"), [((0, 68), True), ((0, 61), False)])
def test_other_versions_of_numba_compile_in_their_own_way(
    version: tuple[int, int], is_tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba, "version_info", SimpleNamespace(short=version))
    spec = spec_from_file_location("another_compiler", str(compiler.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.FOR_KERNELS is not None) == is_tried
    assert (module.FOR_PARTS is not None) == is_tried
