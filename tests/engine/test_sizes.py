from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.engine.sizes import row_sizes
from tests.engine.arrow_types import ARRAYS, CARRIED


def sizes_of(array: pa.Array | pa.ChunkedArray) -> list[int]:
    return [int(size) for size in row_sizes(pa.table({"c": array}))]


@pytest.mark.parametrize("array", CARRIED.values(), ids=CARRIED)
def test_sizes_add_up_to_about_the_bytes_of_the_array(array: pa.Array) -> None:
    many = pa.concat_arrays([array] * 50)
    total = sum(sizes_of(many))
    # At most a byte for each null bit, and an offset for each list or text, which Arrow shares.
    parts = 1 + str(array.type).count("<") + str(array.type).count(":")
    assert 0.5 * many.nbytes <= total <= many.nbytes + 10 * parts * len(many)


@pytest.mark.parametrize("array", [a for n, a in ARRAYS.items() if n not in {"list_view", "union"}])
def test_slices_are_as_large_as_copies(array: pa.Array) -> None:
    whole = sizes_of(array)
    assert whole == sizes_of(pa.chunked_array([array.slice(0, 1), array.slice(1)]))
    assert sizes_of(array.slice(1, 2)) == whole[1:3]
    assert sizes_of(array.slice(0, 0)) == []


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["", "four", None]), [5, 9, 5]),
        (pa.array([b"", b"four", None], pa.large_binary()), [5, 9, 5]),
        (pa.array([[], [1], [1, 2], None]), [5, 14, 23, 5]),
        (pa.array([["a", "bcd"], [""]]), [5 + 6 + 8, 5 + 5]),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), [19, 19]),
        (pa.array([{"a": 1, "b": "x"}]), [1 + 9 + 6]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), [5 + 1 + 6 + 9]),
        (pa.array([True, None]), [2, 2]),
        (pa.nulls(2), [1, 1]),
    ],
)
def test_a_row_takes_its_values_its_offsets_and_a_byte_for_being_null(
    array: pa.Array, expected: list[int]
) -> None:
    assert sizes_of(array) == expected


def test_long_text_counts_in_every_encoding() -> None:
    text = pa.array(["x" * 1000, "y"])
    for array in (text, text.dictionary_encode(), text.cast(pa.large_string())):
        assert sizes_of(array)[0] >= 1000, array.type
