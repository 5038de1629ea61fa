"""Columns of lists as matrices, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.engine.vectors import VectorScale, common_vectors
from penstock.errors import SchemaError

FLOATS, DOUBLES = pa.list_(pa.float32()), pa.list_(pa.float64())
PAIRS, TRIPLES = pa.list_(pa.float32(), 2), pa.list_(pa.float32(), 3)


def scale_of(*types: pa.DataType, metric: str = "euclidean", **settings: int) -> VectorScale:
    columns = {f"s{i}": ("v", type_) for i, type_ in enumerate(types)}
    predicate = ps.Similar(1, metric=metric, **settings, **dict.fromkeys(columns, "v"))  # type: ignore[arg-type]
    return common_vectors(predicate, columns)


@pytest.mark.parametrize(
    ("types", "dtype", "dimensions"),
    [
        ((FLOATS, FLOATS), np.float32, None),
        ((FLOATS, DOUBLES), np.float64, None),
        ((pa.large_list(pa.float32()), PAIRS), np.float32, 2),
        ((TRIPLES, DOUBLES), np.float64, 3),
    ],
)
def test_the_scale_is_that_of_all_columns(
    types: tuple[pa.DataType, ...], dtype: object, dimensions: int | None
) -> None:
    scale = scale_of(*types)
    assert (scale.dtype.type, scale.dimensions) == (dtype, dimensions)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (
            (FLOATS, pa.float64()),
            (
                'column "v" of stream "s1" must be lists of floats to be compared; got \'double\'; '
                "cast it to a list of float or double"
            ),
        ),
        (
            (pa.list_(pa.int64()), FLOATS),
            (
                'column "v" of stream "s0" must be lists of floats to be compared; '
                "got 'list<item: int64>'; cast it to a list of float or double"
            ),
        ),
        (
            (PAIRS, TRIPLES),
            (
                'column "v" of stream "s1" must be of vectors of 2 dimensions; '
                "got 'fixed_size_list<item: float>[3]'; "
                "vectors of different dimensions have no distance"
            ),
        ),
    ],
)
def test_other_columns_are_refused(types: tuple[pa.DataType, ...], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        scale_of(*types)
    assert str(caught.value) == message


def test_dimensions_that_are_said_must_be_those_of_the_type() -> None:
    assert scale_of(PAIRS, FLOATS, dimensions=2).dimensions == 2
    with pytest.raises(SchemaError, match="of vectors of 3 dimensions"):
        scale_of(PAIRS, FLOATS, dimensions=3)


ROWS = [[1, 2], None, [3], [4, None], [5, math.nan], [6, math.inf], [7, 8], [], [0, 0]]


@pytest.mark.parametrize("type_", [FLOATS, pa.large_list(pa.float64()), DOUBLES])
@pytest.mark.parametrize("start", [0, 3])
def test_rows_without_a_usable_vector_are_known(type_: pa.DataType, start: int) -> None:
    column = pa.chunked_array([pa.array(ROWS, type_).slice(start)])
    vectors, good = scale_of(type_, type_).read(column, 2)
    whole = [True, False, False, False, False, False, True, False, True]
    assert good.tolist() == whole[start:]
    assert vectors[good].tolist() == [[1, 2], [7, 8], [0, 0]][start // 3 :]
    assert not vectors[~good].any()
    _, good = scale_of(type_, type_, metric="cosine").read(column, 2)
    assert good.tolist() == [*whole[start:-1], False]  # no direction


@pytest.mark.parametrize("start", [0, 1])
def test_lists_of_a_fixed_size_may_be_null_or_cut(start: int) -> None:
    rows = [[1, 2], None, [3, 4], [5, None]]
    column = pa.chunked_array([pa.array(rows, PAIRS).slice(start)])
    vectors, good = scale_of(PAIRS, PAIRS).read(column, 2)
    assert good.tolist() == [True, False, True, False][start:]
    assert vectors[good].tolist() == [[1, 2], [3, 4]][start:]


def test_vectors_without_gaps_are_one_block() -> None:
    column = pa.chunked_array([pa.array([[1, 2], [3, 4], [5, 6]], DOUBLES).slice(1)])
    vectors, good = scale_of(DOUBLES, DOUBLES).read(column, 2)
    assert vectors.tolist() == [[3, 4], [5, 6]]
    assert good.all()


def test_most_rows_say_how_many_dimensions_there_are() -> None:
    def dimensions(rows: list[list[float] | None]) -> int | None:
        return scale_of(FLOATS, FLOATS).dimensions_of([pa.chunked_array([pa.array(rows, FLOATS)])])

    assert dimensions([[1], [1, 2], None, [3, 4]]) == 2
    assert dimensions([[1, 2], [1]]) == 1
    assert dimensions([None, []]) is None
    assert dimensions([]) is None
    assert scale_of(FLOATS, FLOATS, dimensions=7).dimensions_of([pa.chunked_array([[1.0]])]) == 7


@pytest.mark.parametrize("distance", [0.1, 1.0, 3.3, 1e-170, 1e200, 0, 5e-324, 2**0.5])
def test_the_limit_is_the_last_whose_root_is_within_the_distance(distance: float) -> None:
    columns = {"a": ("v", FLOATS), "b": ("v", FLOATS)}
    limit = common_vectors(ps.Similar(distance, a="v", b="v"), columns).limit
    assert math.sqrt(limit) <= distance < math.sqrt(math.nextafter(limit, math.inf))
