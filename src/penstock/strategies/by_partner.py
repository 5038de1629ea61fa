"""By partner: rows are inserted whose keys come often in the other stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.work_output import fill
from penstock.strategies.base import Integers, Needs
from penstock.strategies.decision import Decision, Insert
from penstock.strategies.grades import grade_of
from penstock.strategies.work import WorkStrategy, for_all_grades, least_chance, worth_of

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, WorkView

# Of all rows that come a key has at most all: the highest grade is that.
_HIGHEST = 64.0
# The least chance of rows as long as few of their kind were inserted: to learn what is found in it.
_TRIED = 0.1


@dataclass(frozen=True)
class ByPartner(WorkStrategy):
    """Let all rows look for results, and insert those that will find most for their cost.

    What a row finds while it waits depends on how often its key comes in the *other* stream. Where
    a probe that finds nothing is free, this is the optimum.

    How often a key has come so far may say little of what will come. So a row is valued by what
    earlier rows with the same prediction have found. If that is the same for all rows of a stream,
    rows are inserted by lot, as `probe-no-insert` does.

    References
    ----------
    Ours; as `probe_no_insert` of `ayad05` 3.3, by stream and grade of key.
    """

    name: ClassVar[str] = "by-partner"
    needs: ClassVar[Needs] = Needs(frequencies=True, match_rates=True, measured_fits=True, parts=1)

    def grade(self, rows: Rows) -> Integers:
        """Return the grades of how often rows' keys come in the other stream."""
        often = np.nan_to_num(rows.matches_per_time)
        return grade_of(_HIGHEST * often / max(rows.all_per_time, 1e-300))

    def share_out(self, work: WorkView) -> Decision:
        """Return the chances of being inserted, by stream and grade."""
        rates, predicted = work.grades[:, :, 0], work.grades[:, :, 1]
        expected = predicted if work.prospects is None else work.prospects
        gains = expected * work.lives[:, None]
        chances = fill(
            gains.ravel(),
            rates.ravel() * work.costs.insert,
            work.cost_of_result,
            work.left_for_insertions,
            work.at_once,
            charged=(expected * work.waits_ahead[:, None]).ravel(),
        ).reshape(rates.shape)
        if work.tried is not None:
            chances = np.where(work.tried, chances, np.maximum(chances, _TRIED))
        # What was found may be less the more was predicted.
        rising = work.prospects is None
        chances = for_all_grades(chances, rates > 0.0, least_chance(work), rising=rising)
        return Decision(insert=Insert(chances, worth_of(gains, rates)))
