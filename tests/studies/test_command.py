from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from penstock import cli
from penstock.studies import STUDIES

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, ["study", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_has_all_studies() -> None:
    lines = run("list").splitlines()
    assert lines[0].split() == ["study", "what", "it", "shows", "figure", "of"]
    assert [line.split()[0] for line in lines[1:]] == list(STUDIES)
    assert "Srivastava and Widom 2004" in lines[1]


def test_a_run_prints_a_table_and_says_where_the_picture_is(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    text = run(
        *("run", "srivastava04-fig5", "--quick", "--local"),
        *("--output", str(tmp_path / "pictures"), "--json", str(figures)),
    )
    picture = tmp_path / "pictures" / "penstock-srivastava04-fig5.png"
    assert picture.read_bytes().startswith(PNG)
    assert text.startswith("Age curve of a trace of two sites (Srivastava and Widom 2004")
    assert f"The picture: {picture}" in text
    assert f"The figures, for programs: {figures}" in text
    found = json.loads(figures.read_text())
    assert found["study"] == "srivastava04-fig5"
    assert found["quick"] is True
    assert [row["way"] for row in found["rows"]] == ["sample", "pass", "law"]


def test_json_to_standard_output_is_alone_there(tmp_path: Path) -> None:
    text = run(
        *("run", "srivastava04-fig5", "--quick", "--local", "--json", "-"),
        *("--output", str(tmp_path)),
    )
    assert json.loads(text)["notes"]


def test_an_unknown_study_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["study", "run", "srivastava04-fig66"])
    assert ended.value.code == 2
    words = capsys.readouterr().err
    assert words.count("\n") == 1
    assert 'did you mean "srivastava04-fig6"?' in words


def test_a_picture_of_another_kind_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["study", "run", "drift", "--output", str(tmp_path / "picture.gif")])
    assert ended.value.code == 2
    assert "--output must be a folder, or a file that ends in .png" in capsys.readouterr().err
