"""What only some points of a study need, and not everybody has."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["for_the_optimum"]


@contextmanager
def for_the_optimum() -> Iterator[None]:
    """Load the yardsticks in here: slow to load, and most points do without.

    Raises
    ------
    SessionError
        If scipy is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = (
            f"the offline optimum of a study needs {error.name}; "
            f'pip install "penstock[cli,spark,studies]"'
        )
        raise SessionError(message) from error
