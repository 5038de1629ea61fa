"""`estimate`: totals of the whole join from a sample of its results."""

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
        The result of a join with ``goal=Sample()``, on Spark, bounded or streaming; or what filters
        and further columns have made of it. Each row has its ``weight`` and its ``cluster``.
    by
        Columns to group by, such as ``"bids.site"``; none for one group.
    every
        Length of the windows of ``time`` to group by as well: ``"10 minutes"`` where it is a
        timestamp, a number where it is one. A streaming frame needs it.
    sum, average
        Columns of numbers, such as ``"bids.price"``. Nulls are left out, as in SQL.
    count
        Whether the number of results is wanted.

    Returns
    -------
    DataFrame
        A row for each group and window: ``window``, the columns of `by`, then ``count``,
        ``count_low`` and ``count_high``, ``sum_price``, ``sum_price_low``, and so on; ``clusters``,
        the sampled clusters; and ``note``. The true number is from low to high in 95 of 100 cases.
        Where too little was sampled to say so, both are null and ``note`` says why; see
        docs/estimation.md.

    Raises
    ------
    SpecificationError
        If nothing is asked for, or what is asked for makes no sense.
    SchemaError
        If the frame is not a sampled join, or lacks what is asked for.

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

    from penstock.spark import estimate as spark  # noqa: PLC0415  # only who calls this needs Spark

    return spark.estimate(df, by=groups, every=every, sums=sums, count=count, averages=averages)


def _names(given: object, what: str) -> tuple[str, ...]:
    """Give names of columns as a tuple; one may come alone."""
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
