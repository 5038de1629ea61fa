"""`estimate`: counts, sums and averages of the whole join from a sample of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import pyarrow as pa

from penstock.aggregates.request import EstimateRequest
from penstock.aggregates.table import estimate_table
from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.durations import DurationLike

__all__ = ["estimate"]


@overload
def estimate(
    df: DataFrame,
    *,
    by: str | Sequence[str] = ...,
    every: DurationLike | None = ...,
    window: DurationLike | None = ...,
    sum: str | Sequence[str] = ...,
    count: bool = ...,
    average: str | Sequence[str] = ...,
) -> DataFrame: ...
@overload
def estimate(
    df: pa.Table,
    *,
    by: str | Sequence[str] = ...,
    every: DurationLike | None = ...,
    window: DurationLike | None = ...,
    sum: str | Sequence[str] = ...,
    count: bool = ...,
    average: str | Sequence[str] = ...,
) -> pa.Table: ...
def estimate(
    df: DataFrame | pa.Table,
    *,
    by: str | Sequence[str] = (),
    every: DurationLike | None = None,
    window: DurationLike | None = None,
    sum: str | Sequence[str] = (),  # noqa: A002  # what SQL calls it
    count: bool = True,
    average: str | Sequence[str] = (),
) -> DataFrame | pa.Table:
    """Estimate counts, sums and averages over all results of a join, from a sample of them.

    Parameters
    ----------
    df
        The result of a join with ``goal=Sample()``: a frame of Spark, bounded or streaming, or the
        Arrow table of a replay, for which no Spark is needed. It may have been filtered, or have
        more columns. Each row has its ``weight`` and its ``cluster``.
    by
        Columns to group by, such as ``"bids.site"``; none for one group.
    every
        Also group by windows of ``time``, one of which begins this often: ``"10 minutes"`` if it is
        a timestamp, a number if it is a number. A streaming frame needs it.
    window
        The length of the windows, `every` or more. With ``every="10 minutes", window="1 hour"``
        they slide: there are six at a time, and a result is in each of them. By default it is
        `every`, and each result is in one window.
    sum, average
        Columns of numbers, such as ``"bids.price"``. Nulls are ignored, as in SQL.
    count
        Whether to estimate the number of results.

    Returns
    -------
    DataFrame or Table
        Of the kind that was given. A row for each group and window: ``window``, the columns of
        `by`, then ``count``, ``count_low`` and ``count_high``, ``sum_price``, ``sum_price_low``,
        and so on; ``clusters``, the number of sampled clusters; and ``note``. From low to high is a
        95% confidence interval. If the sample is too small for one, both are null and ``note``
        gives the reason; see docs/estimation.md.

    Raises
    ------
    SpecificationError
        If there is nothing to estimate, or an argument is of the wrong type.
    SchemaError
        If the frame is not a sampled join, or lacks a column.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.estimate(  # doctest: +SKIP
    ...     join.stream(frames), by="bids.site", every="10 minutes", sum="bids.price"
    ... )

    The results of the last ten units of time, every five, without Spark:

    >>> import pyarrow as pa
    >>> rows = pa.table({"time": range(20), "id": [i % 4 for i in range(20)]})
    >>> each = ps.Stream(time="time", window=3)
    >>> join = ps.Join(
    ...     streams={"a": each, "b": each},
    ...     on=ps.Equal("id"),
    ...     goal=ps.Sample(),
    ...     budget=ps.Budget(rows=100),
    ... )
    >>> sampled = join.replay({"a": rows, "b": rows}).result
    >>> found = ps.estimate(sampled, every=5, window=10)
    >>> [(each["window"]["end"], each["count"]) for each in found.to_pylist()]
    [(5, 5.0), (10, 10.0), (15, 10.0), (20, 10.0), (25, 5.0)]
    """
    request = EstimateRequest(
        by=_names(by, "by"),
        every=every,
        window=window,
        sums=_names(sum, "sum"),
        averages=_names(average, "average"),
        count=count,
    )
    if isinstance(df, pa.Table):
        return estimate_table(df, request)

    from penstock.spark import estimate as spark  # noqa: PLC0415  # only frames need Spark

    return spark.estimate(df, request)


def _names(given: object, what: str) -> tuple[str, ...]:
    """Return names of columns as a tuple, also if one name is given alone."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(each, str) for each in names):
        raise SpecificationError(
            must(
                what,
                "the name of a column, or a list of names",
                given,
                f'write {what}="bids.price"',
            )
        )
    return tuple(names)
