"""The grades of arriving rows, by which steps are left out, and what they are expected to match."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.live_view import match_rates
from penstock.strategies import Rows

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.observing import Observer
    from penstock.strategies import Needs, Strategy


class Grader:
    """Has a strategy grade the rows of a piece.

    Parameters
    ----------
    observer
        Knows how likely rows are to match; None if nothing is observed.
    strategy
        That grades: the one for CPU, if there are two.
    needs
        Of all strategies.
    """

    def __init__(self, observer: Observer | None, strategy: Strategy, needs: Needs) -> None:
        self._observer = observer
        self._strategy = strategy
        self._needs = needs

    def graded(self, at: int, stop: int) -> tuple[Integers | None, Floats | None]:
        """Return the grades of a piece's rows, and the shares of the other stream that fit them."""
        observer = self._observer
        if observer is None or observer.likeliness is None:
            return None, None
        grades = np.zeros(stop - at, np.int64)
        expected = np.zeros(stop - at) if self._needs.match_rates else None
        total = sum(observer.rates.of(s) for s in observer.coming)
        for s, (mine, likely) in observer.coming.items():
            values, key_words = mine["value"], mine["key_word"]
            zeros = np.zeros(mine.size)
            rows = Rows(s, zeros, likely, zeros, all_per_time=total)
            if expected is not None:
                there = match_rates(observer, s, values, key_words)
                expected[mine["at"] - at] = there / max(observer.rates.of(1 - s), 1e-300)
                rows = replace(rows, matches_per_time=there)
            if self._needs.own_rates:
                here = match_rates(observer, 1 - s, values, key_words)
                rows = replace(rows, like_it_per_time=here)
            grades[mine["at"] - at] = self._strategy.grade(rows)
        return grades, expected

    def match_rates(self, rows: Array, fitting: Floats | None) -> Floats | None:
        """Return the matches that rows can expect in a unit of time; None if shed by lot."""
        if self._observer is None or fitting is None:
            return None
        other = np.array([self._observer.rates.of(1 - s) for s in range(2)])
        rates: Floats = fitting * other[rows["stream"]]
        return rates
