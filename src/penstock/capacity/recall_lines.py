"""The lines of the picture that `penstock explain` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.capacity.recommendation import ALIKE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["recall_lines"]


def recall_lines(
    best: str, recall: Mapping[str, float], curves: Mapping[str, Floats]
) -> dict[str, Floats]:
    r"""Return the lines by their labels, the best first, equal ones as one.

    Parameters
    ----------
    best
        The strategy that comes first.
    recall
        Of each strategy, with the budget.
    curves
        The line of each.

    Examples
    --------
    >>> flat, steep = np.array([0.0, 0.5]), np.array([0.0, 1.0])
    >>> curves = {"fifo": flat, "age": steep, "random": flat}
    >>> list(recall_lines("age", {"fifo": 0.5, "age": 1.0, "random": 0.5}, curves))
    ['100.0%  age', '50.0%  fifo,\nrandom']
    """
    order = sorted(recall, key=lambda name: (name != best, -recall[name]))
    groups: list[list[str]] = []
    for name in order:
        for group in groups:
            if np.abs(curves[group[0]] - curves[name]).max() < ALIKE:
                group.append(name)
                break
        else:
            groups.append([name])
    return {
        f"{100 * recall[group[0]]:.1f}%  " + ",\n".join(group): curves[group[0]] for group in groups
    }
