"""The kinds of arrays that the engine works on, and how it names those that are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

# Times and values are int64 or float64, as the columns are; records are structured.
Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]

Integers: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]


def below(saved: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return what has names that begin with a prefix, by the rest of their names.

    >>> list(below({"rater.rows": np.zeros(1), "limit": np.ones(1)}, "rater."))
    ['rows']
    """
    return {n.removeprefix(prefix): a for n, a in saved.items() if n.startswith(prefix)}
