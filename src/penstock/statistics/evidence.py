"""Which of several models predicts best, with the reasons, and without changing back and forth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Evidence"]

Floats = npt.NDArray[np.float64]

# Another model is followed once it has predicted better by so much (logarithm of likelihood: the
# odds are e**5 to 1).
_MARGIN = 5.0
# And, the first time, rests on so many matches, unless it is beyond doubt: two or three watched
# tuples can agree with anything.
_ENOUGH = 50.0
_BEYOND_DOUBT = 4 * _MARGIN
# No tuple is so hopeless that it could not match: predictions are at least this part of the mean.
_LEAST = 0.02


class Evidence:
    """How well each model has predicted numbers of matches, of late.

    Models are compared by the likelihood of what came, with numbers of matches taken as Poisson's.

    Parameters
    ----------
    names
        Of the models; the first one is followed until there is something to go by. The last one
        includes the others.

    Attributes
    ----------
    followed
        The model that is followed.
    is_decided
        Whether it was chosen for something that came.

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
        self._seen = 0.0  # matches on which all of this rests
        self.is_decided = False

    def add(self, predicted: Sequence[Floats], came: Floats, weights: Floats, fade: float) -> bool:
        """Compare predictions with what came; say whether another model is followed from now on.

        Parameters
        ----------
        predicted
            For each model, the matches that it expected of each tuple.
        came
            The matches of each tuple.
        weights
            Of the tuples; 1 on average.
        fade
            What counted until now counts so much less.
        """
        self._scores *= fade
        self._seen = self._seen * fade + float(came.sum())
        floor = _LEAST * max(float(np.mean(came)), 1e-12)
        rates = np.maximum(np.stack(predicted), floor)
        self._scores += np.sum(weights * (came * np.log(rates) - rates), axis=1)
        ahead = float(self._scores.max() - self._scores[self.followed])
        if self._seen < _ENOUGH and ahead < _BEYOND_DOUBT and not self.is_decided:
            return False
        # The last one follows from the others where they are right: at first it has the benefit
        # of the doubt.
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
        """Give by how much the best model has predicted better than each: 0 for itself."""
        leads: Floats = self._scores.max() - self._scores
        return leads

    def by_name(self) -> tuple[dict[str, int], dict[str, float]]:
        """Give whether each name is followed, and how far its best model is behind the best.

        Nothing if there is only one name.
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
        """Give the state, for `restore`."""
        return {
            "evidence": np.append(self._scores, self._seen),
            "followed": np.array([self.followed, int(self.is_decided)]),
        }

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on where the saved one stopped."""
        *scores, self._seen = saved["evidence"].tolist()
        self._scores = np.array(scores)
        self.followed, self.is_decided = int(saved["followed"][0]), bool(saved["followed"][1])
