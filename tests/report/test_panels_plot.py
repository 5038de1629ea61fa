from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np

from penstock.report.panels_plot import Line, Panel, save_panels_plot
from penstock.report.plot_style import Pen

if TYPE_CHECKING:
    from pathlib import Path

MEMORY = np.linspace(0.1, 1, 10)
RISING = Line(Pen("rising", "#D55E00"), MEMORY, MEMORY)
DOTS = Line(Pen("dots alone", "#222222", "none", dot="o"), MEMORY, np.sqrt(MEMORY))


def draw(path: Path, panels: list[Panel], *, x_percent: bool = True, columns: int = 3) -> None:
    save_panels_plot(
        path,
        panels=panels,
        title="How much is left?",
        subtitle="of something",
        x_title="memory in words",
        y_title="recall in words",
        x_percent=x_percent,
        columns=columns,
    )


def test_rows_of_panels_make_the_picture_taller(tmp_path: Path) -> None:
    panel = Panel("one", [RISING, DOTS])
    draw(tmp_path / "one.png", [panel])
    draw(tmp_path / "three.png", [panel] * 3)
    draw(tmp_path / "six.png", [panel] * 6)
    one, three, six = (
        matplotlib.image.imread(tmp_path / f"{name}.png") for name in ("one", "three", "six")
    )
    assert one.shape == three.shape
    assert six.shape[0] > three.shape[0]
    assert six.shape[1] == three.shape[1] == 1200
    for image in (one, three, six):
        assert 0.01 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5


def test_words_are_on_the_picture_and_each_line_is_named_once(tmp_path: Path) -> None:
    panels = [Panel("left", [RISING, DOTS], (0.5, "something happens")), Panel("right", [DOTS])]
    draw(tmp_path / "plot.svg", panels)
    text = (tmp_path / "plot.svg").read_text()
    words = ["How much is left?", "of something", "left", "right", "something happens"]
    for each in [*words, "rising", "dots alone", "recall in words"]:
        assert text.count(f"<!-- {each} -->") == 1
    assert text.count("<!-- memory in words -->") == 2


def test_what_is_not_a_number_is_left_out(tmp_path: Path) -> None:
    gap = Line(Pen("gap", "#0072B2"), MEMORY, np.where(MEMORY > 0.5, MEMORY, np.nan))
    none = Line(Pen("nothing", "#0072B2"), MEMORY, np.full(10, np.nan))
    draw(tmp_path / "plot.png", [Panel("", [gap, none])], x_percent=False)
    assert (tmp_path / "plot.png").exists()
