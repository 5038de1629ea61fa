"""What one query did over time: micro-batches, backlog and recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.bench.live.real_time import Monitored
    from penstock.bench.live.truth import TrueResults

__all__ = ["IN_TIME", "Course", "course_of"]

Floats = npt.NDArray[np.float64]

IN_TIME = 5
"""A result is in time if it is there so many seconds after the second of its latest row."""


class Timed(Protocol):
    """How long the streams are."""

    @property
    def warm_up(self) -> int:
        """Seconds that do not count."""

    @property
    def seconds(self) -> int:
        """All of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What one query did, over time. Times are in seconds since the streams began.

    Attributes
    ----------
    name
        Its name in the table.
    load
        How long the streams are.
    true
        Results of each second of the streams: those whose latest row is in it.
    found
        How many of them the query gave until it was stopped. Of micro-batches of several seconds
        each gets its share.
    in_time
        How many of them it gave in time.
    ended, took
        When each micro-batch was over, by the clock, and the seconds that it took. The last one
        may be one that was stopped.
    joined
        Up to which second the streams were joined then.
    stopped
        When the query was stopped.
    """

    name: str
    load: Timed
    true: Floats
    found: Floats
    in_time: Floats
    ended: Floats
    took: Floats
    joined: Floats
    stopped: float

    @property
    def recall(self) -> Floats:
        """Recall of each second of the streams."""
        share = np.full(len(self.true), np.nan)
        np.divide(self.found, self.true, out=share, where=self.true > 0)
        return share

    def recall_between(self, first: int, end: int, *, in_time: bool = False) -> float:
        """Return the recall of some seconds of the streams, of all that is out or is in time."""
        found = self.in_time if in_time else self.found
        return float(found[first:end].sum() / max(1.0, self.true[first:end].sum()))

    def percentile(self, percent: float) -> float:
        """Return a percentile of the times of micro-batches, of those that count."""
        counts = self.ended > self.load.warm_up
        return float(np.percentile(self.took[counts], percent)) if counts.any() else np.inf

    def backlog(self, at: Floats) -> Floats:
        """Return how many seconds of the streams have come and are not joined, by the clock.

        A query without delay has 1 to 2: a second's rows come when it is over.
        """
        so_far = np.concatenate([[0.0], self.joined])
        joined = so_far[np.searchsorted(self.ended, at, side="right")]
        behind: Floats = np.minimum(at, self.load.seconds) - joined
        return behind

    def backlog_at_end(self) -> float:
        """Return how many seconds of the streams are not joined when they end."""
        return float(self.backlog(np.array([float(self.load.seconds)]))[0])

    def need_between(self, first: int, end: int) -> float:
        """Return the time that micro-batches inside of some seconds took, for each of these."""
        before = np.concatenate([[0.0], self.joined[:-1]])
        inside = (before >= first) & (self.joined <= end) & (self.joined > before)
        if not inside.any():
            return np.nan
        return float(self.took[inside].sum() / (self.joined - before)[inside].sum())

    def as_json(self) -> dict[str, object]:
        """Return its figures as JSON types."""
        lists = ("true", "found", "in_time", "ended", "took", "joined")
        return {
            "name": self.name,
            "stopped": self.stopped,
            **{name: [round(float(each), 3) for each in getattr(self, name)] for name in lists},
        }


def course_of(
    name: str, monitored: Monitored, truth: TrueResults, load: Timed, *, waits: bool
) -> Course:
    """Compare what a query gave with what there is.

    Parameters
    ----------
    name
        Of the query.
    monitored
        Its micro-batches.
    truth
        The results that there are.
    load
        How long the streams are.
    waits
        Whether rows wait until the other streams have got to their time, as they do with a budget.
        Exact joins do not wait: they are ahead if one of the streams is.
    """
    true = truth.in_each_second().astype(np.float64)
    found, in_time = np.zeros_like(true), np.zeros_like(true)
    joined_before, true_before = 0, 0
    joined: list[float] = []
    for batch in monitored.batches:
        until = min(batch.read)
        true_now = truth.until(*([until] * len(batch.read) if waits else batch.read))
        seconds = np.arange(joined_before, until)
        share = batch.results / max(1, true_now - true_before)
        found[seconds] += share * true[seconds]
        early = seconds[batch.ended <= seconds + 1 + IN_TIME]
        in_time[early] += share * true[early]
        joined.append(float(until))
        joined_before, true_before = until, true_now
    ended = [batch.ended for batch in monitored.batches]
    took = [batch.seconds for batch in monitored.batches]
    if joined_before < load.seconds:  # the last one was stopped
        began = ended[-1] if ended else 0.0
        ended.append(monitored.stopped)
        took.append(monitored.stopped - began)
        joined.append(float(joined_before))
    return Course(
        name=name,
        load=load,
        true=true,
        found=found,
        in_time=in_time,
        ended=np.array(ended),
        took=np.array(took),
        joined=np.array(joined),
        stopped=monitored.stopped,
    )
