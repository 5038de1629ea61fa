"""Words for which model of the streams a join follows, and why."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Models that differ by less of what they find are said to find as much.
_ALIKE = 0.01


def describe_choice(
    follows: Mapping[str, int],
    tried: Mapping[str, float],
    behind: Mapping[str, float],
    variance_of: int | None = None,
) -> str | None:
    """Return which model of the streams is followed, and why; None if there is no choice.

    Parameters
    ----------
    follows
        Number of shards that follow each model.
    tried
        What each has found on trial.
    behind
        How far each is behind by the logarithm of its likelihood.
    variance_of
        Number of shards, where `behind` is a logarithm of variances.

    Examples
    --------
    >>> describe_choice({"age": 1, "prob": 0}, {"age": 20.0, "prob": 15.0}, {})
    'age: finds more than prob by 25%, tried on a sample of the rows'
    """
    if not follows:
        return None
    most = max(follows, key=lambda name: follows[name])
    shards = sum(follows.values())
    of = f" in {follows[most]} of {shards} shards" if shards > 1 else ""
    if any(tried.values()):
        return f"{most}{of}: finds {_found_by_others(tried, most)}, tried on a sample of the rows"
    if not any(behind.values()):
        return f"{most}{of}: there is no evidence yet"
    if variance_of is not None:
        return f"{most}{of}: {_variance_with(behind, most, variance_of)}"
    others = [
        f"{name} by {value - behind[most]:.0f}" for name, value in behind.items() if name != most
    ]
    if not others:
        return most
    better = " and ".join(others)
    return f"{most}{of}: has predicted matches better than {better} (logarithm of likelihood)"


def _found_by_others(tried: Mapping[str, float], followed: str) -> str:
    """Return how much less than the followed one the others have found.

    >>> _found_by_others({"age": 200.0, "prob": 199.0, "fifo": 150.0, "expected": 180.0}, "age")
    'as much as prob, more than expected by 10% and fifo by 25%'
    """
    less = {
        name: 1.0 - found / max(tried[followed], 1e-300)
        for name, found in tried.items()
        if name != followed
    }
    least = sorted(less, key=lambda name: less[name])
    alike = [name for name in least if less[name] < _ALIKE]
    others = [f"{name} by {less[name]:.0%}" for name in least if name not in alike]
    said = [
        f"{words} {_listed(names)}"
        for words, names in (("as much as", alike), ("more than", others))
        if names
    ]
    return ", ".join(said)


def _variance_with(behind: Mapping[str, float], followed: str, shards: int) -> str:
    """Return how a total varies with the sample of clusters that is followed."""
    return " and ".join(
        f"a total has {math.exp((behind[followed] - value) / shards):.2g} of the "
        f"variance that it has with {name}"
        for name, value in behind.items()
        if name != followed
    )


def _listed(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([*filter(None, [", ".join(words[:-1])]), words[-1]])
