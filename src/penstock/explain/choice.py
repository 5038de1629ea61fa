"""Which strategy to choose, and the words for why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.planning import Prediction

__all__ = ["ALIKE", "OWN_CHOICE", "Choice", "choose"]

OWN_CHOICE = "own choice"
"""What stands for no strategy's name: the join then chooses for itself, and may change its mind."""

ALIKE = 0.005
"""Recalls that differ by less are alike: no sample tells them apart."""

# What the join's own choice may fall short of the best that was tried, relatively: it is the
# safer one, as it follows when the streams change.
_SHORT_OF_BEST = 0.03


class Choice(NamedTuple):
    """A strategy's name, or `OWN_CHOICE`, and why it is chosen."""

    name: str
    why: str


def choose(
    prediction: Prediction, tried: Mapping[str, float], long: Callable[[float], str]
) -> Choice:
    """Choose what gave most when tried, or else what should give most.

    Parameters
    ----------
    prediction
        What the formulas expect.
    tried
        The recall of strategies that were run over the sample; empty if none was.
    long
        Says how long a time is.
    """
    recall = prediction.recall
    random = recall["random"]
    if tried:
        name = max(tried, key=tried.__getitem__)
        if tried.get(OWN_CHOICE, 0.0) >= (1 - _SHORT_OF_BEST) * tried[name]:
            name = OWN_CHOICE
        said = f"It gave {tried[name]:.1%} of the sample's results"
        random = tried.get("random", 0.0)
        return Choice(name, f"{said}{_times(tried[name], random)}.")
    if max(recall["age"], recall["prob"]) <= random + ALIKE:
        return Choice(
            OWN_CHOICE,
            "Neither a row's age nor what its value matched before it came tells which to keep: "
            "no formula sees more than random. What rows match while they wait may tell: --try "
            "shows it.",
        )
    best = prediction.best
    return Choice(best, f"{_reason(prediction, long)}{_times(recall[best], random)}.")


def _reason(prediction: Prediction, long: Callable[[float], str]) -> str:
    recall = prediction.recall
    if prediction.best == "prob":
        return (
            "What a row's value matched in the first half of the sample foretells what it matches "
            "in the second, better than its age does"
        )
    if recall["age"] <= recall["fifo"] + ALIKE:
        return "Rows match soon after they came, so it keeps the most recent ones, as fifo does"
    streams = prediction.statistics.streams
    name = max(streams, key=lambda each: streams[each].waiting)
    part = streams[name].curve.best_age / streams[name].curve.parts
    age = f"up to the age of {long(part * streams[name].window)}"
    if part == 1.0:
        age = "to the end of their window"
    return f"Rows of {name} give most for their room if they are kept {age}, and it does so"


def _times(recall: float, random: float) -> str:
    """Compare with random, where it is worth a word.

    >>> _times(0.3, 0.2), _times(0.3, 0.3)
    (': 1.5 times what random gives', '')
    """
    if not random or recall / random < 1.05:
        return ""
    return f": {recall / random:.1f} times what random gives"
