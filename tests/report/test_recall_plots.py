from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import matplotlib.image
import numpy as np
import numpy.typing as npt
import pytest

from penstock.report.recall_plots import (
    CPU,
    MEMORY,
    BudgetAxis,
    BudgetQuestion,
    _spread,
    save_budget_plot,
    save_recall_plot,
)

if TYPE_CHECKING:
    from pathlib import Path


def draw(path: Path, names: list[str]) -> None:
    bins = np.linspace(1.0, 0.1, 10)
    save_recall_plot(
        path,
        edges=np.arange(11.0),
        recall={name: bins / number for number, name in enumerate(names, start=1)},
        labels={name: f"the {name} line" for name in names},
        title="How much is left?",
        subtitle="of something",
        mark=(3.0, "something happens"),
    )


def test_picture_has_its_size_and_something_on_it(tmp_path: Path) -> None:
    draw(tmp_path / "plot.png", ["exact", "fifo", "random"])
    image = matplotlib.image.imread(tmp_path / "plot.png")
    assert image.shape[:2] == (700, 1200)
    assert 0.02 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5


def test_words_are_on_the_picture(tmp_path: Path) -> None:
    with_words = tmp_path / "plot.svg"
    draw(with_words, ["exact", "fifo", "random"])
    text = with_words.read_text()
    words = ["the fifo line", "How much is left?", "of something", "something happens"]
    for each in [*words, "recall (% of the exact results)", "time since the streams began (days)"]:
        assert f"<!-- {each} -->" in text


def test_each_line_has_a_colour_of_its_own(tmp_path: Path) -> None:
    draw(tmp_path / "plot.svg", ["exact", "a", "b", "c", "d", "e", "f"])
    text = (tmp_path / "plot.svg").read_text().lower()
    for colour in ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"):
        assert colour in text


def test_bins_without_results_are_left_out(tmp_path: Path) -> None:
    save_recall_plot(
        tmp_path / "plot.png",
        edges=np.arange(4.0),
        recall={"exact": np.array([np.nan, 1, 1]), "empty": np.full(3, np.nan)},
        labels={"exact": "exact", "empty": "empty"},
        title="",
        subtitle="",
    )
    assert (tmp_path / "plot.png").exists()


def test_labels_do_not_cover_each_other() -> None:
    spread = _spread({"a": 8.0, "b": 8.1, "c": 9.0, "exact": 100.0})
    assert list(spread) == ["a", "b", "c", "exact"]
    assert np.diff(list(spread.values())).min() == pytest.approx(4.6)
    assert spread["exact"] == 100.0


def test_matplotlib_is_loaded_for_drawing_only() -> None:
    code = "import sys, penstock.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


Floats = npt.NDArray[np.float64]

ROWS = np.linspace(0, 4_000, 11)


def draw_budget(
    path: Path, question: BudgetQuestion, amounts: Floats = ROWS, axis: BudgetAxis = MEMORY
) -> None:
    even = amounts / amounts[-1]
    save_budget_plot(
        path,
        axis=axis,
        amounts=amounts,
        recall={"31.6%  age": np.sqrt(even), "10.0%  random": even, "1.0%  fifo": even**2},
        title="How much?",
        subtitle="of something",
        question=question,
    )


def test_picture_of_memory_has_its_size_and_something_on_it(tmp_path: Path) -> None:
    draw_budget(tmp_path / "plot.png", BudgetQuestion(400, 0.9, 3_240))
    image = matplotlib.image.imread(tmp_path / "plot.png")
    assert image.shape[:2] == (700, 1200)
    assert 0.02 < (image[..., :3] < 0.9).any(axis=2).mean() < 0.5


def test_words_of_memory_are_on_the_picture(tmp_path: Path) -> None:
    draw_budget(tmp_path / "plot.svg", BudgetQuestion(400, 0.9, 3_240))
    text = (tmp_path / "plot.svg").read_text()
    words = ["How much?", "of something", "31.6%  age", "1.0%  fifo", "budget: 400 rows"]
    for each in [*words, "90% takes 3,240 rows", "recall with 400 rows", "1,600 rows"]:
        assert f"<!-- {each} -->" in text


@pytest.mark.parametrize("rows", [4_000.0, 9_000.0])
def test_a_budget_beyond_the_axis_is_not_drawn(rows: float, tmp_path: Path) -> None:
    draw_budget(tmp_path / "plot.svg", BudgetQuestion(rows, 1.0, 4_000))
    text = (tmp_path / "plot.svg").read_text()
    assert ("<!-- budget: 4,000 rows -->" in text) is (rows <= 4_000)
    assert "budget: 9,000 rows" not in text


def test_words_of_the_processor_are_on_the_picture(tmp_path: Path) -> None:
    question = BudgetQuestion(0.05, 0.9, 0.162)
    draw_budget(tmp_path / "plot.svg", question, np.linspace(0, 0.2, 11), CPU)
    text = (tmp_path / "plot.svg").read_text()
    words = ["budget: 5% of a core", "90% takes 16.2% of a core", "recall with 5% of a core"]
    for each in [*words, "processor (% of the work that the exact join takes)", "8% of a core"]:
        assert f"<!-- {each} -->" in text
