"""Columns of `Similar` as matrices of floats: one vector for each row that has a usable one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.columns import decoded, plain
from penstock.engine.kernels.distances import lengths_of
from penstock.errors import SchemaError, SpecificationError, must

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.engine.arrays import Array, DType, Floats, Integers, Mask
    from penstock.predicates import Similar

# Squares of lengths within these bounds are neither infinite nor without precision.
_SHORTEST, _LONGEST = 1e-140, 1e140
# 1 less the cosine of opposite vectors, which is rounded to a little more or less; and of vectors
# in the same direction, at most: their lengths are rounded.
_OPPOSITE, _SAME = 2.0, 1e-24
# Beside a vector: its length and its time. All of it once more, as arrays have room to grow.
_BESIDE = 16
# Vectors that are gathered at a time, as the places of their numbers take more room than they do.
_AT_A_TIME = 4096


@dataclass(frozen=True)
class VectorScale:
    """How vectors are read and compared.

    Attributes
    ----------
    dtype
        Type of a number: float32 if all streams have that, else float64.
    by_angle
        Whether directions are compared, not places.
    limit
        Of the square of the distance, or of 1 less the cosine: the largest that joins.
    dimensions
        Numbers in a vector; None if the first micro-batch decides.
    """

    dtype: DType
    by_angle: bool
    limit: float
    dimensions: int | None

    def row_bytes(self, dimensions: int | None) -> int:
        """Return the bytes that the vector of a row in memory takes beside its payload."""
        return 2 * ((dimensions or 0) * self.dtype.itemsize + _BESIDE)

    def dimensions_of(self, columns: Iterable[pa.ChunkedArray]) -> int | None:
        """Return the dimensions that are known, or those of most rows; None if there are none.

        Of all columns together. Of two that are as common, the smaller.
        """
        if self.dimensions is not None:
            return self.dimensions
        arrays = [decoded(column) for column in columns]
        each = [_bounds(array)[1][_is_valid(array)] for array in arrays]
        sizes = np.concatenate([np.zeros(0, np.int64), *each])
        sizes, counts = np.unique(sizes[sizes > 0], return_counts=True)
        return int(sizes[counts.argmax()]) if sizes.size else None

    def read(self, column: pa.ChunkedArray, dimensions: int | None) -> tuple[Array, Mask]:
        """Return a column's vectors, and which can match.

        Those of other dimensions, or with a null, a NaN or an infinity in them, cannot, nor can
        those without a direction where that is compared. They are zero in the matrix.
        """
        array = decoded(column)
        width = dimensions or 0
        starts, sizes = _bounds(array)
        good = _is_valid(array) & (sizes == width) & (width > 0)
        values = decoded(array.values).to_numpy(zero_copy_only=False)  # a null is NaN
        if good.all() and len(array):  # one after the other
            end = starts[0] + width * len(array)
            vectors = values[starts[0] : end].reshape(-1, width).astype(self.dtype)
        else:
            vectors = np.zeros((len(array), width), self.dtype)
            chosen = np.flatnonzero(good)
            for at in range(0, chosen.size, _AT_A_TIME):
                some = chosen[at : at + _AT_A_TIME]
                vectors[some] = values[starts[some, None] + np.arange(width)]
        good &= np.isfinite(vectors).all(axis=1)
        vectors[~good] = 0
        if self.by_angle:
            lengths = self.lengths(vectors)
            good &= (lengths >= _SHORTEST) & (lengths <= _LONGEST)
        return vectors, good

    def lengths(self, vectors: Array) -> Floats:
        """Return the length of each vector."""
        lengths = np.zeros(len(vectors))
        lengths_of(np.ascontiguousarray(vectors, self.dtype), lengths)
        return lengths


def common_vectors(
    predicate: Similar, columns: Mapping[str, tuple[str, pa.DataType]]
) -> VectorScale:
    """Return how all streams' columns are read.

    Raises
    ------
    SchemaError
        If a column has no lists of floats, or lists of another fixed size.
    """
    dtype: DType = np.dtype(np.float32)
    dimensions = predicate.dimensions
    for stream, (column, type_) in columns.items():
        kind = plain(type_)
        label = f'column "{column}" of stream "{stream}"'
        item = plain(kind.value_type) if _is_list(kind) else None
        if item not in (pa.float32(), pa.float64()):
            hint = "cast it to a list of float or double"
            raise SchemaError(must(label, "lists of floats to be compared", str(type_), hint))
        if item == pa.float64():
            dtype = np.dtype(np.float64)
        if pa.types.is_fixed_size_list(kind):
            if dimensions not in (None, kind.list_size):
                hint = "vectors of different dimensions have no distance"
                requirement = f"of vectors of {dimensions} dimensions"
                raise SchemaError(must(label, requirement, str(type_), hint))
            dimensions = kind.list_size
    by_angle = predicate.metric == "cosine"
    distance = float(predicate.distance)
    limit = _of_angles(distance) if by_angle else _square(distance)
    return VectorScale(dtype, by_angle, limit, dimensions)


def _of_angles(distance: float) -> float:
    """Return the limit of 1 less the cosine as it is computed.

    >>> _of_angles(0), _of_angles(0.5), _of_angles(2)
    (1e-24, 0.5, 3.0)
    """
    return 3.0 if distance >= _OPPOSITE else max(distance, _SAME)


def check_dimensions(scale: VectorScale | None, shards: int) -> None:
    """Raise if shards that see only their own rows would have to know how long vectors are."""
    if scale is None or scale.dimensions is not None or shards == 1:
        return
    hint = (
        "add dimensions=..., as each shard sees only some of the rows, and Spark does not tell the "
        "size of lists"
    )
    label = f"dimensions of Similar over {shards} shards on Spark"
    raise SpecificationError(must(label, "how many numbers a vector has", None, hint))


def _square(distance: float) -> float:
    """Return the greatest number whose square root is not above a distance.

    >>> math.sqrt(_square(0.1)) <= 0.1 < math.sqrt(math.nextafter(_square(0.1), 1))
    True
    """
    square = distance * distance
    while math.sqrt(square) > distance:
        square = math.nextafter(square, 0.0)
    while square < math.inf and math.sqrt(math.nextafter(square, math.inf)) <= distance:
        square = math.nextafter(square, math.inf)
    return square


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_valid(array: pa.Array) -> Mask:
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _bounds(array: pa.Array) -> tuple[Integers, Integers]:
    """Return where each list begins in the values of an array, and its size."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = (array.offset + np.arange(len(array))) * size
        return starts, np.full(len(array), size)
    offsets = array.offsets.to_numpy().astype(np.int64)
    return offsets[:-1], np.diff(offsets)
