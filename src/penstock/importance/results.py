"""The importance of a result, from the importance of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.errors import SpecificationError, must
from penstock.importance.definitions import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["RESULTS", "Floats", "check_result", "result_importance"]

Floats: TypeAlias = npt.NDArray[np.float64]

_REDUCTIONS: dict[str, Callable[[Sequence[Floats]], Floats]] = {
    "min": np.minimum.reduce,
    "product": np.multiply.reduce,
    "sum": np.add.reduce,
    "max": np.maximum.reduce,
}
RESULTS = tuple(_REDUCTIONS)


def check_result(kind: object, owner: str) -> None:
    """Raise if a value does not name a way to compute the importance of a result.

    Raises
    ------
    SpecificationError
        If it is none of "min", "product", "sum" and "max".
    """
    if not isinstance(kind, str) or kind not in RESULTS:
        known = ", ".join(f'"{each}"' for each in RESULTS)
        hint = "leave it out for the importance of the least important member"
        raise SpecificationError(must(owner, f"one of {known}", kind, hint))


def result_importance(kind: str, members: Sequence[Floats]) -> Floats:
    """Compute the importance of results, at most 1e100.

    Parameters
    ----------
    kind
        How it is computed: "min", "product", "sum" or "max".
    members
        For each stream the importance of the results' members of that stream: arrays of one
        length, in one order.

    References
    ----------
    `kulkarni08` 3.3, equation 2: the minimum. The paper says that other ways are possible; the
    other three are ours.

    Examples
    --------
    >>> import numpy as np
    >>> ours, theirs = np.array([90.0, 40.0]), np.array([10.0, 50.0])
    >>> result_importance("min", [ours, theirs])
    array([10., 40.])
    >>> result_importance("sum", [ours, theirs])
    array([100.,  90.])
    """
    check_result(kind, "importance of a result")
    with np.errstate(over="ignore"):
        importance = np.asarray(_REDUCTIONS[kind](members), dtype=np.float64)
    return np.minimum(importance, LARGEST)
