"""Predicates of vectors: `Similar`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.predicates.arguments import Number, at_least_zero, one_column_each, quoted
from penstock.predicates.base import Predicate

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Similar"]

_METRICS = ("euclidean", "cosine")


@dataclass(frozen=True, init=False, repr=False)
class Similar(Predicate):
    """A largest distance between any two of the vectors: the similarity join.

    Parameters
    ----------
    distance
        Largest distance between any two of the vectors; finite, zero or more.
    metric
        ``"euclidean"``: the length of the difference. ``"cosine"``: 1 less the cosine of the angle.
    dimensions
        Numbers in a vector. Left out: of lists of a fixed size that size, else as in most rows of
        the first micro-batch. Spark has no lists of a fixed size: there it is needed with more
        than one shard.
    **columns
        For each stream its column, of lists of floats. None can be called as a parameter is.

    Examples
    --------
    >>> Similar(0.2, metric="cosine", news="embedding", posts="embedding")
    Similar(0.2, metric='cosine', news='embedding', posts='embedding')
    """

    has_index: ClassVar[bool] = False
    distance: Number
    metric: str
    dimensions: int | None

    def __init__(
        self,
        distance: Number,
        /,
        *,
        metric: str = "euclidean",
        dimensions: int | None = None,
        **columns: str,
    ) -> None:
        if metric not in _METRICS:
            hint = did_you_mean(str(metric), _METRICS, "use one of these, as a string")
            requirement = f"one of {quoted(_METRICS)}"
            raise SpecificationError(must("metric of Similar", requirement, metric, hint))
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            wanted, hint = "a whole number of 1 or more", "give how many numbers a vector has"
            raise SpecificationError(must("dimensions of Similar", wanted, dimensions, hint))
        object.__setattr__(self, "distance", at_least_zero(distance, "Similar"))
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "dimensions", dimensions)
        object.__setattr__(self, "by_stream", one_column_each(columns, "Similar"))

    def _settings(self) -> Iterable[str]:
        yield repr(self.distance)
        yield f"metric={self.metric!r}"
        if self.dimensions is not None:
            yield f"dimensions={self.dimensions!r}"
