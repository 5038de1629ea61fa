from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np
import pytest

from penstock.report.memory_plot import Wish, save_memory_plot

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.linspace(0, 4_000, 11)


def draw(path: Path, wish: Wish) -> None:
    even = ROWS / ROWS[-1]
    save_memory_plot(
        path,
        rows=ROWS,
        recall={"31.6%  age": np.sqrt(even), "10.0%  random": even, "1.0%  fifo": even**2},
        title="How much?",
        subtitle="of something",
        wish=wish,
    )


def test_picture_has_its_size_and_something_on_it(tmp_path: Path) -> None:
    draw(tmp_path / "plot.png", Wish(400, 0.9, 3_240))
    image = matplotlib.image.imread(tmp_path / "plot.png")
    assert image.shape[:2] == (700, 1200)
    assert 0.02 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5


def test_words_are_on_the_picture(tmp_path: Path) -> None:
    draw(tmp_path / "plot.svg", Wish(400, 0.9, 3_240))
    text = (tmp_path / "plot.svg").read_text()
    words = ["How much?", "of something", "31.6%  age", "1.0%  fifo", "budget: 400 rows"]
    for each in [*words, "90% takes 3,240 rows", "recall with 400 rows", "1,600 rows"]:
        assert f"<!-- {each} -->" in text


@pytest.mark.parametrize("rows", [4_000.0, 9_000.0])
def test_a_budget_beyond_the_axis_is_not_drawn(rows: float, tmp_path: Path) -> None:
    draw(tmp_path / "plot.svg", Wish(rows, 1.0, 4_000))
    text = (tmp_path / "plot.svg").read_text()
    assert ("<!-- budget: 4,000 rows -->" in text) is (rows <= 4_000)
    assert "budget: 9,000 rows" not in text
