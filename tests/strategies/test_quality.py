"""How much of the answer strategies give that learn, beside what the formulas promise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

import penstock as ps
from penstock.demo import scenario
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.frequency_output import frequency_output
from penstock.strategies.division import divide
from penstock.testing import age_model, frequency_model

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa

    from penstock.strategies import Strategy
    from penstock.testing import AgeModel, Correlation, FrequencyModel

    Floats = npt.NDArray[np.float64]

_WINDOW = 500.0
_WARM_UP = 2 * _WINDOW


def recall(join: ps.Join, tables: dict[str, pa.Table], *, of: int) -> float:
    """Return the share of the results from the end of the warm-up on."""
    times = join.replay(tables).result["time"].to_numpy()
    return float((times >= _WARM_UP).sum() / of)


# --- Age


@cache
def by_age(shape: str, scale: float) -> AgeModel:
    return age_model(
        curve=shape,
        rate_1=20 * scale,
        rate_2=100 * scale,
        window=_WINDOW,
        duration=4000,
        arrivals="mean-rate",
    )


@cache
def age_recall(
    shape: str, memory: float, strategy: str | Strategy | None, scale: float = 1.0
) -> float:
    model = by_age(shape, scale)
    join = ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=_WINDOW),
            "s2": ps.Stream(time="time", window=0.0),
        },
        on=ps.Equal("id"),
        goal=ps.MaxSubset(strategy=strategy),
        budget=ps.Budget(rows=round(memory * 20 * scale * _WINDOW)),
    )
    came, times = model.s2["id"].to_numpy(), model.s2["time"].to_numpy()
    # Each row of s2 that refers to a row gives one result.
    exact = int(((came >= 0) & (times >= _WARM_UP)).sum())
    return recall(join, {"s1": model.s1, "s2": model.s2}, of=exact)


def age_theory(shape: str, memory: float) -> float:
    """Return the recall of eq. 3; all results are of rows of s1 that waited."""
    curve = AgeCurve(by_age(shape, 1.0).curve)
    made = curve.output(memory * 20 * _WINDOW, rate=20, window=_WINDOW)
    return float(made / (20 * curve.total))


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.1, 0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_age_comes_near_to_equation_3(shape: str, memory: float) -> None:
    allowed = 0.04 if memory < 0.2 else 0.02
    assert age_recall(shape, memory, "age") >= (1 - allowed) * age_theory(shape, memory)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_the_choice_is_as_good_as_the_better_of_both_by_age(shape: str, memory: float) -> None:
    found = {each: age_recall(shape, memory, each) for each in ("age", "prob", None)}
    # With little memory and BELL it takes a window longer to see which is better: 0.945 here.
    bound = 0.93 if (shape, memory) == ("BELL", 0.1) else 0.97
    assert found[None] >= bound * max(found["age"], found["prob"])


@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_on_trial_the_right_one_is_found_although_another_is_better_at_first(shape: str) -> None:
    found = age_recall(shape, 0.4, None)
    assert found >= 0.97 * age_recall(shape, 0.4, "age")


@pytest.mark.parametrize("shape", ["INC", "DEC", "BELL"])
def test_age_comes_near_to_equation_3_in_a_small_join(shape: str) -> None:
    """A twentieth of the rates, and so of what is learned from: within a tenth."""
    assert age_recall(shape, 0.4, "age", 0.05) >= 0.9 * age_theory(shape, 0.4)


# --- Frequency


@cache
def by_value(correlation: Correlation, zipf: float) -> FrequencyModel:
    return frequency_model(
        zipf=zipf,
        correlation=correlation,
        rate_1=20,
        rate_2=2,
        duration=3000,
        arrivals="mean-rate",
    )


def value_tables(correlation: Correlation, zipf: float) -> dict[str, pa.Table]:
    model = by_value(correlation, zipf)
    return {"s1": model.s1, "s2": model.s2}


@cache
def exact_by_value(correlation: Correlation, zipf: float) -> tuple[Floats, Floats]:
    """Count each value's results from the end of the warm-up on, by the stream that waited."""
    model = by_value(correlation, zipf)
    times = [table["time"].to_numpy() for table in (model.s1, model.s2)]
    keys = [table["key"].to_numpy() for table in (model.s1, model.s2)]
    counts = np.zeros((2, model.frequencies_1.size))
    for key in range(model.frequencies_1.size):
        held = [t[k == key] for t, k in zip(times, keys, strict=True)]
        for s in (0, 1):
            probing = held[1 - s][held[1 - s] >= _WARM_UP]
            since = np.searchsorted(held[s], probing - _WINDOW, side="left")
            counts[s, key] = (np.searchsorted(held[s], probing, side="left") - since).sum()
    return counts[0], counts[1]


