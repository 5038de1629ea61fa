"""One array of each Arrow type: a value, a null, another value, the first value again."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

_HALF, _TWO = Decimal("1.50"), Decimal("-2.00")
_TEXT = pa.array(["x", None, "", "x"])


def _four(one: object, other: object, type_: pa.DataType) -> pa.Array:
    return pa.array([one, None, other, one], type_)


# Types that a stream can carry: Arrow can take rows of them.
CARRIED: dict[str, pa.Array] = {
    "bool": _four(True, False, pa.bool_()),
    "int8": _four(1, -2, pa.int8()),
    "uint16": _four(1, 65535, pa.uint16()),
    "int32": _four(1, -2, pa.int32()),
    "uint64": _four(1, 2**64 - 1, pa.uint64()),
    "float16": _four(np.float16(1.5), np.float16(-2), pa.float16()),
    "float32": _four(1.5, -2, pa.float32()),
    "float64": _four(1.5, float("nan"), pa.float64()),
    "decimal32": _four(_HALF, _TWO, pa.decimal32(9, 2)),
    "decimal128": _four(_HALF, _TWO, pa.decimal128(38, 2)),
    "decimal256": _four(_HALF, _TWO, pa.decimal256(76, 2)),
    "date32": _four(1, 2, pa.date32()),
    "date64": _four(0, 86_400_000, pa.date64()),
    "time32": _four(1, 2, pa.time32("s")),
    "time64": _four(1_000, 2_000, pa.time64("ns")),
    "timestamp": _four(1_000, 2_000, pa.timestamp("ns", "UTC")),
    "duration": _four(1, 2, pa.duration("us")),
    "interval": _four((1, 2, 3), (1, 2, 4), pa.month_day_nano_interval()),
    "string": _TEXT,
    "large_string": _TEXT.cast(pa.large_string()),
    "binary": _four(b"x", b"", pa.binary()),
    "large_binary": _four(b"x", b"", pa.large_binary()),
    "fixed_size_binary": _four(b"xy", b"yz", pa.binary(2)),
    "list": _four([1, None], [], pa.list_(pa.int64())),
    "large_list": _four(["x", "yz"], [], pa.large_list(pa.string())),
    "list_view": _four([1, None], [], pa.list_view(pa.int64())),
    "fixed_size_list": _four([1, None], [1, 2], pa.list_(pa.int64(), 2)),
    "map": _four([("a", 1)], [], pa.map_(pa.string(), pa.int64())),
    "struct": _four(
        {"a": 1, "b": "x"},
        {"a": None, "b": None},
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
    ),
    "nested": _four(
        [{"a": [["x"]]}],
        [{"a": [[]]}],
        pa.list_(pa.struct([("a", pa.list_(pa.list_(pa.string())))])),
    ),
    "dictionary": _TEXT.dictionary_encode(),
    "list of dictionary": _four(["x"], ["y"], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "struct of dictionary": pa.StructArray.from_arrays([_TEXT.dictionary_encode()], ["d"]),
}

# Types that it cannot carry as they are.
OTHERS: dict[str, pa.Array] = {
    "string_view": _TEXT.cast(pa.string_view()),
    "binary_view": _four(b"x", b"", pa.binary_view()),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], _TEXT),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), _four(b"0" * 16, b"1" * 16, pa.binary(16))),
    "json": pa.ExtensionArray.from_storage(pa.json_(), _TEXT),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 0], pa.int8()),
        pa.array([0, 0, 1, 2], pa.int32()),
        [pa.array([1, 2, 1]), pa.array(["z"])],
    ),
}

ARRAYS = CARRIED | OTHERS
