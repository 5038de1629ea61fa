"""The settings of a session that `session` starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.session import LOG, _settings

if TYPE_CHECKING:
    from pathlib import Path


def test_a_task_is_tried_again(tmp_path: Path) -> None:
    # Under a plain local[2] a job fails with the first task that fails.
    assert _settings(2, "1g", None, tmp_path)["spark.master"] == "local[2,4]"


def test_the_log_is_where_the_user_wants_it(tmp_path: Path) -> None:
    assert _settings(2, "1g", None, tmp_path)[LOG] == str(tmp_path / "spark.log")
    assert _settings(2, "1g", "mine.log", tmp_path)[LOG] == "mine.log"