def value_recall(
    correlation: Correlation,
    zipf: float,
    rows: float,
    goal: ps.MaxSubset,
    window_2: float = 0.0,
) -> float:
    join = ps.Join(
        streams={
            "s1": ps.Stream(time="time", window=_WINDOW),
            "s2": ps.Stream(time="time", window=window_2),
        },
        on=ps.Equal("key"),
        goal=goal,
        budget=ps.Budget(rows=round(rows)),
    )
    exact = exact_by_value(correlation, zipf)
    whole = exact[0].sum() + (exact[1].sum() if window_2 else 0)
    return recall(join, value_tables(correlation, zipf), of=int(whole))


def value_theory(correlation: Correlation, zipf: float, rows: float) -> float:
    """Return the recall of section 3.3 for s1's window, with the rows that really came.

    With the frequencies from which they were drawn the formula is off by up to a third where a few
    rare rows give most of the result (IC, Zipf 2): that is chance, and none of the strategy's.
    """
    model = by_value(correlation, zipf)
    keys, times = model.s1["key"].to_numpy(), model.s1["time"].to_numpy()
    came = np.bincount(keys[times >= _WARM_UP - _WINDOW], minlength=model.frequencies_1.size)
    order = np.argsort(-model.frequencies_2, kind="stable")
    needed = np.cumsum(came[order] / came.sum() * 20 * _WINDOW)
    made = np.cumsum(exact_by_value(correlation, zipf)[0][order])
    return float(np.interp(rows, [0, *needed], [0, *made]) / made[-1])


CORRELATIONS: tuple[Correlation, ...] = ("DC", "IC", "UC")
_ROWS_1 = 20 * _WINDOW  # of s1's whole window


def known(correlation: Correlation, zipf: float) -> ps.MaxSubset:
    model = by_value(correlation, zipf)
    shares = {
        "s1": dict(enumerate(model.frequencies_1.tolist())),
        "s2": dict(enumerate(model.frequencies_2.tolist())),
    }
    return ps.MaxSubset(strategy="prob", frequencies=shares)


def check_values(correlation: Correlation, zipf: float, memory: float) -> None:
    rows = memory * _ROWS_1
    theory = value_theory(correlation, zipf, rows)
    prob, age, choice = (
        value_recall(correlation, zipf, rows, ps.MaxSubset(strategy=strategy))
        for strategy in ("prob", "age", None)
    )
    # With frequencies that are given, what the formula says; learned ones are less exact.
    assert value_recall(correlation, zipf, rows, known(correlation, zipf)) >= 0.98 * theory
    assert prob >= 0.95 * theory
    assert choice >= 0.97 * max(prob, age)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("zipf", [0.5, 1.0])
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_prob_comes_near_to_section_3_3_and_the_choice_to_prob(
    correlation: Correlation, zipf: float, memory: float
) -> None:
    check_values(correlation, zipf, memory)


def test_prob_comes_near_to_section_3_3_in_one_case() -> None:
    check_values("UC", 1.0, 0.3)


def two_windows_theory(correlation: Correlation, zipf: float, rows: float) -> float:
    """Return the recall of section 3.3 with two windows, memory divided for the best."""
    model = by_value(correlation, zipf)
    rates, shares = (20.0, 2.0), (model.frequencies_1, model.frequencies_2)

    def made_by(s: int) -> Callable[[Floats], Floats]:
        return lambda rows: frequency_output(
            rows,
            own=shares[s],
            partner=shares[1 - s],
            rate=rates[s],
            partner_rate=rates[1 - s],
            window=_WINDOW,
        )

    outputs = [made_by(0), made_by(1)]
    parts = divide(rows, outputs)
    made = sum(float(output(np.array(part))) for output, part in zip(outputs, parts, strict=True))
    whole = [float(made_by(s)(np.array(rates[s] * _WINDOW))) for s in (0, 1)]
    return made / sum(whole)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.3, 0.5])
@pytest.mark.parametrize("zipf", [0.5, 1.0])
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_memory_is_divided_well_between_two_windows(
    correlation: Correlation, zipf: float, memory: float
) -> None:
    rows = memory * 22 * _WINDOW
    theory = two_windows_theory(correlation, zipf, rows)
    prob, age, choice = (
        value_recall(correlation, zipf, rows, ps.MaxSubset(strategy=strategy), _WINDOW)
        for strategy in ("prob", "age", None)
    )
    assert prob >= 0.95 * theory
    assert choice >= 0.97 * max(prob, age)


# --- The market


@pytest.mark.slow
def test_on_the_market_the_choice_gives_twice_what_fifo_and_random_do() -> None:
    tables = scenario.tables(20_000, seed=0)
    emitted = {
        strategy: scenario.join(strategy=strategy, rows=511, seed=0).replay(tables).metrics.emitted
        for strategy in ("fifo", "random", "age", "prob", None)
    }
    choice = emitted.pop(None)
    assert choice >= 2 * emitted["fifo"]
    assert choice >= 2 * emitted["random"]
    assert choice >= 0.97 * max(emitted.values())
