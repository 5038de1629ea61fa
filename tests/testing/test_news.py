from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import SpecificationError
from penstock.testing import NEWS_HOURS, News, news

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def both(day: News) -> pa.Table:
    return pa.concat_tables([day.herald, day.courier]).sort_by("at")


def test_schemas() -> None:
    day = news(stories=20)
    for table in (day.herald, day.courier):
        assert table.schema == pa.schema(
            [
                ("story", pa.int64()),
                ("topic", pa.string()),
                ("headline", pa.string()),
                ("at", pa.timestamp("us", tz="UTC")),
            ]
        )
        table.validate(full=True)


def test_the_same_seed_gives_the_same_news() -> None:
    one, same, other = (news(stories=100, seed=seed) for seed in (5, 5, 6))
    assert one.herald.equals(same.herald)
    assert one.courier.equals(same.courier)
    assert not one.herald.equals(other.herald)


def test_items_are_in_order_of_time_and_within_the_days() -> None:
    start = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    day = news(stories=500, days=2, start=start, seed=1)
    for table in (day.herald, day.courier):
        assert (np.diff(table["at"].cast(pa.int64()).to_numpy()) >= 0).all()
        first, last = table["at"][0].as_py(), table["at"][-1].as_py()
        assert start <= first < start + timedelta(minutes=30)
        assert start + timedelta(days=2, minutes=-30) < last < start + timedelta(days=2)


def test_a_day_has_as_many_items_as_its_stories_get() -> None:
    items = both(news(stories=3_000, items_per_story=12, zipf=0, seed=2)).num_rows
    # Stories of one day are a random third of those of three days: 3,000 give or take 45, with 12
    # items each.
    assert abs(items - 36_000) < 5 * 12 * 45


def test_a_start_without_zone_is_utc() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 -- that is the case
    assert news(stories=50, start=naive).herald.equals(news(stories=50, start=MIDNIGHT).herald)


def test_a_story_has_one_topic_and_one_headline_with_additions() -> None:
    items = both(news(stories=300, seed=3))
    plain = pc.list_element(pc.split_pattern(items["headline"], ":", max_splits=1), 0)
    told = pa.table({"story": items["story"], "topic": items["topic"], "plain": plain})
    kinds = told.group_by("story").aggregate(
        [("topic", "count_distinct"), ("plain", "count_distinct")]
    )
    assert set(kinds["topic_count_distinct"].to_pylist()) == {1}
    assert set(kinds["plain_count_distinct"].to_pylist()) == {1}
    assert pc.count_distinct(items["headline"]).as_py() > pc.count_distinct(plain).as_py() > 50


def test_stories_of_a_topic_are_born_at_its_hours() -> None:
    # With lives of a microsecond an item comes when its story is born.
    items = both(news(stories=40_000, items_per_story=1, zipf=0, life="1 microsecond", seed=4))
    blocks = pc.divide(pc.hour(items["at"]), 3).to_numpy()
    total = sum(map(sum, NEWS_HOURS.values()))
    for topic, hours in NEWS_HOURS.items():
        here = pc.equal(items["topic"], topic).to_numpy()
        found = np.bincount(blocks[here], minlength=8) / items.num_rows
        shares = np.array(hours) / total
        # Items of one story come together, about two for each that has any.
        assert (np.abs(found - shares) < 5 * np.sqrt(2 * shares / items.num_rows)).all()


def test_stories_run_as_hot_in_all_topics() -> None:
    # Lives are short, so that no story is cut off by the end of the day.
    items = both(news(stories=20_000, zipf=0.3, life="1 second", seed=5))
    counts = items.group_by(["story", "topic"]).aggregate([("at", "count")])
    every = counts["at_count"].to_numpy()
    for topic in NEWS_HOURS:
        here = every[pc.equal(counts["topic"], topic).to_numpy()]
        assert abs(here.mean() - every.mean()) < 5 * every.std() / np.sqrt(here.size)


def test_hot_stories_get_items_by_zipf() -> None:
    def items_of(zipf: float) -> npt.NDArray[np.int64]:
        story = both(news(stories=1_000, items_per_story=60, zipf=zipf, days=3, seed=6))["story"]
        counts = np.bincount(story.to_numpy())
        return np.sort(counts)[::-1]

    alike, skewed = items_of(0.0), items_of(1.0)
    assert alike[0] < 2 * 60  # Poisson of mean 60
    # Of 5,000 stories of 5 days; the hottest may have been on a day that is not given.
    expected = 300_000 / np.arange(1, 11) / np.sum(1 / np.arange(1, 5_001))
    assert 0.1 * expected[0] < skewed[0] < 1.05 * expected[0]
    assert skewed[0] > 10 * alike[0]


def test_a_story_runs_hot_and_dies() -> None:
    items = both(news(stories=200, items_per_story=100, zipf=0, life="1 hour", days=3, seed=7))
    spans = items.group_by("story").aggregate([("at", "min"), ("at", "max"), ("at", "count")])
    spans = spans.filter(pc.greater(spans["at_count"], 50))
    hours = pc.divide(
        pc.seconds_between(spans["at_min"], spans["at_max"]).cast(pa.float64()), 3600
    ).to_numpy()
    # The last of 100 items is about 4 mean ages old; lives vary by a factor of 1.6.
    assert 2 < np.median(hours) < 6
    assert hours.max() < 24


def test_most_stories_are_told_by_both_agencies() -> None:
    day = news(stories=2_000, items_per_story=40, zipf=0, life="1 second", seed=8)
    ours, theirs = (set(each["story"].to_pylist()) for each in (day.herald, day.courier))
    assert len(ours & theirs) > 0.95 * len(ours | theirs)
    assert 0.9 < day.herald.num_rows / day.courier.num_rows < 1.1


def test_a_day_may_have_no_news() -> None:
    day = news(stories=5, items_per_story=0)
    assert day.herald.num_rows == day.courier.num_rows == 0
    assert day.herald.schema == news(stories=5).herald.schema


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"stories": 0}, "stories must be a whole number, at least 1; got 0"),
        ({"days": 0.5}, "days must be a whole number, at least 1; got 0.5"),
        ({"items_per_story": -1}, "items_per_story must be a finite number, at least 0; got -1"),
        ({"zipf": float("nan")}, "zipf must be a finite number, at least 0; got nan"),
        ({"life": "0 seconds"}, "life must be a duration of at least a microsecond"),
        ({"life": "a while"}, "life must be a duration"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        news(**arguments)
