"""Figure 2 of Kulkarni and Ravishankar: importance and fairness against memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.studies.importance_figure import SKEWED_KEYS, UNIFORM_KEYS, ImportanceFigure, Sweep
from penstock.studies.importance_points import ImportanceRow, best_of
from penstock.studies.importance_settings import COUNTED, PRINTED, SLOW, USERS, UsersScale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["STUDY"]

_COMPARED = {
    "sheds first": ("fifo", "rand", "size-shed", "greedy-shed"),
    "probes first": ("fifo", "rand", "size", "greedy"),
}
# The paper has 5 to 20; each stream has half of it.
_MEMORIES = (6, 10, 20)
_ROWS = (5_000, 10_000, 20_000)
_USERS = UsersScale(USERS, window=40_000, windows=1.5)


def _notes(rows: Sequence[ImportanceRow]) -> Iterator[str]:
    """Compare the best of the paper's other strategies with IJOIN, for each setting."""
    for setting in dict.fromkeys(row.setting for row in rows):
        said = []
        for order, others in _COMPARED.items():
            if setting.startswith(USERS) and order == "sheds first":
                continue
            ahead = best_of(rows, setting, others)
            low, high = (pick(each for _, each in ahead.values()) for pick in (min, max))
            names = "/".join(dict.fromkeys(name for name, _ in ahead.values()))
            names = names.replace("-shed", "").upper()
            said.append(f"{names} has {low:+.0%} to {high:+.0%} where it {order}")
        yield f"{setting}: against IJOIN, the best of the others, {'; '.join(said)}."


STUDY = ImportanceFigure(
    id="kulkarni08-fig2",
    title="importance and fairness against memory, when rows differ in importance",
    reference="Kulkarni and Ravishankar 2008, section 5.1, Figure 2",
    grid=(
        Sweep(PRINTED, _MEMORIES, seeds=2),
        Sweep(COUNTED, _MEMORIES, seeds=3),
        Sweep(SLOW, _MEMORIES, seeds=3),
        Sweep(_USERS, _ROWS, seeds=2),
    ),
    quick_grid=(
        Sweep(SLOW, (6, 10), seconds=300),
        Sweep(UsersScale(USERS, window=150, keys=100), (100,)),
    ),
    vary_papers=lambda own, memory: replace(own, memory=round(memory)),
    vary_users=lambda own, rows: replace(own, rows=round(rows)),
    heading="memory",
    notes=_notes,
    question="Which strategy finds the most important results with little memory?",
    subtitle="Keys uniform (Zipf 0) or skewed (Zipf 1), importance independent of them",
    x_title="memory (rows)",
    fairness=(UNIFORM_KEYS, SKEWED_KEYS),
).study()
