"""`Plan`: how a query can be run, what that needs, and what is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SpecificationError, must
from penstock.planning.choose import Choice, choose, fits
from penstock.planning.drop_boxes import DropBoxes, NotWithinError, keep_within
from penstock.planning.estimate import Estimator, PlanEstimate
from penstock.planning.plan_text import plan_lines, processor_words, time_words
from penstock.planning.search import Search, plans_by_split
from penstock.planning.tree import nodes_of, short, streams_below
from penstock.planning.waiting import waiting_of
from penstock.wording import about, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.budget import Budget
    from penstock.planning.model import QueryModel
    from penstock.planning.node_metrics import NodeMetrics
    from penstock.planning.parsed import Source
    from penstock.planning.query import Query
    from penstock.planning.run_replay import PlanReplay
    from penstock.planning.tree import Tree

__all__ = ["FILL", "Plan", "plan_for", "ranked_plans"]

FILL = 0.01
"""Share that a plan keeps of a stream with a window by rows, at least, so that it fills."""

# Above this the queues of random arrivals are too long for a figure to mean anything.
_BUSY = 0.999


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A plan of a query, and what the model says about it.

    ``print(plan)`` shows the tree with rates, windows, cost, memory and drop boxes, whether it is
    feasible, and why. `Query.optimize` makes it.

    Attributes
    ----------
    query, model
        The query and its numbers.
    tree
        The operators.
    boxes
        What is kept of each stream, and what that gives.
    bound
        Time that may be used per unit of time.
    rows
        Rows that may be kept; None for any number.
    """

    query: Query
    model: QueryModel
    tree: Tree
    boxes: DropBoxes
    bound: float
    rows: float | None

    @property
    def full(self) -> PlanEstimate:
        """What the plan needs if nothing is dropped."""
        return Estimator(self.model).estimate(self.tree)

    @property
    def estimate(self) -> PlanEstimate:
        """What the plan needs with its drop boxes."""
        return Estimator(self.model).estimate_kept(self.tree, self.boxes.kept)

    @property
    def feasible(self) -> bool:
        """Whether the plan keeps up with nothing dropped, within its memory."""
        full = self.full
        return fits(full.cost, self.bound) and (self.rows is None or fits(full.memory, self.rows))

    @property
    def fits_memory(self) -> bool:
        """Whether its windows fit, behind its drop boxes."""
        return self.rows is None or fits(self.memory, self.rows)

    @property
    def kept(self) -> Mapping[str, float]:
        """Share of each stream's rows that its drop box lets through."""
        return self.boxes.kept

    @property
    def rate(self) -> float:
        """Results per second, or per unit of numeric time, with its drop boxes."""
        return self.boxes.rate

    @property
    def recall(self) -> float:
        """Share of the results that are left with its drop boxes."""
        return self.boxes.rate / self.full.rate if self.full.rate else 1.0

    @property
    def cost(self) -> float:
        """Time per unit of time that it needs with its drop boxes."""
        return self.boxes.cost

    @property
    def memory(self) -> float:
        """Rows that it keeps with its drop boxes."""
        return self.estimate.memory

    @property
    def why(self) -> str:
        """Whether it is feasible, and why, in a sentence; and whether it can be run."""
        return self._verdict + (f"; {self.why_not_run}" if self.why_not_run else "")

    @property
    def why_not_run(self) -> str:
        """Why the plan cannot be run, only compared; empty if it can be."""
        streams = {name for name, each in self._sources.items() if not each.is_table}
        for node in nodes_of(self.tree):
            below = streams_below(node)
            members = {name for at, name in enumerate(self.model.names) if below >> at & 1}
            by_rows = [name for name in members if self._sources[name].rows is not None]
            if by_rows and len(members) > 1 and not streams <= members:
                return (
                    f'it cannot be run, since "{min(by_rows)}" has a window by rows '
                    "and is not joined last"
                )
        return ""

    @property
    def _sources(self) -> Mapping[str, Source]:
        return {source.name: source for source in self.query.parsed.sources}

    @property
    def _verdict(self) -> str:
        full = self.full
        needed, allowed = processor_words(full.cost), processor_words(self.bound)
        of_a = "" if full.cost >= 10 else " of a processor"
        time = f"need {needed}{of_a}, and {allowed} is allowed"
        if self.feasible:
            room = "" if self.rows is None else f", {about(full.memory)} of {about(self.rows)} rows"
            return f"feasible: it needs {time.removeprefix('need ')}{room}"
        reasons = [] if fits(full.cost, self.bound) else [time]
        if self.rows is not None and not fits(self.memory, self.rows):
            also = f"; without drop boxes it would also {time}" if reasons else ""
            return (
                f"not feasible: with any drop boxes it keeps at least {about(self._least_memory)} "
                f"rows, and {about(self.rows)} are allowed; shorten windows{also}"
            )
        if self.rows is not None and not fits(full.memory, self.rows):
            reasons.append(f"keep {about(full.memory)} rows, and {about(self.rows)} are allowed")
        left = f"with drop boxes it gives {percent(self.recall)} of the results"
        if not full.rate:
            left = "the statistics say that it has no results, so that no stream is preferred"
        return f"not feasible without dropping rows: it would {', and '.join(reasons)}; {left}"

    @property
    def _least_memory(self) -> float:
        """Rows that it keeps if next to nothing is kept of any stream."""
        nothing = dict.fromkeys(self.boxes.kept, 0.0)
        return Estimator(self.model).estimate_kept(self.tree, nothing).memory

    def replay(
        self,
        tables: Mapping[str, pa.Table | Sequence[pa.Table]],
        shards: int = 1,
        *,
        ended: bool = True,
        time: str | None = None,
        seed: int = 0,
    ) -> PlanReplay:
        """Run the plan over tables, in process.

        Parameters
        ----------
        tables
            A table for each stream and stored table, by the names that `Query` was given. For a
            stream also a list of tables: as many micro-batches.
        shards
            Parts into which each join is divided.
        ended
            Whether the streams end with the tables.
        time
            Name of a further column of the result with the time of each result's newest member.
        seed
            Of the drop boxes.

        Returns
        -------
        PlanReplay
            The result, and what each operator took and gave.

        Raises
        ------
        SchemaError
            If the tables do not fit the query, or it has functions that only Spark has.
        SpecificationError
            If the plan cannot be run.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import penstock as ps
        >>> query = ps.Query(
        ...     "SELECT a.id, b.price FROM asks a [RANGE 10], bids b [NOW] WHERE a.id = b.ask",
        ...     streams={"asks": "at", "bids": "at"},
        ... )
        >>> tables = {
        ...     "asks": pa.table({"id": [1, 2], "at": [0, 5]}),
        ...     "bids": pa.table({"ask": [1, 2, 1], "at": [9, 9, 11], "price": [7, 8, 9]}),
        ... }
        >>> replay = query.optimize(query.measure(tables)).replay(tables)
        >>> replay.result.to_pylist()
        [{'id': 1, 'price': 7}, {'id': 2, 'price': 8}]
        >>> [(node.name, node.given) for node in replay.nodes]
        [('a', 2), ('b', 3), ('a+b', 2)]
        """
        from penstock.planning.run_replay import replay_plan  # noqa: PLC0415  # needs the engine

        return replay_plan(self, tables, shards, ended=ended, time=time, seed=seed)

    def batch(
        self,
        frames: Mapping[str, DataFrame],
        shards: int | None = None,
        *,
        time: str | None = None,
        seed: int = 0,
    ) -> DataFrame:
        """Run the plan over bounded frames, on Spark.

        Parameters
        ----------
        frames
            A bounded DataFrame for each stream and stored table, by the names that `Query` was
            given.
        shards
            As in `Join.batch`.
        time, seed
            As in `replay`.

        Returns
        -------
        DataFrame
            The columns of the SELECT list.

        Raises
        ------
        SchemaError
            If the frames do not fit the query.
        SpecificationError
            If the plan cannot be run.
        """
        from penstock.planning.run_spark import run_plan  # noqa: PLC0415  # only this needs Spark

        return run_plan(self, frames, shards, name=None, time=time, seed=seed)

    def stream(
        self,
        frames: Mapping[str, DataFrame],
        shards: int | None = None,
        *,
        name: str = "penstock",
        time: str | None = None,
        seed: int = 0,
    ) -> DataFrame:
        """Run the plan over streaming frames, on Spark: one query, with as many joins as it has.

        Parameters
        ----------
        frames
            A streaming DataFrame for each stream, and a bounded one for each stored table, by the
            names that `Query` was given.
        shards
            As in `Join.stream`, for each join.
        name
            Under which the metrics of the last join are found; see `progress`.
        time
            Name of a further column of the result with the time of each result's newest member.
            If the times are timestamps, it has a watermark.
        seed
            Of the drop boxes.

        Returns
        -------
        DataFrame
            A streaming frame with the columns of the SELECT list.

        Raises
        ------
        SchemaError
            If the frames do not fit the query.
        SpecificationError
            If the plan cannot be run.
        SessionError
            If the Spark session has settings that a join cannot run with.
        """
        from penstock.planning.run_spark import run_plan  # noqa: PLC0415  # only this needs Spark

        return run_plan(self, frames, shards, name=name, time=time, seed=seed)

    def progress(self, query: StreamingQuery, name: str = "penstock") -> tuple[NodeMetrics, ...]:
        """Return what each operator of a streaming query has done so far, inputs first.

        These are the streams, as they are read, dropped and selected, the joins, and the joins
        with stored tables. What joins of streams took and gave is since the query began. Rows of
        streams and of joins with tables, and all costs, are of the last micro-batches that Spark
        remembers: a hundred by default, and only of this run.

        Parameters
        ----------
        query
            That was started with the frame of `stream`.
        name
            That `stream` was given.

        Raises
        ------
        SpecificationError
            If the query has no such joins.
        """
        from penstock.planning.plan_progress import plan_progress  # noqa: PLC0415  # needs Spark

        return plan_progress(self, query, name)

    def __str__(self) -> str:
        """Return the tree, and whether it is feasible."""
        estimate = self.estimate
        waiting = waiting_of(estimate, max(self.bound, 1e-300))
        lines = [self.why, *plan_lines(self.query.parsed, self.model, estimate, self.boxes.kept)]
        if waiting.utilization < _BUSY:
            lines.append(
                f"a result takes {time_words(waiting.response)} on average, and "
                f"{about(waiting.rows)} rows wait"
            )
        else:
            lines.append("all time is used, so that rows wait long: allow less, and keep head room")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the order of the joins, and the verdict."""
        return f"<Plan {short(self.tree, self.model.names)}: {self.why}>"


def plan_for(
    query: Query,
    model: QueryModel,
    *,
    budget: Budget | None = None,
    processors: float = 1,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
) -> Plan:
    """Return the best plan; see `Query.optimize`."""
    bound, rows = _limits(budget, processors)
    choice = choose(model, bound, rows=rows, weights=weights, minimum=minimum, fill=FILL)
    if choice is None:
        # Windows by rows are too long for any plan: the one that comes nearest to the limit.
        nothing = model.kept(dict.fromkeys(model.names, 0.0))
        tree = Search(nothing, memory_price=1.0, cost_weight=0.0).best()
        full = Estimator(model).estimate(tree)
        boxes = keep_within(full, model, bound, weights=weights, minimum=minimum, fill=FILL)
        choice = Choice(tree, full, boxes)
    return Plan(query, model, choice.tree, choice.boxes, bound, rows)


def ranked_plans(
    query: Query,
    model: QueryModel,
    *,
    budget: Budget | None = None,
    processors: float = 1,
    weights: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
) -> list[Plan]:
    """Return the best plan of each kind, ranked; see `Query.plans`."""
    bound, rows = _limits(budget, processors)
    estimator = Estimator(model)
    plans = []
    refused: list[NotWithinError] = []
    for tree in plans_by_split(model):
        full = estimator.estimate(tree)
        # Where windows by rows are too long, drop boxes are only for the time that there is.
        for limit in (rows, None):
            try:
                boxes = keep_within(
                    full, model, bound, rows=limit, weights=weights, minimum=minimum, fill=FILL
                )
            except NotWithinError as error:
                if error.is_hopeless:
                    continue
                refused.append(error)
            else:
                plans.append(Plan(query, model, tree, boxes, bound, rows))
            break
    if not plans:
        raise min(refused, key=lambda each: each.excess)
    # Rounding must not decide between plans that give the same.
    return sorted(
        plans,
        key=lambda each: (not each.fits_memory, -float(f"{each.boxes.value:.9g}"), each.full.cost),
    )


def _limits(budget: Budget | None, processors: float) -> tuple[float, float | None]:
    if not processors > 0:
        hint = "write processors=2 for two of them"
        raise SpecificationError(must("processors", "above 0", processors, hint))
    if budget is not None and budget.memory is not None:
        hint = "give rows=...: the model counts rows, whose size it does not know"
        raise SpecificationError(must("budget of a query", "in rows", budget, hint))
    share = None if budget is None else budget.cpu_share
    rows = None if budget is None or budget.rows is None else float(budget.rows)
    return processors * (1.0 if share is None else share), rows
