"""`estimate`: counts, sums and averages of the whole join from a sample of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.durations import DurationLike, check_duration
from penstock.errors import SpecificationError, must

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["estimate"]


def estimate(
    df: DataFrame,
    *,
    by: str | Sequence[str] = (),
    every: DurationLike | None = None,
    sum: str | Sequence[str] = (),  # noqa: A002  # what SQL calls it
    count: bool = True,
    average: str | Sequence[str] = (),
) -> DataFrame:
    """Estimate counts, sums and averages over all results of a join, from a sample of them.

    Parameters
    ----------
    df
        The result of a join with ``goal=Sample()`` on Spark, bounded or streaming. It may have been
        filtered, or have more columns. Each row has its ``weight`` and its ``cluster``.
    by
        Columns to group by, such as ``"bids.site"``; none for one group.
    every
        Also group by windows of ``time`` of this length: ``"10 minutes"`` if it is a timestamp, a
        number if it is a number. A streaming frame needs it.
    sum, average
        Columns of numbers, such as ``"bids.price"``. Nulls are ignored, as in SQL.
    count
        Whether to estimate the number of results.

    Returns
    -------
    DataFrame
        A row for each group and window: ``window``, the columns of `by`, then ``count``,
        ``count_low`` and ``count_high``, ``sum_price``, ``sum_price_low``, and so on; ``clusters``,
        the number of sampled clusters; and ``note``. From low to high is a 95% confidence interval.
        If the sample is too small for one, both are null and ``note`` gives the reason; see
        docs/estimation.md.

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
    """
    sums, averages = _names(sum, "sum"), _names(average, "average")
    groups = _names(by, "by")
    if not isinstance(count, bool):
        raise SpecificationError(must("count", "True or False", count, "leave it out for True"))
    if not (count or sums or averages):
        raise SpecificationError(
            must(
                "count, sum or average",
                "asked for",
                "none of them",
                'write count=True, or name columns, as in sum="bids.price"',
            )
        )
    if every is not None:
        check_duration(every, "every")

    from penstock.spark import estimate as spark  # noqa: PLC0415  # only this function needs Spark

    return spark.estimate(df, by=groups, every=every, sums=sums, count=count, averages=averages)


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
