"""Choice of the model that predicts best, with a margin so that it does not go back and forth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Evidence"]

Floats = npt.NDArray[np.float64]

# Another model is followed once its log-likelihood is higher by this (odds of e**5 to 1).
_MARGIN = 5.0
# The first change also needs this many matches, unless the lead is beyond doubt: two or three
# monitored rows can agree with any model.
_ENOUGH = 50.0
_BEYOND_DOUBT = 4 * _MARGIN
# Any row may match: predictions are at least this part of the mean.
_LEAST = 0.02


class Evidence:
    """How well each model has predicted the number of matches recently.

    Models are compared by the likelihood of the observed matches, as Poisson numbers.

    Parameters
    ----------
    names
        Names of the models. The first one is followed until there is enough evidence. The last
        one includes the others.

    Attributes
    ----------
    followed
        Index of the model that is followed.
    is_decided
        Whether it was chosen by evidence.

    Examples
    --------
    >>> evidence = Evidence(["age", "prob"])
    >>> came = np.array([0.0, 90.0, 0.0, 110.0])
    >>> predicted = [np.full(4, 50.0), np.array([10.0, 90, 10, 90])]
    >>> evidence.add(predicted, came, weights=np.ones(4), fade=1.0), evidence.followed
    (True, 1)
    >>> evidence.leads().round(1).tolist()
    [117.6, 0.0]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.followed = 0
        self._scores = np.zeros(len(names))
        self._seen = 0.0  # matches that the scores are based on, faded
        self.is_decided = False

    def add(self, predicted: Sequence[Floats], came: Floats, weights: Floats, fade: float) -> bool:
        """Compare predictions with observed matches; return whether another model is followed now.

        Parameters
        ----------
        predicted
            For each model, the matches that it expected of each row.
        came
            The observed matches of each row.
        weights
            Weights of the rows; 1 on average.
        fade
            Factor by which earlier evidence is reduced.
        """
        self._scores *= fade
        self._seen = self._seen * fade + float(came.sum())
        floor = _LEAST * max(float(np.mean(came)), 1e-12)
        rates = np.maximum(np.stack(predicted), floor)
        self._scores += np.sum(weights * (came * np.log(rates) - rates), axis=1)
        ahead = float(self._scores.max() - self._scores[self.followed])
        if self._seen < _ENOUGH and ahead < _BEYOND_DOUBT and not self.is_decided:
            return False
        # The last model includes the others, and so fits if one of them does: it is preferred
        # in the first decision.
        favour = np.zeros(self._scores.size)
        if not self.is_decided:
            favour[[name == self.names[-1] for name in self.names]] = 2 * _MARGIN
        self.is_decided = True
        leads = self._scores + favour - self._scores[self.followed]
        best = int(np.argmax(leads))
        if leads[best] <= _MARGIN:
            return False
        self.followed = best
        return True

    def leads(self) -> Floats:
        """Return how far each model is behind the best one; 0 for the best itself."""
        leads: Floats = self._scores.max() - self._scores
        return leads

    def by_name(self) -> tuple[dict[str, int], dict[str, float]]:
        """Return whether each name is followed, and how far its best model is behind the best one.

        Both are empty if there is only one name.
        """
        names = list(dict.fromkeys(self.names))
        if len(names) == 1:
            return {}, {}
        leads = self.leads()
        follows = {name: int(name == self.names[self.followed]) for name in names}
        behind = {
            name: float(
                min(lead for each, lead in zip(self.names, leads, strict=True) if each == name)
            )
            for name in names
        }
        return follows, behind

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the state, for `restore`."""
        return {
            "evidence": np.append(self._scores, self._seen),
            "followed": np.array([self.followed, int(self.is_decided)]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state."""
        *scores, self._seen = saved["evidence"].tolist()
        self._scores = np.array(scores)
        self.followed, self.is_decided = int(saved["followed"][0]), bool(saved["followed"][1])
