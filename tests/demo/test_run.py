from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.demo import Demonstration, demonstrate, scenario
from penstock.errors import SpecificationError
from tests.demo.support import HALF_DAY, START, in_process, micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def small() -> Demonstration:
    ticks = count(step=3)
    return demonstrate(
        auctions=500,
        memory="30%",
        seed=3,
        clock=lambda: float(next(ticks)),
        runner=in_process,
    )


def test_figures_are_consistent(small: Demonstration) -> None:
    exact, *shed = small.runs
    assert exact.recall == 1.0
    assert exact.evicted == exact.dropped == 0
    assert exact.results == small.bids  # every bid is for an auction that is open
    assert small.budget_rows == int(0.3 * exact.rows_most)
    for found in shed:
        assert found.recall == found.results / exact.results
        assert 0 < found.recall < 1
        assert found.rows_most <= small.budget_rows < exact.rows_most
        assert found.evicted + found.dropped > 0


def test_speed_leaves_out_the_first_micro_batch(small: Demonstration) -> None:
    for found in small.runs:
        assert sum(found.batch_rows) == small.auctions + small.bids
        assert len(found.batch_rows) == 8
        assert found.thousand_rows_per_second == sum(found.batch_rows[1:]) / 14 / 1_000
        assert found.seconds == 3.0


def test_recall_in_bins_adds_up_to_recall(small: Demonstration) -> None:
    result = scenario.join(seed=3).replay(scenario.tables(500, seed=3)).result
    days = Counter(((micros(result["time"]) - START) // HALF_DAY).tolist())
    for found in small.runs:
        bins = np.nan_to_num(found.recall_in_bins)
        assert sum(recall * days[day] for day, recall in enumerate(bins)) == pytest.approx(
            found.results
        )
        assert ((bins >= 0) & (bins <= 1)).all()


def test_with_all_of_the_memory_nothing_is_lost() -> None:
    found = demonstrate(auctions=150, memory="100%", runner=in_process)
    assert [run.recall for run in found.runs] == [1.0, 1.0, 1.0, 1.0]


def test_each_step_is_told_and_how_far_it_is() -> None:
    said: list[str] = []

    @contextmanager
    def step(words: str) -> Iterator[Callable[[str], None]]:
        said.append(words)
        yield lambda how_far: said.append(f"{words} {how_far}")

    found = demonstrate(auctions=100, step=step, runner=in_process)
    first = found.runs[0].batch_rows[0]
    assert said[:6] == [
        "Opening the auctions and placing the bids ...",
        "Compiling the kernels (first run only) ...",
        "Starting Spark ...",
        "Exact join ...",
        "Exact join ... batch 1 of 8, 0 rows done",
        f"Exact join ... batch 2 of 8, {first:,} rows done",
    ]
    assert said[-1].startswith("Join with best in ")
    assert said[-1].endswith(f"batch 8 of 8, {sum(found.runs[0].batch_rows):,} rows done")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"auctions": 5}, "auctions must be at least 100; got 5; fewer show nothing"),
        ({"memory": "10"}, "memory must be a percentage above 0% and at most 100%; got '10'"),
        ({"memory": "101%"}, "memory must be a percentage above 0% and at most 100%"),
        ({"seed": -1}, "seed must be a whole number from 0"),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(options: dict[str, object], words: str) -> None:
    def start(**_: object) -> Iterator[None]:
        pytest.fail("Spark was started")

    with pytest.raises(SpecificationError, match=f"^{words}"):
        demonstrate(runner=start, **options)  # type: ignore[arg-type]


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(SpecificationError, match=r"memory must be at least 4 of the \d+ rows"):
        demonstrate(auctions=100, memory="0.5%", runner=in_process)
