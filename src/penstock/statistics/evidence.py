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
# odds are e**5 to 1), and by this part of what there is to be gained by predicting at all.
_MARGIN = 5.0
# No tuple is so hopeless that it could not match: predictions are at least this part of the mean.
_LEAST = 0.02


class Evidence:
    """How well each model has predicted numbers of matches, of late.

    Models are compared by the likelihood of what came, with numbers of matches taken as Poisson's.

    Parameters
    ----------
    names
        Of the models; the first one is followed until there is something to go by.

    Examples
    --------
    >>> evidence = Evidence(["age", "prob"])
    >>> came = np.array([0.0, 9.0, 0.0, 11.0])
    >>> predicted = [np.full(4, 5.0), np.array([1.0, 9, 1, 9])]
    >>> evidence.add(predicted, came, weights=np.ones(4), fade=1.0), evidence.followed
    (True, 1)
    >>> evidence.leads().round(1).tolist()
    [19.9, 0.0]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.followed = 0
        self._scores = np.zeros(len(names))

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
        floor = _LEAST * max(float(np.mean(came)), 1e-12)
        for number, expected in enumerate(predicted):
            rate = np.maximum(expected, floor)
            self._scores[number] += float(np.sum(weights * (came * np.log(rate) - rate)))
        best = int(np.argmax(self._scores))
        if self._scores[best] - self._scores[self.followed] > _MARGIN:
            self.followed = best
            return True
        return False

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
        return {"evidence": self._scores.copy(), "followed": np.array([self.followed])}

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on where the saved one stopped."""
        self._scores = saved["evidence"].astype(np.float64)
        self.followed = int(saved["followed"].item())
