"""How many bytes each row of a table takes, for budgets in bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.columns import decoded

Sizes = npt.NDArray[np.int64]


def row_sizes(table: pa.Table) -> Sizes:
    """Give the bytes of each row: its values and offsets, and a bit's byte for being null.

    >>> row_sizes(pa.table({"a": [1, 2], "b": ["x", "four"]})).tolist()
    [15, 18]
    """
    sizes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        sizes += _sizes(decoded(column))
    return sizes


def _sizes(array: pa.Array) -> Sizes:
    if isinstance(array, (pa.ExtensionArray, pa.DictionaryArray, pa.RunEndEncodedArray)):
        array = decoded(array)
    kind = array.type
    types = pa.types
    if types.is_struct(kind):
        return sum((_sizes(child) for child in array.flatten()), np.ones(len(array), np.int64))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        ends = np.zeros(len(array.values) + 1, np.int64)
        np.cumsum(_sizes(array.values), out=ends[1:])
        offsets = array.offsets.to_numpy()
        return 5 + ends[offsets[1:]] - ends[offsets[:-1]]
    if types.is_fixed_size_list(kind):
        each = _sizes(array.values)[array.offset * kind.list_size :][: len(array) * kind.list_size]
        return 1 + each.reshape(len(array), kind.list_size).sum(axis=1)
    try:
        return np.full(len(array), 1 + (kind.bit_width + 7) // 8, np.int64)
    except ValueError:  # no fixed width
        pass
    if types.is_null(kind):
        return np.ones(len(array), np.int64)
    try:
        lengths = pc.binary_length(array)
    except pa.ArrowNotImplementedError:  # unions and views of lists: the share of the whole
        return np.full(len(array), 1 + array.nbytes // max(1, len(array)), np.int64)
    return 5 + as_integers(lengths)


def as_integers(lengths: pa.Array) -> Sizes:
    """Give a column of lengths as numbers, 0 for null."""
    return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
