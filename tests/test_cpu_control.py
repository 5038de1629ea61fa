"""Over any stretch of a window no more work is done than is allowed, and hardly less.

Stretches are of ten bursts, which is the longest window, and begin every half second after the
first review. What was kept from before a stretch counts as allowed in it: up to a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.testing import zipf_weights
from tests.work_control import spent_by, used_and_kept

if TYPE_CHECKING:
    from penstock.predicates import Predicate

WINDOWS = {"l": 3.0, "r": 5.0, "m": 4.0}
RATES = {"l": 1.0, "r": 1.5, "m": 1.2}
VALUES = 100
SHARE, BURST, STEP = 0.4, 0.5, 0.5
STRETCH = 10

STEPS = {
    "steady": ((0, 30, 200),),
    "five times as many": ((0, 15, 100), (15, 30, 500)),
    "a fifth": ((0, 15, 500), (15, 30, 100)),
}
# A step by five may take a review to be seen, and strategies by value have to learn what the rows
# in memory will find: stretches that end up to so many half seconds after it.
HALF_SECONDS_TO_SEE_A_STEP = {None: 3, "by-partner": 3, "max-subset": 1}


@dataclass(frozen=True)
class Case:
    """Streams, how they are joined, and how work is shed.

    Attributes
    ----------
    on
        "equal", "within" or "apart": values without any that are frequent.
    rows
        That may be in memory; None if only work is limited.
    result
        What a result costs; an insertion costs 1.
    """

    on: str
    streams: str
    strategy: str | None
    rows: int | None = None
    result: float = 0.2

    def tables(self, parts: tuple[tuple[float, float, int], ...]) -> dict[str, pa.Table]:
        draw = np.random.default_rng(5)
        tables = {}
        for stream in self.streams:
            times = np.concatenate(
                [
                    np.sort(draw.uniform(a, b, int(RATES[stream] * rate * (b - a))))
                    for a, b, rate in parts
                ]
            )
            keys = draw.choice(VALUES, times.size, p=zipf_weights(VALUES, 1.0)).astype(np.float64)
            if self.on == "apart":
                keys = draw.uniform(0, 30, times.size)
            elif self.on == "within":
                keys += draw.uniform(0, 1, times.size)
            tables[stream] = pa.table({"time": times, "key": keys})
        return tables

    @property
    def join(self) -> ps.Join:
        """Less than half of what the exact join takes is allowed, at any of the rates."""
        costs = ps.Costs(insert=1.0, result=self.result).times(1 / 2_000)
        on: Predicate = ps.Equal("key")
        if self.on != "equal":
            on = ps.Within(0.5, **dict.fromkeys(self.streams, "key"))
        strategy = (
            self.strategy if self.rows is None or not self.strategy else {"cpu": self.strategy}
        )
        return ps.Join(
            streams={name: ps.Stream(time="time", window=WINDOWS[name]) for name in self.streams},
            on=on,
            goal=ps.MaxSubset(strategy=strategy),
            budget=ps.Budget(cpu=SHARE, costs=costs, burst=BURST, rows=self.rows),
        )

    def __str__(self) -> str:
        limits = "" if self.rows is None else ", both limits"
        return f"{len(self.streams)} {self.on}, {self.strategy}{limits}"


CASES = [
    *(Case("equal", "lr", name) for name in (None, "probe-no-insert", "coin-flip", "max-subset")),
    *(Case("within", "lr", name) for name in (None, "probe-no-insert", "coin-flip", "max-subset")),
    *(Case("equal", "lrm", name, result=0.002) for name in (None, "coin-flip")),
    *(Case("apart", "lrm", name, result=0.02) for name in (None, "coin-flip")),
    *(
        Case(on, "lr", name, rows=800)
        for on in ("equal", "within")
        for name in (None, "coin-flip", "max-subset")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("parts", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_stretch_has_more_work_than_was_allowed_and_kept(
    case: Case, parts: tuple[tuple[float, float, int], ...]
) -> None:
    spent = np.array(spent_by(case.join, case.tables(parts), STEP))
    allowed = SHARE * STEP * STRETCH
    used, kept = used_and_kept(spent, STRETCH, allowed)
    most = np.full(used.size, 1.02)
    for start, _, _ in parts[1:]:
        seen = int(start / STEP) - STRETCH
        most[seen : seen + HALF_SECONDS_TO_SEE_A_STEP.get(case.strategy, 0)] = 1.05
    assert np.all(used[2:] <= most[2:])
    # Without what was kept from before, which is up to a tenth of what a stretch allows.
    assert np.all(np.diff(spent[::STRETCH, 0])[1:] <= 1.12 * allowed)
    # Where the account is full all rows take all steps: after a step down there is no more to do
    # until windows are filled again.
    is_full = spent[:, 1] >= 0.95 * SHARE * BURST
    had_more_to_do = ~np.array([is_full[at : at + STRETCH + 1].any() for at in range(kept.size)])
    assert np.all((kept >= 0.95)[2:] | ~had_more_to_do[2:])
    assert had_more_to_do[2:].sum() > 10


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_where_not_all_rows_can_be_inserted_no_more_is_done_than_allowed(share: float) -> None:
    # All insertions would take 0.5 s of each second, and all chances of the account fall to a
    # quarter of what was decided at least.
    case = Case("equal", "lr", "insert-no-probe")
    budget = case.join.budget
    assert budget is not None
    join = replace(case.join, budget=replace(budget, cpu=share / 2))
    metrics = join.replay(case.tables(((0, 20, 400),))).metrics
    assert 0.9 * metrics.work_allowed < metrics.work <= 1.02 * metrics.work_allowed
