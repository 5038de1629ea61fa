"""Estimators of a total and of an average, as expressions of Spark.

======================  ============================================================
step                    what it computes
======================  ============================================================
``by_cluster``          sums within each cluster
``over_clusters``       sums of these over all clusters
``last_steps``          ``estimate``, ``low``, ``high``, and ``why`` there is no interval
======================  ============================================================

`penstock.statistics.cluster_sample` has the same formulas in NumPy, and explains them.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation

from penstock.statistics.cluster_sample import (
    ALIKE_FOURTH,
    ALIKE_VARIANCE,
    LEAST_CLUSTERS,
    STUDENT,
    TOO_ALIKE,
    TOO_FEW,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["Average", "Total", "note_column"]

Columns: TypeAlias = "dict[str, Column]"


class _Estimator:
    """An estimator whose columns have its number in their names."""

    def __init__(self, number: int) -> None:
        self._number = number

    def col(self, name: str) -> Column:
        return F.col(f"{name} {self._number}")

    def named(self, **columns: Column) -> Columns:
        return {f"{name} {self._number}": column for name, column in columns.items()}

    def common_sums(self) -> Columns:
        """Return what both need by cluster: sums of w y and of sqrt(w) y, and the top weight."""
        weight, value = F.col("weight"), self.col("value")
        return {
            "weighted": F.sum(weight * value),
            "root_weighted": F.sum(F.sqrt(weight) * value),
            "heaviest": F.max(F.when(value.isNotNull(), weight)),
        }


class Total(_Estimator):
    """The estimator `penstock.statistics.cluster_sample.total_of`."""

    def by_cluster(self) -> Columns:
        """Return the sums within each cluster."""
        value = self.col("value")
        return self.named(**self.common_sums(), seen=F.sum(value), least=F.min(value))

    def over_clusters(self) -> Columns:
        """Return the sums over clusters."""
        part = _squared(self.col("weighted")) - _squared(self.col("root_weighted"))
        return self.named(
            total=F.sum(self.col("weighted")),
            variance=F.sum(part),
            fourth=F.sum(_squared(part)),
            seen=F.sum(self.col("seen")),
            least=F.min(self.col("least")),
            heaviest=F.max(self.col("heaviest")),
        )

    def last_steps(self) -> list[Columns]:
        """Return the steps to the estimate and its interval, each made from those before."""
        total, variance = self.col("total"), self.col("variance")
        freedom, deviations = self.col("freedom"), self.col("deviations")
        reach = deviations * F.sqrt(variance)
        spread = F.exp(deviations * F.sqrt(F.log1p(_ratio(variance, _squared(total)))))
        exact, enough = self.col("heaviest") <= 1, freedom >= LEAST_CLUSTERS
        positive = self.col("least") >= 0
        low = F.when(positive, F.greatest(total / spread, self.col("seen")))
        high = F.when(positive, total * spread)
        return [
            self.named(freedom=_freedom(variance, self.col("fourth"))),
            self.named(deviations=_student(freedom)),
            self.named(
                estimate=total,
                low=F.when(exact, total).when(enough, low.otherwise(total - reach)),
                high=F.when(exact, total).when(enough, high.otherwise(total + reach)),
                why=F.when(total.isNotNull() & ~exact & ~enough, TOO_FEW),
            ),
        ]


class Average(_Estimator):
    """The estimator `penstock.statistics.cluster_sample.average_of`, its squares multiplied out."""

    def by_cluster(self) -> Columns:
        """Return the sums within each cluster."""
        weight = F.when(self.col("value").isNotNull(), F.col("weight"))
        return self.named(**self.common_sums(), size=F.sum(weight), root=F.sum(F.sqrt(weight)))

    def over_clusters(self) -> Columns:
        """Return the sums over clusters."""
        weighted, root_weighted = self.col("weighted"), self.col("root_weighted")
        size, root = self.col("size"), self.col("root")
        # The variance parts of a cluster: x of its values, n of its size, m of both together.
        x = _squared(weighted) - _squared(root_weighted)
        m = weighted * size - root_weighted * root
        n = _squared(size) - _squared(root)
        products = {"x": x, "m": m, "n": n, "xx": x * x, "mm": m * m, "nn": n * n}
        products |= {"xm": x * m, "xn": x * n, "mn": m * n}
        return self.named(
            total=F.sum(weighted),
            size=F.sum(size),
            heaviest=F.max(self.col("heaviest")),
            **{name: F.sum(product) for name, product in products.items()},
        )

    def last_steps(self) -> list[Columns]:
        """Return the steps to the estimate and its interval, each made from those before."""
        x, m, n, xx, mm, nn, xm, xn, mn = map(
            self.col, ("x", "m", "n", "xx", "mm", "nn", "xm", "xn", "mn")
        )
        r, variance, fourth = self.col("estimate"), self.col("variance"), self.col("fourth")
        r2 = _squared(r)
        alike = (variance <= ALIKE_VARIANCE * (x + r2 * n)) | (
            fourth <= ALIKE_FOURTH * (xx + r2 * r2 * nn)
        )
        exact = self.col("heaviest") <= 1
        enough = ~alike & (self.col("freedom") >= LEAST_CLUSTERS)
        reach = _student(self.col("freedom")) * F.sqrt(variance) / self.col("size")
        inexact = r.isNotNull() & ~exact
        return [
            self.named(estimate=_ratio(self.col("total"), self.col("size"))),
            # A cluster's part of the variance is x - 2 R m + R**2 n. R is known only now, so the
            # sum of the squares of the parts is computed from sums of products.
            self.named(
                variance=x - 2 * r * m + r2 * n,
                fourth=(
                    xx + 4 * r2 * mm + r2 * r2 * nn - 4 * r * xm + 2 * r2 * xn - 4 * r * r2 * mn
                ),
            ),
            self.named(freedom=F.least(_freedom(variance, fourth), _freedom(n, nn))),
            self.named(
                low=F.when(exact, r).when(enough, r - reach),
                high=F.when(exact, r).when(enough, r + reach),
                why=F.when(inexact & alike, TOO_ALIKE).when(inexact & ~enough, TOO_FEW),
            ),
        ]


def note_column(count: int) -> Column:
    """Return why an interval is missing; too few clusters, if there are several reasons."""
    whys = [F.col(f"why {i}") for i in range(count)]
    few = reduce(or_, (why == TOO_FEW for why in whys))
    return F.when(few, TOO_FEW).otherwise(F.coalesce(*whys))


def _freedom(variance: Column, fourth: Column) -> Column:
    """Return degrees of freedom: how many equal parts would vary as much; 0 without variance."""
    return F.when(variance > 0, _ratio(_squared(variance), fourth)).otherwise(0.0)


def _student(freedom: Column) -> Column:
    """Return the 97.5 % quantile of Student's t, as `STUDENT` approximates it."""
    inverse = _ratio(F.lit(1.0), freedom)
    first, *terms = STUDENT
    return F.lit(first) + inverse * (
        F.lit(terms[0]) + inverse * (F.lit(terms[1]) + inverse * terms[2])
    )


def _ratio(over: Column, under: Column) -> Column:
    """Divide; NULL if divided by 0, which Spark refuses even in a branch that is not taken."""
    return over / F.nullif(under, F.lit(0.0))


def _squared(column: Column) -> Column:
    return column * column
