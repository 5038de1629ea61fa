"""By partner: rows are inserted whose keys come often in the other stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.statistics.work_output import fill
from penstock.strategies.base import Integers, Needs
from penstock.strategies.decision import Decision, Insert, grade_of
from penstock.strategies.work import WorkStrategy, for_all_grades, least_chance, worth_of

if TYPE_CHECKING:
    from penstock.strategies.view import Rows, WorkView

# Of all rows that come a key has at most all: the highest grade is that.
_HIGHEST = 64.0


@dataclass(frozen=True)
class ByPartner(WorkStrategy):
    """Let all rows look for results, and insert those that will find most for their cost.

    What a row finds while it waits depends on how often its key comes in the *other* stream. Where
    a probe that finds nothing is free, this is the optimum.

    References
    ----------
    Ours; as `probe_no_insert` of `ayad05` 3.3, by stream and grade of key.
    """

    name: ClassVar[str] = "by-partner"
    needs: ClassVar[Needs] = Needs(frequencies=True, match_rates=True, parts=1)

    def grade(self, rows: Rows) -> Integers:
        """Return the grades of how often rows' keys come in the other stream."""
        often = np.nan_to_num(rows.matches_per_time)
        return grade_of(_HIGHEST * often / max(rows.all_per_time, 1e-300))

    def share_out(self, work: WorkView) -> Decision:
        """Return the chances of being inserted, by stream and grade."""
        rates, expected = work.grades[:, :, 0], work.grades[:, :, 1]
        gains = expected * work.lives[:, None]
        chances = fill(
            gains.ravel(),
            rates.ravel() * work.costs.insert,
            work.cost_of_result,
            work.left_for_insertions,
            work.at_once,
            charged=(expected * work.waits_ahead[:, None]).ravel(),
        ).reshape(rates.shape)
        return Decision(
            insert=Insert(
                for_all_grades(chances, rates > 0.0, least_chance(work)), worth_of(gains, rates)
            )
        )
