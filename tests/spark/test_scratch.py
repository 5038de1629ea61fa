"""Scratch folders: private, and removed by their process or, if it was killed, by the next one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from penstock.spark.scratch import PREFIX, ScratchFolder

if TYPE_CHECKING:
    from pathlib import Path

DIES = """
import os, tempfile
tempfile.tempdir = os.environ["FOLDER"]
from penstock.spark.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "spark.log").touch()
(folder.path / "blockmgr" / "00").mkdir(parents=True)
print(folder.path, flush=True)
input()  # until it is killed
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("FOLDER", str(tmp_path))
    return tmp_path


def test_the_folder_of_a_killed_process_is_removed_by_the_next(parent: Path) -> None:
    with subprocess.Popen(  # noqa: S603  # our own program
        [sys.executable, "-c", DIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        left = process.stdout.readline().strip()
        mine = ScratchFolder()
        # It runs: its folder stays.
        assert sorted(str(each) for each in parent.iterdir()) == sorted([left, str(mine.path)])
        process.kill()
    mine.remove()
    assert [str(each) for each in parent.iterdir()] == [left]
    ScratchFolder().remove()
    assert list(parent.iterdir()) == []


def test_folders_of_others_stay(parent: Path) -> None:
    other = parent / f"{PREFIX}without-a-lock"
    other.mkdir()
    (parent / "another-program").mkdir()
    ScratchFolder().remove()
    assert sorted(each.name for each in parent.iterdir()) == ["another-program", other.name]


def test_only_the_user_can_read_it(parent: Path) -> None:
    folder = ScratchFolder()
    assert folder.path.parent == parent
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.remove()
