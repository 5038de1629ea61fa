"""Results of several joins as rows of one type: whose they are, their time, and their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation
from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.struct_column import as_struct
from penstock.spark.frames import has_watermark, result_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from penstock.engine.joint_plan import JointPlan

JOIN, TIME = "join", "time"


class ResultLabels:
    """Makes rows of all joins' results alike; other joins' columns are null.

    Parameters
    ----------
    plan
        The joins.
    """

    def __init__(self, plan: JointPlan) -> None:
        self._structs = {
            name: pa.struct([kind for kind in each.result_schema if kind.name != TIME])
            for name, each in plan.plans.items()
        }

    def label(self, name: str, results: pa.Table) -> pa.Table:
        """Return results of a join as rows of the common type."""
        rows = results.num_rows
        columns = {
            JOIN: pa.repeat(name, rows),
            TIME: results[TIME],
        }
        for each, kind in self._structs.items():
            if each == name:
                columns[each] = as_struct(results.drop_columns([TIME]), kind)
            else:
                columns[each] = pa.nulls(rows, kind)
        return pa.table(columns)


def joint_result_type(
    plan: JointPlan, frames: Mapping[str, DataFrame], *, watermark: bool
) -> StructType:
    """Return Spark's type of the results of all joins."""
    kinds = {
        name: result_type(each, {n: frames[n] for n in each.spec.names}, watermark=watermark)
        for name, each in plan.plans.items()
    }
    time = next(iter(kinds.values()))[TIME]
    structs = [
        StructField(name, StructType([field for field in kind if field.name != TIME]))
        for name, kind in kinds.items()
    ]
    return StructType([StructField(JOIN, StringType()), time, *structs])


def has_joint_watermark(plan: JointPlan) -> bool:
    """Return whether the result has a watermark: if the times of all joins can have one."""
    return all(has_watermark(each) for each in plan.plans.values())


def select_join(frame: DataFrame, name: str) -> DataFrame:
    """Return the results of one join of a workload, in its own columns; see `Workload.select`."""
    kind = frame.schema[name].dataType
    if not isinstance(kind, StructType):
        raise TypeError(kind)
    own = frame.where(F.col(JOIN) == name)
    quoted = "`" + name.replace("`", "``") + "`"
    columns = [F.col(quoted).getField(field.name).alias(field.name) for field in kind]
    # The streams' columns come first, and then the time, as a join by itself has them.
    at = kind.fieldNames().index("weight")
    return own.select(*columns[:at], F.col(TIME), *columns[at:])
