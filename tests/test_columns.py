from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.columns import as_numpy, decoded, plain

TEXT = pa.array(["x", None, "y", "x"])
ENCODED = {
    "plain": TEXT,
    "dictionary": TEXT.dictionary_encode(),
    "run-end": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], TEXT),
    "extension": pa.ExtensionArray.from_storage(pa.json_(), TEXT),
    "extension of dictionary": pa.ExtensionArray.from_storage(
        pa.opaque(pa.dictionary(pa.int32(), pa.string()), "t", "v"), TEXT.dictionary_encode()
    ),
}


@pytest.mark.parametrize("array", ENCODED.values(), ids=ENCODED)
def test_any_encoding_is_decoded_to_the_values(array: pa.Array) -> None:
    assert plain(array.type) == pa.string()
    assert decoded(array).equals(TEXT)
    assert decoded(array.slice(1, 2)).equals(TEXT.slice(1, 2))
    assert decoded(pa.chunked_array([array])).equals(TEXT)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.string(), ["a", "bc"]),
        (pa.binary(), [b"a", b"bc"]),
        (pa.int8(), [1, 2]),
        (pa.list_(pa.string()), [["a"], ["bc"]]),
    ],
)
def test_chunks_become_one_array(type_: pa.DataType, values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values[:1], type_), pa.array(values[1:], type_)])
    assert isinstance(decoded(column), pa.Array)
    assert decoded(column).to_pylist() == values
    assert decoded(column.slice(0, 0)).to_pylist() == []
    assert decoded(pa.chunked_array([], type_)).to_pylist() == []


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint32(), pa.float16(), pa.float64()])
def test_numbers_become_an_array_with_zeros_for_nulls(type_: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(np.array([7, 1], type_.to_pandas_dtype()))])
    column = pa.chunked_array([column.chunk(0), pa.nulls(1, type_)])
    values, good = as_numpy(column.slice(1), np.dtype(np.int64))
    assert values.dtype == np.int64
    assert values.tolist() == [1, 0]
    assert good.tolist() == [True, False]


def test_booleans_and_columns_without_any_value_are_numbers_too() -> None:
    values, good = as_numpy(pa.array([True, None, False]), np.dtype(np.int64))
    assert (values.tolist(), good.tolist()) == ([1, 0, 0], [True, False, True])
    values, good = as_numpy(pa.nulls(2), np.dtype(np.float64))
    assert (values.tolist(), good.tolist()) == ([0.0, 0.0], [False, False])
