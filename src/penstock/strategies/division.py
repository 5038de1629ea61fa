"""How memory is divided between the streams: so that all windows together give most results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.expected_importance import relative_importance
from penstock.statistics.outlook import Outlook
from penstock.statistics.score_output import score_output
from penstock.strategies.grades import ABOVE, BELOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.strategies.scoring import ScoringStrategy
    from penstock.strategies.view import View

__all__ = ["divide", "outputs_of", "score_grades", "shares_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Memory is dealt out in so many pieces.
_PIECES = 200
# Groups of rows that matter alike, by which memory is divided.
_GROUPS = 16
# A difference between streams is one if it is so many times as large as what chance makes of it.
_SURE = 2.0


def divide(rows: float, outputs: Sequence[Callable[[Floats], Floats]]) -> tuple[float, ...]:
    """Divide memory so that the sum of what the streams' windows give is greatest.

    Parameters
    ----------
    rows
        M, rows to divide.
    outputs
        For each stream, the results per unit of time that its window gives for so many rows.

    Returns
    -------
    tuple of float
        M_i of each stream; they add up to M. Of equally good divisions the one nearest to equal
        parts.

    Examples
    --------
    >>> divide(100, [lambda rows: np.minimum(rows, 30), lambda rows: rows / 2])
    (30.0, 70.0)
    >>> divide(100, [lambda rows: rows, lambda rows: rows])
    (50.0, 50.0)

    References
    ----------
    `srivastava04` 3.2.2 and 3.3: M1 + M2 = M that maximise the recall of the whole join.
    """
    grid = rows * np.arange(_PIECES + 1) / _PIECES
    equal = _PIECES / len(outputs)
    # Off the equal part costs next to nothing, but something: it decides between equals.
    away = (np.abs(np.arange(_PIECES + 1) - equal) / _PIECES) ** 2
    gains = [np.asarray(output(grid), np.float64) for output in outputs]
    scale = max(float(sum(gain[-1] for gain in gains)), np.finfo(float).tiny)
    gains = [gain - 1e-6 * scale * away for gain in gains]
    best = gains[0]
    choices = []
    for gain in gains[1:-1]:
        # total[k, j]: j pieces to this stream, k - j to those before it.
        k, j = np.indices((_PIECES + 1, _PIECES + 1))
        total = np.where(j <= k, best[k - j] + gain[j], -np.inf)
        choices.append(total.argmax(axis=1))
        best = total.max(axis=1)
    # The last stream and those before it take all there is.
    pieces = [int((best[::-1] + gains[-1]).argmax()) if len(gains) > 1 else _PIECES]
    left = _PIECES - pieces[0]
    for choice in reversed(choices):
        pieces.append(int(choice[left]))
        left -= pieces[-1]
    if len(gains) > 1:
        pieces.append(left)
    return tuple(rows * piece / _PIECES for piece in reversed(pieces))


def score_grades(weights: Floats, grades_per_octave: int) -> Integers:
    """Return the grades of rows with such weights: their logarithms, rounded.

    >>> score_grades(np.array([0.0, 1.0, 2.0, 1e9]), grades_per_octave=2).tolist()
    [0, 28, 30, 40]
    """
    weights = np.maximum(weights, 1e-300)
    grades = np.floor(grades_per_octave * np.log2(weights) + 0.5).astype(np.int64)
    return np.clip(grades + grades_per_octave * BELOW, 0, grades_per_octave * (BELOW + ABOVE))


def shares_of(view: View, model: ScoringStrategy, strategy: ScoringStrategy) -> tuple[float, ...]:
    """Divide memory between the streams by what a model makes of it: half of the way.

    Parameters
    ----------
    view
        What is known.
    model
        The model of the streams that is followed.
    strategy
        The strategy that follows it: whether importance and fairness count.
    """
    streams = view.streams
    if not any(each.outlook.pace > 0 for each in streams) or not view.elapsed:
        return tuple(each.share for each in streams)
    now = np.array([each.share for each in streams])
    outputs = outputs_of(view, model, strategy)
    rows = view.room or 0
    wanted = np.array(divide(rows, outputs)) / rows
    if strategy.fairness:
        # As many rows of each stream as come in its window: all then stay equally long.
        alive = np.array([each.outlook.rate * each.outlook.curve.parts for each in streams])
        equal = alive / max(alive.sum(), 1e-9)
        wanted = (1 - strategy.fairness) * wanted + strategy.fairness * equal
    return tuple(((now + wanted) / 2).tolist())


def outputs_of(
    view: View, model: ScoringStrategy, strategy: ScoringStrategy
) -> list[Callable[[Floats], Floats]]:
    """Return, for each stream, what its window makes of a number of rows by a model; see `divide`.

    Parameters
    ----------
    view, model, strategy
        As for `shares_of`.
    """
    streams = view.streams
    by_importance = strategy.needs.importance
    outlooks = [_by_key(view, s, model, by_importance=by_importance) for s in range(len(streams))]
    made = [partial(model.output, outlook) for outlook in outlooks]
    if by_importance and all(each.importance.size for each in streams):
        made = [
            _worth(view, s, outlooks, model, strategy.grades_per_octave)  # type: ignore[misc]
            for s in range(len(streams))
        ]
    return [
        partial(_made_of, len(streams), output, outlook, stream.part)
        for output, outlook, stream in zip(made, outlooks, streams, strict=True)
    ]


def _by_key(view: View, s: int, model: ScoringStrategy, *, by_importance: bool) -> Outlook:
    """Return the outlook for the division of memory.

    By the frequencies of all keys if that is what the model goes by, and for importance: the few
    rows that are monitored need not have a hot key among them. If the model goes by nothing
    else, rows match as fast as rows come.
    """
    outlook, keys = view.streams[s].outlook, view.streams[s].keys
    wanted = model.needs_fresh or (by_importance and model.needs.frequencies)
    if keys is None or not wanted:
        return outlook
    curve = outlook.curve
    if model.needs_fresh:
        pace = np.prod([each.rate for o, each in enumerate(view.streams) if o != s])
        curve = AgeCurve(np.full(curve.parts, pace * view.streams[s].part))
    return Outlook(curve, outlook.rate, keys.relative, keys.rows)


def _worth(
    view: View, s: int, outlooks: list[Outlook], model: ScoringStrategy, grades_per_octave: int
) -> Callable[[Floats], Floats]:
    """Return the worth that a stream's window makes of rows, per part of a life.

    Importance is taken to have nothing to do with keys and ages.
    """
    outlook, stream = outlooks[s], view.streams[s]
    matters = relative_importance(
        view.goal.result,
        stream.importance,
        stream.usual_importance,
        [each.importance for o, each in enumerate(view.streams) if o != s],
    )
    groups = np.arange(0, matters.size, max(1, matters.size // _GROUPS))
    sizes = np.diff(groups, append=matters.size)
    matters = np.add.reduceat(matters, groups) / sizes
    likely, rows = np.ones(1), np.ones(1)
    if model.needs.frequencies and outlook.likeliness.size:
        likely, rows = outlook.likeliness, outlook.weights
    weights = np.multiply.outer(likely, matters).ravel()
    shares = np.multiply.outer(rows / rows.sum(), sizes / sizes.sum()).ravel()
    grades = score_grades(weights, grades_per_octave)
    in_all = np.bincount(grades, shares)
    some = np.flatnonzero(in_all)
    return partial(
        score_output,
        matches=outlook.curve.matches * _doubted(view, s, outlooks),
        weights=np.bincount(grades, shares * weights)[some] / in_all[some],
        shares=in_all[some],
        rate=outlook.rate,
    )


def _doubted(view: View, s: int, outlooks: list[Outlook]) -> float:
    """Return the factor by which a stream's curve is brought nearer to the other stream's.

    Of two streams a pair is as likely to match whichever comes first, unless ages matter. The
    monitored rows are few, and where memory would as well go to one stream as to the other,
    chance must not give it all to one.
    """
    if len(outlooks) != 2 or min(each.pace * each.rate for each in outlooks) <= 0:
        return 1.0
    mine, other = outlooks[s], outlooks[1 - s]
    # Results per time squared, of all rows that could stay.
    gap = np.log(mine.pace * mine.rate / view.streams[s].part ** 2)
    gap -= np.log(other.pace * other.rate / view.streams[1 - s].part ** 2)
    noise = 0.0
    for stream, outlook in zip(view.streams, outlooks, strict=True):
        likely, rows = outlook.likeliness, outlook.weights
        spread = 1.0
        if likely.size:
            spread = float(rows @ likely**2 * rows.sum() / (rows @ likely) ** 2)
        lived = view.lived / (stream.part * outlook.curve.parts)
        lives = min(max(lived, 1.0), view.half_life / np.log(2))
        monitored = max(stream.outlook.weights.size, 1)
        noise += (spread + 1.0 / outlook.curve.total) / (monitored * lives)
    # The share of the gap that chance explains; all of it if there is hardly a gap.
    explained = _SURE**2 * noise
    chance = 1.0 if explained >= gap**2 else explained / gap**2
    return float(np.exp(-chance * gap / 2))


def _made_of(
    streams: int, output: Callable[[Floats], Floats], outlook: Outlook, part: float, rows: Floats
) -> Floats:
    """Return what a window makes of rows: results per time, or the logarithm of a share.

    A result of two streams needs one row that waits, of either stream, so what both give adds
    up. One of more streams needs a row of each of the others, so shares are multiplied.
    """
    made = output(rows)
    if streams == 2:
        return made / part
    most = outlook.rate * outlook.curve.total
    return np.log(np.maximum(made / most, 1e-3)) if most else np.zeros(rows.size)
