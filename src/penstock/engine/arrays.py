"""Names for the kinds of arrays that the engine works on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# Times and values are int64 or float64, as the columns are; records are structured.
Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]

Integers: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
