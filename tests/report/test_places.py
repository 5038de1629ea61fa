from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SpecificationError
from penstock.report.places import file_place, picture_place


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (".", "demo.png"),
        ("new", "new/demo.png"),
        ("new/folder/", "new/folder/demo.png"),
        ("own.png", "own.png"),
        ("new/own.PDF", "new/own.PDF"),
    ],
)
def test_a_folder_or_a_file(
    given: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = picture_place(Path(given), "--output", "demo.png")
    assert found == Path(place)
    assert found.parent.is_dir()


def test_another_kind_of_picture_is_refused(tmp_path: Path) -> None:
    words = r"--output must be a folder, or a file that ends in \.png, \.svg or \.pdf; got '.*gif'"
    with pytest.raises(SpecificationError, match=words):
        picture_place(tmp_path / "demo.gif", "--output", "demo.png")


def test_a_file_without_suffix_that_exists_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    with pytest.raises(SpecificationError, match="must be a folder, or a file that ends in"):
        picture_place(tmp_path / "notes", "--output", "demo.png")


def test_a_file_is_no_parent(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    with pytest.raises(SpecificationError, match="--json must be a file that can be written"):
        file_place(tmp_path / "notes" / "figures.json", "--json")


def test_what_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.report.places.os.access", lambda *_: False)
    with pytest.raises(SpecificationError, match=r"can be written \(permission denied\)"):
        file_place(tmp_path / "figures.json", "--json")
