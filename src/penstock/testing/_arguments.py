"""Checks of the generators' arguments."""

from __future__ import annotations

import math
from numbers import Integral

from penstock.errors import SpecificationError, must


def check_at_least(name: str, value: float, least: int) -> None:
    """Raise if a number is not finite, or below `least`."""
    if not (math.isfinite(value) and value >= least):
        requirement = f"a finite number, at least {least}"
        raise SpecificationError(must(name, requirement, value, "give a greater one"))


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise if a value is not a whole number, or below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        requirement = f"a whole number, at least {least}"
        raise SpecificationError(must(name, requirement, value, "say how many there are"))


def check_positive(name: str, value: float) -> None:
    """Raise if a number is not finite, or not above 0."""
    if not (math.isfinite(value) and value > 0):
        requirement = "a finite number above 0"
        raise SpecificationError(must(name, requirement, value, "give a greater one"))


def check_one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise if a value is not one of `choices`."""
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise SpecificationError(must(name, f"one of {known}", value, "choose one of these"))
