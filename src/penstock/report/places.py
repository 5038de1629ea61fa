"""Where output goes: checked before the work starts, not after it is done."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import SpecificationError, must

__all__ = ["STDOUT", "file_place", "picture_place"]

STDOUT = Path("-")
"""What stands for standard output where a file is asked for."""

_PICTURES = (".png", ".svg", ".pdf")


def picture_place(given: Path, option: str, name: str) -> Path:
    """Return the file in which a picture is to be saved, and make its folder if there is none.

    Parameters
    ----------
    given
        A file, or a folder for a file of that `name`. A path that does not exist yet is a file if
        it has a suffix, and a folder otherwise.
    option
        The option that it was given for, as the user wrote it.
    name
        Name of the file in a folder.

    Returns
    -------
    Path
        A file that can be written.

    Raises
    ------
    SpecificationError
        If it is of another kind than ``.png``, ``.svg`` and ``.pdf``, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture_place(Path(folder), "--output", "demo.png").name
    'demo.png'
    """
    is_folder = given.is_dir() or (not given.suffix and not given.exists())
    place = given / name if is_folder else given
    if place.suffix.lower() not in _PICTURES:
        requirement = "a folder, or a file that ends in .png, .svg or .pdf"
        hint = f"write {option} {name}, say"
        raise SpecificationError(must(option, requirement, str(given), hint))
    return file_place(place, option)


def file_place(place: Path, option: str) -> Path:
    """Return the file in which output is to be saved, and make its folder if there is none.

    Raises
    ------
    SpecificationError
        If it cannot be written.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(place, option, str(error.strerror)) from error
    if place.is_dir():
        raise _unwritable(place, option, "it is a folder")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise _unwritable(place, option, "permission denied")
    return place


def _unwritable(place: Path, option: str, why: str) -> SpecificationError:
    requirement = f"a file that can be written ({why})"
    return SpecificationError(must(option, requirement, str(place), "choose another"))
