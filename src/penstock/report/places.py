"""Where output goes: checked before the work starts, not after it is done."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import SpecificationError, must

__all__ = ["PICTURES", "STDOUT", "place_for"]

PICTURES: tuple[str, ...] = (".png", ".svg", ".pdf")
"""Kinds of picture that can be written."""

STDOUT = Path("-")
"""What stands for standard output where a file is asked for."""


def place_for(given: Path, option: str, name: str, suffixes: tuple[str, ...]) -> Path:
    """Give the file that an option means, and make its folder if there is none.

    Parameters
    ----------
    given
        A file, or a folder in which a file of that `name` is to be written. A path that does not
        exist yet is a file if it has a suffix, and a folder otherwise.
    option
        The option that it was given for, as the user wrote it.
    name
        Name of the file in a folder.
    suffixes
        What the file may be, by its suffix.

    Returns
    -------
    Path
        A file that can be written.

    Raises
    ------
    SpecificationError
        If it is of another kind, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place_for(Path(folder), "--output", "demo.png", PICTURES).name
    'demo.png'
    """
    is_folder = given.is_dir() or (not given.suffix and not given.exists())
    place = given / name if is_folder else given
    if place.suffix.lower() not in suffixes:
        kinds = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if suffixes[1:] else suffixes)
        raise SpecificationError(
            must(
                option,
                f"a folder, or a file that ends in {kinds}",
                str(given),
                f"write {option} {name}, say",
            )
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(option, given, str(error.strerror)) from error
    if place.is_dir():
        raise _unwritable(option, given, f"{place} is a folder")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise _unwritable(option, given, "Permission denied")
    return place


def _unwritable(option: str, given: Path, why: str) -> SpecificationError:
    hint = f"choose another place ({why})"
    return SpecificationError(must(option, "a place that can be written", str(given), hint))
