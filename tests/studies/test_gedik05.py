"""The studies of GrubJoin: small grids of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.image
import pytest

from penstock.studies import STUDIES
from penstock.studies.gedik05_fig7 import STUDY as FIG7
from penstock.studies.gedik05_fig7 import OptimalityPoint
from penstock.studies.grub_points import GrubPoint, gain, measure_grub
from penstock.studies.harvest_problems import KINDS, Kind
from penstock.studies.run import measure_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = [name for name in STUDIES if name.startswith("gedik05")]


@pytest.fixture(scope="module")
def rows_of() -> Callable[[str], list[Any]]:
    measured: dict[str, list[Any]] = {}

    def rows(name: str) -> list[Any]:
        if name not in measured:
            measured[name] = measure_here(STUDIES[name], quick=True)
        return measured[name]

    return rows


def test_all_figures_are_there() -> None:
    assert [f"gedik05-fig{number}" for number in (2, *range(7, 16))] == NAMES


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("throttle", [0.05, 0.2, 0.5])
def test_best_harvest_is_within_1_percent_of_the_optimum(kind: Kind, throttle: float) -> None:
    row = FIG7.run(OptimalityPoint(kind, throttle, "best_harvest", problems=40))
    assert row.mean > 0.99
    assert row.worst > 0.9


def test_best_delta_is_below_it_at_small_z(rows_of: Callable[[str], list[Any]]) -> None:
    found = {(row.kind, row.throttle, row.contender): row for row in rows_of("gedik05-fig7")}
    for kind in KINDS:
        assert found[kind, 0.1, "best-delta"].mean < found[kind, 0.1, "best_harvest"].mean
        for row in found.values():
            assert 0.0 <= row.worst <= row.low <= row.mean <= 1.0 + 1e-9


def test_figure_11_at_200_rows_per_second() -> None:
    """The figures that the paper prints as the most: +65 % aligned, +150 % not aligned.

    Fixed seeds. Here the gains are several times as large, so nothing hangs on chance.
    """
    for lags, least in (((0.0, 0.0, 0.0), 1.65), ((0.0, 5.0, 15.0), 2.5)):
        grub, drop = (
            measure_grub(GrubPoint(name, 200.0, lags)).output for name in ("grub", "random-drop")
        )
        assert grub > least * drop


def test_figure_13_with_five_streams_not_aligned() -> None:
    """The paper: up to +700 %. Here +744 % in the mean of three seeds; this is one of them."""
    lags, deviations = (0.0, 5.0, 15.0, 10.0, 2.0), (2.0, 2.0, 50.0, 50.0, 50.0)
    grub, drop = (
        measure_grub(GrubPoint(name, 100.0, lags, deviations)).output
        for name in ("grub", "random-drop")
    )
    assert grub > 8.0 * drop


def test_the_throttle_falls_in_a_burst_and_rises_after_it(
    rows_of: Callable[[str], list[Any]],
) -> None:
    (row,) = rows_of("gedik05-fig2")
    before, after = row.fractions[row.times == 24.0], row.fractions[row.times >= 32.0]
    assert after.min() < 0.6 * before[0]


def test_larger_buffers_refuse_fewer_rows(rows_of: Callable[[str], list[Any]]) -> None:
    small, large = rows_of("gedik05-fig15")
    assert large.point.buffer > small.point.buffer
    assert large.dropped < small.dropped


def test_gains_are_shown_in_percent() -> None:
    assert gain(1.0, 2.0) == "-50 %"
    assert gain(1.0, 0.0) == "none found"


@pytest.mark.parametrize("name", NAMES)
def test_tables_and_pictures(
    name: str, rows_of: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    rows = rows_of(name)
    table = STUDIES[name].table(rows)
    assert table.rows
    assert all(len(row) == len(table.headings) for row in table.rows)
    STUDIES[name].draw(rows, tmp_path / "picture.png")
    image = matplotlib.image.imread(tmp_path / "picture.png")
    assert image.shape[1] == 1200
    assert 0.005 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5
