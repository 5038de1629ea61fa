"""How memory is to be divided between two streams, by what candidates on trial have found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["TrialDivision"]

Floats = npt.NDArray[np.float64]

# Two more candidates are as the one that is followed, but value rows of the first stream more, or
# less, by this factor: they say how memory is to be divided.
_STEP = float(np.log(1.5))
_MOST = 10 * _STEP
# What the followed candidate holds of each stream is averaged over about so many divisions.
_AVERAGED = 4.0


class TrialDivision:
    """How much more each model values rows of the first stream than its scores say.

    Parameters
    ----------
    models
        How many there are. Two candidates follow them, which are as the model that is followed,
        with more memory for the first stream and with less.

    Attributes
    ----------
    candidates
        The models, and the two.
    tilts
        Of each model the logarithm of the factor that rows of the first stream are valued by.
    shares
        Of each stream: what the followed candidate holds of it, averaged.
    settled
        Divisions that this is averaged over.

    Examples
    --------
    >>> division = TrialDivision(3)
    >>> division.candidates, division.more, division.less
    (5, 3, 4)
    >>> division.follow(0, best=division.more)
    True
    >>> division.factors().round(3).tolist()
    [1.5, 1.0, 1.0]
    """

    def __init__(self, models: int) -> None:
        self.candidates = models + 2
        self.more, self.less = models, models + 1
        self.tilts: Floats = np.zeros(models)
        self.shares: Floats = np.full(2, 0.5)
        self.settled = 0.0

    def factors(self) -> Floats:
        """Return by what each model values rows of the first stream more."""
        factors: Floats = np.exp(self.tilts)
        return factors

    def further(self) -> tuple[tuple[int, float], ...]:
        """Return the two candidates, and by what they value them more than the followed model."""
        return (self.more, float(np.exp(_STEP))), (self.less, float(np.exp(-_STEP)))

    def follow(self, followed: int, best: int) -> bool:
        """Divide as the best candidate does; return whether it is the followed model, tilted."""
        if best not in (self.more, self.less):
            if best != followed:
                self.settled = 0.0
            return False
        self.tilts[followed] += _STEP if best == self.more else -_STEP
        self.tilts[followed] = np.clip(self.tilts[followed], -_MOST, _MOST)
        return True

    def average(self, held: Floats) -> None:
        """Take in what the followed candidate holds of each stream."""
        if held.sum() > 0:
            self.settled = min(self.settled + 1.0, _AVERAGED)
            self.shares = self.shares + (held / held.sum() - self.shares) / self.settled
