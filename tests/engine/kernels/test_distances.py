"""Kernels of distances against NumPy, and what is proposed against what is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.engine.kernels.distances import Block, Vectors, collect, lengths_of
from penstock.engine.kernels.layout import NOTHING

if TYPE_CHECKING:
    import numpy.typing as npt

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths(dtype: type) -> None:
    vectors: npt.NDArray[Any] = np.random.default_rng(1).normal(size=(20, 9)).astype(dtype)
    lengths = np.zeros(20)
    lengths_of(vectors, lengths)
    assert lengths == pytest.approx(np.linalg.norm(vectors.astype(np.float64), axis=1))


@pytest.mark.parametrize("columns", [5, 64, 65, 130])
@pytest.mark.parametrize("by_angle", [False, True])
def test_collect_notes_all_that_are_near_and_have_a_row(columns: int, *, by_angle: bool) -> None:
    rng = np.random.default_rng(columns)
    vectors = rng.normal(size=(8 + columns, 3))
    lengths = np.linalg.norm(vectors, axis=1)
    queue = np.arange(8 + columns, dtype=np.int32)
    queue[8::5] = NOTHING
    of, found = np.arange(8), np.zeros((8 * columns, 2), np.int64)
    limit = 0.3 if by_angle else 1.1
    products = vectors[:8] @ vectors[8:].T
    if by_angle:
        near = 1 - products / np.outer(lengths[:8], lengths[8:]) <= limit
        least, reduction = np.full(8, -np.inf), np.zeros(columns)  # all are proposed
    else:
        near = ((vectors[:8, None] - vectors[8:]) ** 2).sum(axis=2) <= limit
        least, reduction = (lengths[:8] ** 2 - limit) / 2 - 1e-9, lengths[8:] ** 2 / 2
    near[:, queue[8:] == NOTHING] = False
    known = Vectors(vectors, lengths, np.array([float(by_angle), limit]))
    block = Block(products, least, reduction, of)
    noted = collect(known, block, queue, (100, 8), found, 0)
    assert found[:noted].tolist() == [[100 + i, 8 + j] for i, j in np.argwhere(near).tolist()]
    assert collect(known, block, queue, (100, 8), found[: noted - 1], 0) == -1
    # What is not proposed is not looked at.
    none = block._replace(least=np.full(8, np.inf))
    assert collect(known, none, queue, (100, 8), found, 0) == 0
    # A product that is no number may be near.
    unknown = block._replace(products=np.full_like(products, np.nan))
    assert collect(known, unknown, queue, (100, 8), found, 0) == noted
