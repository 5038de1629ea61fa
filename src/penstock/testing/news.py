"""News of two agencies: stories that begin, are reported for some hours, and end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.durations import to_units
from penstock.errors import SpecificationError, must
from penstock.testing._arguments import check_at_least, check_count
from penstock.testing.zipf import zipf_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NEWS_HOURS", "News", "news"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEWS_HOURS: Mapping[str, tuple[int, ...]] = MappingProxyType({
    #              from 0  3   6   9  12  15  18  21 o'clock
    "politics":        (2, 3, 10, 12, 11,  9,  6,  3),
    "business":        (2, 4, 11, 10,  9,  9,  3,  2),
    "sports":          (2, 1,  3,  4,  6,  9, 14, 10),
    "science":         (1, 1,  3,  5,  5,  4,  3,  1),
    "weather":         (1, 3,  5,  2,  2,  2,  3,  2),
    "celebrities":     (2, 2,  4,  5,  6,  7,  9,  7),
})  # fmt: skip
"""Relative number of stories of each topic that begin in each three hours of a day."""

# Subjects and predicates of each topic. A headline has one of each.
_WORDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "politics": (
        ("Minister", "Parliament", "Opposition", "Mayor", "President"),
        ("rejects new budget", "calls early vote", "signs border treaty", "faces inquiry"),
    ),
    "business": (
        ("Steel maker", "Carmaker", "Airline", "Chip maker", "Retailer"),
        ("cuts forecast", "raises prices", "agrees to merger", "reports record loss"),
    ),
    "sports": (
        ("Champion", "Home side", "Young striker", "Veteran coach", "Favourite"),
        ("wins in extra time", "out with injury", "signs for three years", "loses the final"),
    ),
    "science": (
        ("Space probe", "New vaccine", "Telescope", "Fusion team", "Deep-sea survey"),
        ("passes first test", "finds what nobody expected", "is delayed", "sets a record"),
    ),
    "weather": (
        ("Storm", "Heavy snow", "Heat wave", "Flood", "Fog"),
        ("moves in from the west", "closes airports", "to last all week", "eases at last"),
    ),
    "celebrities": (
        ("Pop star", "Film couple", "Royal cousin", "Chat show host", "Influencer"),
        ("says sorry", "is engaged", "sells the villa", "leaves the series"),
    ),
}
_KINDS = ("", ": update", ": what we know", ": analysis", ": in pictures", ": reactions")

_SECOND = 1_000_000  # times are in microseconds
_BLOCK = 3 * 3600 * _SECOND
_DAY = 8 * _BLOCK
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, eq=False)
class News:
    """The items of two news agencies, each in order of time.

    Attributes
    ----------
    herald, courier
        Columns ``story`` (int64), ``topic``, ``headline`` (string) and ``at``
        (timestamp[us, UTC]); in order of ``at``. Items on the same story have the same topic.
    """

    herald: pa.Table
    courier: pa.Table


def news(
    *,
    stories: int = 3_000,
    items_per_story: float = 12.0,
    zipf: float = 0.5,
    life: str | timedelta = "2 hours",
    days: int = 1,
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    seed: int = 0,
) -> News:
    """Generate the items that two news agencies report.

    Stories begin all day long, in each topic mostly at its own hours (`NEWS_HOURS`): politics and
    business in the morning, sports in the evening. Both agencies report each story, one more than
    the other, at a rate that rises quickly and then falls slowly. The number of items of a story
    is random and does not depend on its topic. The first day also has items on the stories of the
    day before.

    Parameters
    ----------
    stories
        Stories that begin in a day, on average; at least 1.
    items_per_story
        Mean number of items, of both agencies together.
    zipf
        Skew of the items: the story of rank k gets items in proportion to k ** -zipf. With 0 all
        get the same. The ranks are given to stories at random.
    life
        Mean time of an item after the beginning of its story, for the median story. Two thirds of
        all stories have between 0.6 and 1.6 times this mean.
    days
        Number of days.
    start
        Start of the first day. Without a time zone it is taken as UTC.
    seed
        The same seed and parameters give the same news.

    Returns
    -------
    News
        The tables of the two agencies.

    Examples
    --------
    >>> day = news(stories=100, seed=1)
    >>> day.herald.num_rows, day.courier.num_rows
    (538, 759)
    >>> day.herald.column_names
    ['story', 'topic', 'headline', 'at']

    References
    ----------
    The scenario is that of Kulkarni and Ravishankar, iJoin: Importance-aware Join Approximation
    over Data Streams, section 1. All numbers are ours.
    """
    check_count("stories", stories)
    check_count("days", days)
    check_at_least("items_per_story", items_per_story, 0)
    mean_age = to_units(life, _SECOND, "life", "the times of news are timestamps")
    if mean_age < 1:
        requirement = "a duration of at least a microsecond"
        raise SpecificationError(must("life", requirement, life, "give a longer one"))
    begin_by, heat_by, age_by, words_by = np.random.default_rng(seed).spawn(4)

    begin = start if start.tzinfo else start.replace(tzinfo=UTC)
    first = (begin - _EPOCH) // timedelta(microseconds=1)
    midnight = first - first % _DAY - _DAY
    begun, topic = _beginnings(stories * (days + 2), midnight, days + 2, begin_by)

    items = round(stories * (days + 2) * items_per_story)
    heat = heat_by.permutation(zipf_weights(len(begun), zipf))
    story = np.repeat(np.arange(len(begun)), heat_by.multinomial(items, heat))
    lives = mean_age * age_by.lognormal(0, 0.5, len(begun))
    # A gamma density of shape 2 starts at 0, has its top at half of the mean, and falls slowly.
    at = begun[story] + (lives[story] * age_by.gamma(2, 0.5, len(story))).astype(np.int64)
    # Most stories are reported about equally by both; in one of eighteen one agency has 90 % of
    # the items or more.
    herald = age_by.random(len(story)) < age_by.beta(2, 2, len(begun))[story]
    order = np.argsort(at, kind="stable")
    order = order[(at[order] >= first) & (at[order] < first + days * _DAY)]

    headlines = _headlines(topic, words_by)
    kinds = pa.array(_KINDS).take(pa.array(words_by.integers(len(_KINDS), size=len(story))))
    topics = pa.array(list(NEWS_HOURS)).take(pa.array(topic))

    def table(rows: Integers) -> pa.Table:
        stories_of_rows = pa.array(story[rows])
        return pa.table(
            {
                "story": stories_of_rows,
                "topic": topics.take(stories_of_rows),
                "headline": pc.binary_join_element_wise(
                    headlines.take(stories_of_rows), kinds.take(pa.array(rows)), ""
                ),
                "at": pa.array(at[rows]).cast(_TIME),
            }
        )

    return News(herald=table(order[herald[order]]), courier=table(order[~herald[order]]))


def _beginnings(
    stories: int, midnight: int, days: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw the time at which each story begins, and its topic, in order of time."""
    hours: Floats = np.array(list(NEWS_HOURS.values()), dtype=np.float64)
    cell = generator.choice(hours.size, size=stories, p=hours.ravel() / hours.sum())
    topic, block = np.divmod(cell, hours.shape[1])
    day = generator.integers(days, size=stories)
    begun = midnight + day * _DAY + block * _BLOCK + generator.integers(_BLOCK, size=stories)
    order = np.argsort(begun, kind="stable")
    return begun[order], topic[order].astype(np.int64)


def _headlines(topic: Integers, generator: np.random.Generator) -> pa.StringArray:
    """Make one headline for each story."""
    draws = generator.integers(20, size=len(topic)).tolist()
    words = list(_WORDS.values())
    made = []
    for number, draw in zip(topic.tolist(), draws, strict=True):
        subjects, predicates = words[number]
        made.append(f"{subjects[draw % len(subjects)]} {predicates[draw % len(predicates)]}")
    return pa.array(made, pa.string())
