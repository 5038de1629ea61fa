"""Numbers as text for people: counts with their noun, megabytes, percentages."""

from __future__ import annotations

import math

__all__ = ["about", "counted", "megabytes", "percent"]


def counted(number: float, noun: str) -> str:
    """Return a count and its noun, which gets an "s" unless there is exactly one.

    >>> counted(1, "row"), counted(0, "row"), counted(12_345, "result")
    ('1 row', '0 rows', '12,345 results')
    """
    return f"{number:,.0f} {noun}" if round(number) == 1 else f"{number:,.0f} {noun}s"


def about(number: float) -> str:
    """Return an estimated number, rounded to three digits.

    >>> about(25_207.6), about(7.0), about(1_234_567.0), about(0.12345)
    ('25,200', '7', '1,230,000', '0.123')
    """
    if number < 999.5:
        return f"{number:.3g}"
    step = 10 ** (math.floor(math.log10(number)) - 2)
    return f"{round(number / step) * step:,}"


def megabytes(size: float) -> str:
    """Return a number of bytes as megabytes (10**6 bytes), with two digits or more.

    >>> megabytes(28_720), megabytes(1_537_115), megabytes(2_345_678_901), megabytes(0)
    ('0.029 MB', '1.5 MB', '2,346 MB', '0 MB')
    """
    amount = size / 1e6
    if amount >= 9.95:
        return f"{amount:,.0f} MB"
    if amount >= 0.995:
        return f"{amount:.1f} MB"
    return f"{max(amount, 0.001):.2g} MB" if size else "0 MB"


def percent(share: float) -> str:
    """Return a share as a percentage with three digits.

    100% means all of it, and 0% nothing: other shares are not rounded to these.

    >>> percent(0.2895), percent(1.0), percent(0.99999), percent(0.00001), percent(0.0)
    ('28.9%', '100%', 'over 99.9%', 'under 0.1%', '0%')
    """
    if 0.9995 < share < 1:
        return "over 99.9%"
    if 0 < share < 0.0005:
        return "under 0.1%"
    return f"{100 * share:.3g}%"
