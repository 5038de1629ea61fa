"""Results as rows: the references that the loop has produced become tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.engine.payload import Payload, piece_bounds
from penstock.engine.struct_column import as_struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.engine.arrays import Array
    from penstock.engine.importance_estimate import ImportanceEstimate
    from penstock.engine.importance_scores import ImportanceScores
    from penstock.engine.kernels.results import Results
    from penstock.engine.plan import Plan


class ResultRows:
    """Makes rows of results.

    Parameters
    ----------
    plan
        The join.
    payloads
        Of each stream: its rows.
    scores, estimate
        Importance of rows, None if it is not the goal, and the estimate of all importance.
    shard, shards
        Which part of how many this is.
    """

    def __init__(
        self,
        plan: Plan,
        payloads: Sequence[Payload],
        scores: ImportanceScores | None,
        estimate: ImportanceEstimate,
        *,
        shard: int,
        shards: int,
    ) -> None:
        self._plan = plan
        self._payloads = payloads
        self._scores = scores
        self._estimate = estimate
        self._shard = shard
        self._shards = shards

    def pieces(self, results: Results, rule: Array) -> Iterator[pa.Table]:
        """Yield the rows of all results, in pieces of not too many bytes."""
        count = int(results.produced[0])
        for start, stop in piece_bounds(self._payloads, results.refs[:count]):
            yield self._piece(results, rule, start, stop)

    def _piece(self, results: Results, rule: Array, start: int, stop: int) -> pa.Table:
        """Return the rows of some results."""
        refs, times = results.refs[start:stop], results.times[start:stop].copy()
        weights = np.ones(stop - start)
        schema = self._plan.result_schema
        columns = []
        for s, payload in enumerate(self._payloads):
            table = payload.gather(np.ascontiguousarray(refs[:, s]))
            columns.append(as_struct(table, schema.field(s).type))
        columns.append(self._plan.time.to_arrow(times))
        if self._plan.is_sample:
            weights = results.weights[start:stop].copy()
        columns.append(pa.array(weights))
        if self._plan.is_sample:
            columns.append(pa.array(results.clusters[start:stop] * self._shards + self._shard))
        if self._scores is not None:
            importance = self._scores.of_results(refs, times)
            stands_for = np.zeros(stop - start)
            if rule["weighs"][0] and rule["notes"][0]:
                stands_for = results.stands_for[start:stop]
            self._estimate.add(importance, stands_for, results.witnesses[start:stop])
            columns.append(pa.array(importance))
        return pa.Table.from_arrays(columns, schema=schema)
