"""Figure 3 of Kulkarni and Ravishankar: importance and fairness against the window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.studies.importance_contenders import CONTENDERS
from penstock.studies.importance_figure import ImportanceFigure, Sweep
from penstock.studies.importance_points import ImportanceRow, means
from penstock.studies.importance_settings import COUNTED, PRINTED, SLOW, SLOWER, USERS, UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["STUDY"]

_WINDOWS = (10.0, 15.0, 25.0)
_ENDS = _WINDOWS[::2]
# At a user's scale: rows of each stream in a second, for 10,000 rows of memory, and the length of
# the streams.
_ROWS_PER_SECOND, _SECONDS = 600, 75


def _users(own: UsersScale, window: float) -> UsersScale:
    per_second = _ROWS_PER_SECOND * own.rows // 10_000
    return replace(
        own,
        window=round(per_second * window),
        windows=_SECONDS / window,
        keys=own.rows,
        seconds=window,
    )


def _notes(rows: Sequence[ImportanceRow]) -> Iterator[str]:
    found = means(rows, "importance")
    for setting in dict.fromkeys(row.setting for row in rows):
        gains = {
            contender.words: own[max(own)].value / own[min(own)].value
            for name, contender in CONTENDERS.items()
            if (own := found.get((setting, name), {}))
        }
        said = ", ".join(f"{words} {gain - 1:+.0%}" for words, gain in gains.items())
        yield f"{setting}, longest window against shortest, importance: {said}."


STUDY = ImportanceFigure(
    id="kulkarni08-fig3",
    title="importance and fairness against the window, with memory as it is",
    reference="Kulkarni and Ravishankar 2008, section 5.2, Figure 3",
    grid=(
        Sweep(PRINTED, _ENDS, seeds=2),
        Sweep(COUNTED, _WINDOWS, seeds=3),
        Sweep(SLOW, _WINDOWS, seeds=3),
        Sweep(SLOWER, _WINDOWS, seeds=3),
        Sweep(UsersScale(USERS), _ENDS),
    ),
    quick_grid=(
        Sweep(SLOW, _ENDS, seconds=300),
        Sweep(SLOWER, _ENDS, seconds=600),
        Sweep(UsersScale(USERS, rows=100), _ENDS),
    ),
    vary_papers=lambda own, window: replace(own, window=window),
    vary_users=_users,
    heading="window, s",
    notes=_notes,
    question="Does a longer window help without more memory?",
    subtitle="10 rows of memory, 10,000 at a user's scale",
    x_title="window (s)",
    fairness=[[f"{speed}, Zipf 0" for speed in (COUNTED, SLOW, SLOWER)]],
    x_limits=(min(_WINDOWS) - 1, max(_WINDOWS) + 1),
).study()
