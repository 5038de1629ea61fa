"""When residence priorities are recomputed (`kulkarni08` 4.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.errors import SpecificationError, must

__all__ = ["Adaptive", "EveryFew", "Recomputation", "Successive"]


class Recomputation(Protocol):
    """A rule that is asked before every decision."""

    def due(self, decision: int, quality: float, before: float) -> bool:
        """Return whether priorities are to be recomputed.

        Parameters
        ----------
        decision
            Number of this decision of the stream, from 0.
        quality, before
            Importance of the results since the last decision, and between the two before it.
        """


@dataclass(frozen=True)
class Successive:
    """Successive: at every decision.

    Examples
    --------
    >>> Successive().due(7, quality=1.0, before=1.0)
    True
    """

    def due(self, decision: int, quality: float, before: float) -> bool:  # noqa: ARG002 -- always
        """Return whether priorities are to be recomputed: always."""
        return True


@dataclass(frozen=True)
class EveryFew:
    """k-Successive: at the first of every k decisions of a stream.

    Parameters
    ----------
    k
        At least 1; the paper never says which. Table 6 has a tenth of all decisions.

    Examples
    --------
    >>> [EveryFew(3).due(each, 1.0, 1.0) for each in range(4)]
    [True, False, False, True]
    """

    k: int = 10

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SpecificationError(must("k", "at least 1", self.k, "1 is Successive"))

    def due(self, decision: int, quality: float, before: float) -> bool:  # noqa: ARG002 -- counts
        """Return whether priorities are to be recomputed: by the count alone."""
        return decision % self.k == 0


@dataclass(frozen=True)
class Adaptive:
    """Adaptive: by how much the quality of consecutive executions of the join differs.

    An execution is what happens between two decisions of a stream, its quality the importance of
    its results; the difference is relative to the larger of the two, 0 if both are 0.

    Parameters
    ----------
    epsilon
        The threshold, from 0 to 1; the paper never says which.
    when
        The difference ``"reaches"`` epsilon, so that "lowering epsilon increases overhead" is
        true; or is ``"below"`` it, as the sentence before that has it. They exclude each other.

    Examples
    --------
    >>> Adaptive(0.5).due(7, quality=10.0, before=4.0), Adaptive(0.5).due(7, 10.0, 9.0)
    (True, False)
    """

    epsilon: float = 0.1
    when: Literal["reaches", "below"] = "reaches"

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise SpecificationError(
                must("epsilon", "from 0 to 1", self.epsilon, "it is a share of the quality")
            )

    def due(self, decision: int, quality: float, before: float) -> bool:
        """Return whether priorities are to be recomputed: the first time, then by the quality."""
        larger = max(quality, before)
        difference = abs(quality - before) / larger if larger else 0.0
        reached = difference >= self.epsilon
        return decision == 0 or reached == (self.when == "reaches")
