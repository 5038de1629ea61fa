"""Operator throttling: how much of its work an operator is to do, by how well it keeps up."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import SpecificationError, must

__all__ = ["Throttle"]


@dataclass
class Throttle:
    """The share of its full work that an operator may do, adapted from its input buffers.

    Parameters
    ----------
    boost
        gamma: the fraction is multiplied by it whenever the operator keeps up; above 1.
    fraction
        z, the fraction to begin with; above 0, at most 1.

    Examples
    --------
    >>> throttle = Throttle(boost=1.2)
    >>> throttle.adapt(popped=150, pushed=200)  # three quarters of what came was taken
    0.75
    >>> throttle.adapt(popped=200, pushed=200)
    0.8999999999999999
    >>> throttle.adapt(popped=0, pushed=0)  # there was nothing to do
    1.0

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 3.1: beta, z and gamma; the printed "gamma * r"
    is gamma times the old z. The paper gives gamma for its Figure 2 only, 1.2. Rows that a full
    buffer refuses count as pushed. Otherwise beta is near 1 in any overload, and z never falls.
    """

    boost: float = 1.2
    fraction: float = 1.0

    # Below this a fraction could not recover in the time that a study takes.
    _LEAST = 1e-6

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.boost > 1.0:
            raise SpecificationError(
                must("boost", "above 1", self.boost, "it is what the fraction is multiplied by")
            )
        if not 0.0 < self.fraction <= 1.0:
            raise SpecificationError(
                must("fraction", "above 0 and at most 1", self.fraction, "begin with 1")
            )

    def adapt(self, *, popped: float, pushed: float) -> float:
        """Set the fraction by what happened since the last time, and return it.

        Parameters
        ----------
        popped
            Rows of all streams that the operator took from its buffers.
        pushed
            Rows of all streams that came, those that a full buffer refused among them.
        """
        beta = popped / pushed if pushed > 0 else 1.0
        if beta < 1.0:
            self.fraction = max(self._LEAST, beta * self.fraction)
        else:
            self.fraction = min(1.0, self.boost * self.fraction)
        return self.fraction
