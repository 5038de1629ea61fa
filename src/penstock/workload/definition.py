"""`Workload`: several joins in one budget, three ways to run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.budget import Budget
from penstock.durations import is_clock, to_units
from penstock.engine.joint_plan import JointSpecification
from penstock.errors import SpecificationError, did_you_mean, must
from penstock.goals import Sample
from penstock.importance.definitions import finite
from penstock.join import Join, progress
from penstock.workload import replay as in_process
from penstock.workload.metrics import WorkloadMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.capacity import Statistics
    from penstock.durations import DurationLike
    from penstock.workload.prediction import WorkloadPrediction
    from penstock.workload.replay import WorkloadReplay

__all__ = ["Workload"]

_OBJECTIVES = ("least", "total")
# Columns of the result beside those of the joins.
_OWN_COLUMNS = ("join", "time")


@dataclass(frozen=True)
class Workload:
    """Several joins in one query and one budget, which is divided again as the streams change.

    Memory goes where it raises the least recall (`objective="least"`, ALLOC), or the sum of all,
    and so does time of the processor. What each join makes of memory follows from what it has
    learned of its streams; what it makes of time, from the work that was done, and that was to do.
    Until there is something to go by, all joins have equal parts.

    Parameters
    ----------
    joins
        The joins by name, without budgets of their own. A stream of the same name in several joins
        is one stream: it is read once.
    budget
        Of all joins together: `rows` or `memory`, `cpu`, or both. `monitor` and `burst` hold for
        each join's part.
    weights
        How much the joins matter, 1 for those that are left out. With "least", a join of weight 2
        is to have twice the recall of one of weight 1, or, of samples, half of its error. With
        "total" they are factors of the sum.
    objective
        "least": the least weighted recall is made as great as possible. "total": their weighted
        sum.
    every
        After so much stream time the budget is divided again. None, the default, is a quarter of
        the longest window of the join whose longest window is the shortest.

    Examples
    --------
    >>> import penstock as ps
    >>> from penstock.testing import age_model
    >>> made = {shape: age_model(curve=shape, seed=1) for shape in ("INC", "DEC")}
    >>> joins = {
    ...     shape: ps.Join(
    ...         streams={
    ...             f"{shape}.s1": ps.Stream(time="time", window=each.window),
    ...             f"{shape}.s2": ps.Stream(time="time", window=0.0),
    ...         },
    ...         on=ps.Equal("id"),
    ...     )
    ...     for shape, each in made.items()
    ... }
    >>> work = ps.Workload(joins, budget=ps.Budget(rows=400))
    >>> tables = {
    ...     f"{shape}.{s}": getattr(each, s) for shape, each in made.items() for s in ("s1", "s2")
    ... }
    >>> replay = work.replay(tables)
    >>> allotted = replay.metrics.allotment  # late matches need rows to wait for long
    >>> allotted["INC"] > allotted["DEC"], sum(allotted.values())
    (True, 400)

    References
    ----------
    `srivastava04` section 5.
    """

    joins: Mapping[str, Join]
    budget: Budget
    weights: Mapping[str, float] | None = None
    objective: str = "least"
    every: DurationLike | None = None
    specification: JointSpecification = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_budget()
        self._check_joins()
        self._check_weights()
        if self.objective not in _OBJECTIVES:
            known = " or ".join(f'"{each}"' for each in _OBJECTIVES)
            hint = 'leave it out for "least"'
            raise SpecificationError(must("objective", known, self.objective, hint))
        self._check_every()
        joins = {name: replace(join, budget=self.budget) for name, join in self.joins.items()}
        weights = {name: float((self.weights or {}).get(name, 1.0)) for name in self.joins}
        spec = JointSpecification(joins, self.budget, weights, self.objective, self.every)
        object.__setattr__(self, "specification", spec)

    def replay(
        self,
        tables: Mapping[str, pa.Table | Sequence[pa.Table]],
        shards: int = 1,
        *,
        ended: bool = True,
        callback: Callable[[WorkloadMetrics], object] | None = None,
    ) -> WorkloadReplay:
        """Run all joins over tables, in process.

        Parameters
        ----------
        tables
            One table for each stream of any join, or a list of them, as for `Join.replay`.
        shards, ended
            As for `Join.replay`.
        callback
            Called after each micro-batch with the metrics so far.

        Returns
        -------
        WorkloadReplay
            The results of each join by its name, and the metrics.

        Raises
        ------
        SchemaError
            If the tables do not fit the joins.
        SpecificationError
            If the budget cannot be divided over so many joins and shards.
        """
        return in_process.replay(self.specification, tables, shards, ended=ended, callback=callback)

    def stream(self, frames: Mapping[str, DataFrame], shards: int | None = None) -> DataFrame:
        """Run all joins over streaming frames, in one query on Spark.

        Parameters
        ----------
        frames
            One streaming DataFrame for each stream of any join.
        shards
            As for `Join.stream`; each shard has a part of the budget, and divides it by itself.

        Returns
        -------
        DataFrame
            A streaming frame with the columns ``join``, whose result a row is; ``time``, with a
            watermark if times are timestamps; and for each join a struct of its other columns,
            null in rows of other joins. `select` returns one join's results in its own columns.

        Raises
        ------
        SchemaError
            If the frames do not fit the joins.
        SpecificationError
            If the budget cannot be divided over so many joins and shards.
        SessionError
            If the Spark session has settings that joins cannot run with.
        """
        from penstock.spark import joint_stream  # noqa: PLC0415  # only callers need Spark

        return joint_stream.stream(self.specification, frames, shards)

    def batch(self, frames: Mapping[str, DataFrame], shards: int | None = None) -> DataFrame:
        """Run all joins over bounded frames, on Spark.

        Parameters
        ----------
        frames
            One bounded DataFrame for each stream of any join.
        shards
            As for `Join.batch`.

        Returns
        -------
        DataFrame
            As `stream` returns.

        Raises
        ------
        SchemaError
            If the frames do not fit the joins.
        SpecificationError
            If the budget cannot be divided over so many joins and shards.
        """
        from penstock.spark import joint_stream  # noqa: PLC0415  # as above

        return joint_stream.batch(self.specification, frames, shards)

    def select(self, frame: DataFrame, name: str) -> DataFrame:
        """Return the results of one join, in the columns that it has by itself.

        Parameters
        ----------
        frame
            What `stream` or `batch` returned, or a table to which that was written.
        name
            Of the join.

        Raises
        ------
        SpecificationError
            If there is no such join.
        """
        from penstock.spark.joint_results import select_join  # noqa: PLC0415  # as above

        if name not in self.joins:
            known = ", ".join(f'"{each}"' for each in self.joins)
            hint = did_you_mean(name, self.joins, "use one of these")
            raise SpecificationError(must("name", f"that of a join ({known})", name, hint))
        return select_join(frame, name)

    def progress(self, query: StreamingQuery) -> WorkloadMetrics:
        """Return what the joins of a streaming query have done so far.

        ``penstock.progress(query, name)`` returns the metrics of one join.

        Parameters
        ----------
        query
            A query over what `stream` returned, running or ended.

        Raises
        ------
        SpecificationError
            If the query is not of this workload.
        """
        return WorkloadMetrics({name: progress(query, name) for name in self.joins})

    def measure(self, tables: Mapping[str, pa.Table], parts: int = 64) -> dict[str, Statistics]:
        """Measure the statistics of all joins' streams on a sample; see `Join.measure`.

        Parameters
        ----------
        tables
            One table for each stream of any join, all of one stretch of time.
        parts
            Into how many parts each window is divided for its age curve.

        Returns
        -------
        dict of str to Statistics
            For each join.
        """
        from penstock.capacity import measure  # noqa: PLC0415  # above a plain join's needs

        return {
            name: measure(join, {stream: tables[stream] for stream in join.names}, parts)
            for name, join in self.specification.joins.items()
        }

    def predict(self, statistics: Mapping[str, Statistics], shards: int = 1) -> WorkloadPrediction:
        """Predict how the budget will be divided, and what each join makes of its part.

        Parameters
        ----------
        statistics
            Of each join's streams, by the join's name: from `measure`, or given.
        shards
            In which the joins will run; each has the share of a core that the budget gives.

        Returns
        -------
        WorkloadPrediction
            ``print`` shows a table; its `draw` saves a picture of what each join makes of memory.
            Recall is by the formulas of docs/capacity.md, of results also where importance is the
            goal. Of samples it is the expected error of a count.

        Raises
        ------
        SpecificationError
            If statistics of a join are missing or do not fit.
        """
        from penstock.workload.prediction import predict_workload  # noqa: PLC0415  # draws

        return predict_workload(self.specification, statistics, shards)

    def _check_budget(self) -> None:
        budget = self.budget
        if not isinstance(budget, Budget):
            hint = 'write budget=Budget(rows=...) or Budget(memory="...")'
            raise SpecificationError(must("budget of Workload", "a Budget", budget, hint))

    def _check_joins(self) -> None:
        joins: object = self.joins
        if not isinstance(joins, Mapping) or not joins:
            hint = 'write Workload({"name": Join(...), ...}, budget=...)'
            raise SpecificationError(
                must("joins of Workload", "joins by their names, one or more", self.joins, hint)
            )
        for name, join in self.joins.items():
            if not _is_name(name):
                requirement = f"a text that is none of {', '.join(_OWN_COLUMNS)}"
                hint = "choose another name"
                raise SpecificationError(must("name of a join", requirement, name, hint))
            if not isinstance(join, Join):
                hint = f'write "{name}": Join(...)'
                raise SpecificationError(must(f'join "{name}"', "a Join", join, hint))
            own = join.budget
            if own is not None and not (isinstance(join.goal, Sample) and own == self.budget):
                requirement = "left out: it gets a part of the workload's"
                hint = "leave it out; with goal=Sample(), give it the workload's budget itself"
                raise SpecificationError(must(f'budget of join "{name}"', requirement, own, hint))
        folded = {name.casefold() for name in self.joins}
        if len(folded) < len(self.joins):
            hint = "rename one: Spark ignores case, so they are the same name"
            requirement = "different from each other in more than case"
            raise SpecificationError(must("names of joins", requirement, list(self.joins), hint))
        goals = {name: type(join.goal).__name__ for name, join in self.joins.items()}
        samples = {isinstance(join.goal, Sample) for join in self.joins.values()}
        if len(samples) > 1:
            hint = "errors and recalls cannot be weighed up: run them as two workloads"
            requirement = "all Sample(), or none of them"
            raise SpecificationError(must("goals of a workload's joins", requirement, goals, hint))
        if self.budget.cpu is not None and True in samples:
            hint = "leave cpu out, or run each sample with a budget of its own"
            requirement = "MaxSubset() where cpu is divided"
            raise SpecificationError(must("goals of a workload's joins", requirement, goals, hint))

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if not isinstance(self.weights, Mapping):
            hint = 'write weights={"name": 3}'
            raise SpecificationError(must("weights", "numbers by join", self.weights, hint))
        for name, weight in self.weights.items():
            if name not in self.joins:
                known = ", ".join(f'"{each}"' for each in self.joins)
                hint = "rename it, or leave it out"
                raise SpecificationError(must("weights", f"for joins among {known}", name, hint))
            number = finite(weight)
            if number is None or number <= 0:
                hint = "leave it out for 1"
                requirement = "a finite number above 0"
                raise SpecificationError(must(f'weight of "{name}"', requirement, weight, hint))

    def _check_every(self) -> None:
        if self.every is None:
            return
        # A number is one where times are numbers; a duration has a nanosecond at least.
        scale = 10**9 if is_clock(self.every) else None
        if not to_units(self.every, scale, "every", "it is one") > 0:
            hint = "leave it out for a quarter of a window"
            raise SpecificationError(must("every", "above 0", self.every, hint))


def _is_name(name: object) -> bool:
    """Return whether a join may have a name: it is that of a column of the result."""
    return isinstance(name, str) and name != "" and name.casefold() not in _OWN_COLUMNS
