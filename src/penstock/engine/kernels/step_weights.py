"""For how many rows a row stands that took a step by lot: 1 / its chance, or nearly so.

Chances go up and down from review to review, and from row to row with the account of work. For some
dozen rows a step may have a chance of a hundredth of what is usual, or less. Most often none of
these rows takes the step, and nothing shows that they were there; now and then one does, and by 1 /
its chance would stand for hundreds. Half of all estimates would then be somewhat low with a small
variance, and a few be much too high: no interval holds for both.

So a row whose chance is below a quarter of the recent mean, of rows of its stream with keys of its
grade, stands for 1 / (a quarter of the mean). What is missing is made up for by the rows
like it that come next: they stand for a few more. In the mean of all draws, rows stand for as many
as there are. It is assumed that what a row finds does not depend on whether its chance was rare
just then; where no chance is, every row stands for 1 / its chance, and the estimate is unbiased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.engine.kernels.jit import inner

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory

# The part of the mean chance of rows like it below which a row does not stand for itself alone.
_RARE: Final = 0.25
# Rows like it in which the mean forgets to 1/e, and in which others make up for such rows.
_MEAN_ROWS: Final = 64.0
_REPAID_ROWS: Final = 32.0


# Grades that are taken together: of one alone there would be too few rows.
TOGETHER: Final = 8


@inner
def _mean(memory: Memory, step: int, stream: int, grade: int, chance: float) -> float:
    """Return the recent mean chance, with that of one row more."""
    mean = memory.weighing[0, step, stream, grade // TOGETHER]
    return chance if mean == 0.0 else mean + (chance - mean) / _MEAN_ROWS


@inner
def weight_of(memory: Memory, step: int, stream: int, grade: int, chance: float) -> float:
    """Return for how many rows the next row like this stands, if it takes a step; 0 without one."""
    if chance <= 0.0:
        return 0.0
    mean = _mean(memory, step, stream, grade, chance)
    if chance < _RARE * mean:
        return 1.0 / (_RARE * mean)
    return (1.0 + memory.weighing[1, step, stream, grade // TOGETHER] / _REPAID_ROWS) / chance


@inner
def remember(
    memory: Memory, step: int, stream: int, grade: int, chance: float, weight: float
) -> None:
    """Go on after a row with a chance and a weight: `weight_of` has said it."""
    if chance > 0.0:
        few = grade // TOGETHER
        memory.weighing[0, step, stream, few] = _mean(memory, step, stream, grade, chance)
        # As many rows are stood for, in the mean of all draws, as there are.
        memory.weighing[1, step, stream, few] += 1.0 - chance * weight
