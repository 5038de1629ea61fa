from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.studies.test_command import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.slow
def test_on_spark_a_study_finds_the_same(tmp_path: Path) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    common = ("run", "srivastava04-fig5", "--quick", "--output", str(tmp_path))
    run(*common, "--local", "--json", str(here))
    run(*common, "--json", str(there))
    assert json.loads(here.read_text()) == json.loads(there.read_text())
