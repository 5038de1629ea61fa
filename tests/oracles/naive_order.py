"""The order of probing, with fractions."""

from __future__ import annotations

from fractions import Fraction


def probe_order(faced: list[list[int]], found: list[list[int]], held: list[int]) -> list[list[int]]:
    """Order the other windows by what they are expected to match, then by their number."""
    all_faced, all_found = sum(map(sum, faced)), sum(map(sum, found))
    average = Fraction(all_found, all_faced) if all_faced else Fraction(1)

    def expected(stream: int, window: int) -> Fraction:
        times = faced[stream][window]
        share = Fraction(found[stream][window], times) if times else average
        return share * held[window]

    return [
        sorted((w for w in range(len(held)) if w != s), key=lambda w: (expected(s, w), w))
        for s in range(len(held))
    ]
