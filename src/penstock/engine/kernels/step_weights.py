"""For how many rows a row stands that took a step by lot, from row to row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.engine.kernels.jit import kernel, wide

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Integers

# The part of the mean chance of rows like it below which a row does not stand for itself alone.
_RARE: Final = 0.25
# Rows like it in which the mean forgets to 1/e, and in which others make up for such rows.
_MEAN_ROWS: Final = 64.0
_REPAID_ROWS: Final = 32.0


@kernel
def weigh(
    arrivals: Array, grades: Integers, chances: Floats, means: Floats, debts: Floats, out: Floats
) -> None:
    """Write for how many rows each arrival stands, by step; take it into means and debts.

    Parameters
    ----------
    arrivals, grades
        The arrivals, and the grades of their keys.
    chances
        Of each arrival to take each step.
    means, debts
        By step, stream and grade: the mean chance of late, 0 if none has come, and the rows for
        which no row stands so far.
    out
        Like `chances`; 0 for a chance of 0.
    """
    for at in range(arrivals.size):
        stream = wide(arrivals[at]["stream"])
        grade = grades[at]
        for step in range(chances.shape[1]):
            chance = chances[at, step]
            out[at, step] = 0.0
            if chance <= 0.0 or arrivals[at]["blank"]:
                continue
            mean = means[step, stream, grade]
            mean = chance if mean == 0.0 else mean + (chance - mean) / _MEAN_ROWS
            means[step, stream, grade] = mean
            if chance < _RARE * mean:
                weight = 1.0 / (_RARE * mean)
            else:
                weight = (1.0 + debts[step, stream, grade] / _REPAID_ROWS) / chance
            # As many rows are stood for, in the mean of all draws, as there are.
            debts[step, stream, grade] += 1.0 - chance * weight
            out[at, step] = weight
